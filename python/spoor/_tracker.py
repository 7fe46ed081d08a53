# SPDX-License-Identifier: Apache-2.0
"""Tracker: what a part of a Python program, or any process, uses."""
from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, TypeVar, Union

from ._program import EndedError, Error, make_error, option_list, warn
from ._result import Page, Result
from ._run import tell_runs

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from ._agent import Agent
    from ._report import Snapshot

    P = ParamSpec("P")

Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
R = TypeVar("R")

_running: list[Tracker] = []  # the trackers of this process, newest last
_owner = os.getpid()

# Parameters of Tracker, by the options that the messages of the program name.
_PARAMETERS = {f"--{name}": name for name in ("pid", "interval", "output", "format", "samples",
                                              "name", "detail", "gpus", "append")}
_PARAMETERS.update({"--tag": "tags", "--no-clobber": "no_clobber"})


def _name_parameters(error: Error) -> Error:
    """The error in the terms of Python: "--no-clobber" is no_clobber."""
    import re

    message = re.sub(r"(?<!\S)--[a-z-]+", lambda word: _PARAMETERS.get(word[0], word[0]), str(error))
    return make_error(error.code, message)


def _trackers() -> list[Tracker]:
    """_running, which a forked child empties first: its parent's trackers are not its own."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        _running.clear()
    return _running


def _interval_word(interval: float | str | None) -> str:
    """Seconds as the program reads them."""
    if isinstance(interval, str):
        return interval
    try:
        return f"{1.0 if interval is None else float(interval):.9f}".rstrip("0").rstrip(".")
    except TypeError:
        raise TypeError(f"interval: expected seconds, not {interval!r}") from None


class Tracker:
    """Measures what a process and everything it starts use, from start() to stop().

        with spoor.Tracker(interval=0.1) as tracker:
            work()
        print(tracker.result)

    pid is the process to track, by default this one; the tracker itself is another process.
    interval is in seconds (by default 1), or a text such as "500ms". output (.json, .csv, .txt) gets the
    report and samples (.csv, .jsonl) a row per sample; both are complete even if this process is
    killed. The other parameters are options of `spoor run`. A tracker may also decorate a
    function: then each call is a run.

    Once tracking has started, its failures do not fail the program. They are RuntimeWarnings, and
    the result has the reason. A tracker that was stopped (SIGSTOP) is waited for for a second.
    """

    def __init__(self, pid: int | None = None, *, interval: float | str | None = 1.0,
                 output: Path | None = None, format: str | None = None,
                 samples: Path | None = None, name: str | None = None,
                 tags: Mapping[str, str] | None = None, detail: str | None = None,
                 gpus: str | None = None, append: bool = False, no_clobber: bool = False) -> None:
        self._words = option_list({
            "interval": _interval_word(interval), "output": output, "format": format,
            "samples": samples, "name": name, "detail": detail,
            "gpus": gpus, "append": append, "no-clobber": no_clobber})
        for key, value in (tags or {}).items():
            if "=" in key:
                raise make_error("EINVAL", f"tags: invalid name {key!r}: must not contain '='")
            self._words.append(f"--tag={key}={value}")
        self._pid = pid
        self._agent: Agent | None = None
        self._owner = 0
        self._has_warned = False
        self._decorator: Tracker | None = None  # the tracker that this is a call of
        self.result: Result | None = None

    @property
    def is_running(self) -> bool:
        return self._agent is not None

    def _tracked_pid(self) -> int:
        return os.getpid() if self._pid is None else self._pid

    def start(self) -> Tracker:
        """Starts tracking. The first sample has been taken when it returns."""
        if self._agent is not None:
            raise Error("the tracker is already running")
        from ._agent import Agent

        try:
            self._agent = Agent(f"--pid={self._tracked_pid()}", *self._words)
        except Error as error:
            raise _name_parameters(error) from None
        self._owner = os.getpid()
        self._has_warned = False
        _trackers().append(self)
        if not self._agent.ready["pid"]:
            self._report_failure(EndedError("the tracker ended unexpectedly"))
        return self

    def stop(self) -> Result:
        """Stops tracking and returns the result, which is also self.result."""
        if self._agent is None:
            raise Error("the tracker is not running")
        if self._owner != os.getpid():
            raise Error("the tracker belongs to the process that started it")
        try:
            answer = self._agent.stop()
            result = Result(answer["report"], answer["text"])
        except Error as error:
            self._report_failure(error)
            result = Result(None, reason=str(error))
        self._agent.close()
        self._agent = None
        if self in _trackers():
            _running.remove(self)
        self.result = result
        if self._decorator is not None:
            self._decorator.result = result
        for warning in result["warnings"] if result else ():
            if warning["code"] == "output":
                warn(warning["message"])
        return result

    def report(self) -> Page:
        """The report of the last run as an HTML page, with save() and browse()."""
        if self.result is None:
            raise Error("there is no report before the tracker has stopped")
        return self.result.report()

    def __enter__(self) -> Tracker:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        if self._owner == os.getpid():
            self.stop()
        else:  # a forked child leaves the block too, but the run is its parent's
            self._agent = None

    def __del__(self) -> None:
        agent: Agent | None = getattr(self, "_agent", None)
        if agent is not None:
            agent.close()

    def _call(self) -> Tracker:
        """A tracker with the same options, for one call of a decorated function."""
        call = Tracker(self._pid)
        call._words, call._decorator = self._words, self
        return call

    def _decorate_coroutine(self, function: Any) -> Any:
        @functools.wraps(function)
        async def wrapper(*arguments: Any, **keywords: Any) -> Any:
            with self._call():
                return await function(*arguments, **keywords)
        return wrapper

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        import inspect

        if inspect.iscoroutinefunction(function):
            decorated: Callable[P, R] = self._decorate_coroutine(function)
            return decorated

        @functools.wraps(function)
        def wrapper(*arguments: P.args, **keywords: P.kwargs) -> R:
            with self._call():
                return function(*arguments, **keywords)
        return wrapper

    def _ask(self, op: str, *arguments: str) -> dict[str, Any]:
        if self._agent is None:
            raise Error("the tracker is not running")
        return self._agent.ask(op, *arguments)

    def _report_failure(self, error: Error) -> None:
        if not isinstance(error, EndedError):
            warn(str(error))
        elif not self._has_warned:
            self._has_warned = True
            warn(f"tracking has stopped: {error}")

    def _tell(self, op: str, *arguments: str) -> None:
        """As _ask, for what the program can do without: a failure is a warning."""
        if self._agent is None:
            raise Error("the tracker is not running")
        try:
            self._agent.ask(op, *arguments, is_quick=True)
        except Error as error:
            self._report_failure(error)

    def sample(self) -> None:
        """Takes a sample now, in addition to those of the interval."""
        self._tell("sample")

    def snapshot(self) -> Snapshot:
        """The current usage of the process."""
        from ._report import Snapshot

        return Snapshot(self._tracked_pid(), self._ask("snapshot")["metrics"])

    def phase(self, name: str) -> PhaseBlock:
        """A named part of the run with its own figures: `with tracker.phase("load"):`."""
        return PhaseBlock(name, self)


class PhaseBlock:
    """The block of a phase. It may also decorate a function."""

    def __init__(self, name: str, tracker: Tracker | None = None) -> None:
        if "\n" in name:
            raise ValueError("a phase name must be one line")
        self._name = os.fsencode(name).decode(errors="replace")  # without surrogates
        self._tracker = tracker
        self._entered: list[tuple[Tracker | None, int]] = []  # with the process that has entered

    def __enter__(self) -> PhaseBlock:
        tracker = self._tracker or (_trackers()[-1] if _trackers() else None)
        if tracker is not None and tracker._owner in (0, os.getpid()):
            tracker._tell("phase-start", self._name)
        self._tell_runs("start")
        self._entered.append((tracker, os.getpid()))
        return self

    def _tell_runs(self, word: str) -> None:
        if self._tracker is None:  # not of a certain tracker
            try:
                tell_runs(word, self._name)
            except Error as error:
                warn(str(error))

    def __exit__(self, *exception: object) -> None:
        tracker, owner = self._entered.pop()
        if owner != os.getpid():
            return  # a forked child leaves the block too
        if tracker is not None and tracker.is_running:
            tracker._tell("phase-stop", self._name)
        self._tell_runs("stop")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*arguments: P.args, **keywords: P.kwargs) -> R:
            with PhaseBlock(self._name, self._tracker):
                return function(*arguments, **keywords)
        return wrapper


def phase(name: str) -> PhaseBlock:
    """A phase of the tracker that was started last in this process, and of the `spoor run` that the
    program is part of.

    Without either it does nothing, so a library can always mark its phases.
    """
    return PhaseBlock(name)


def snapshot(pid: int | None = None) -> Snapshot:
    """The current usage of a process, by default this one, and of its descendants."""
    from ._agent import Agent
    from ._report import Snapshot

    pid = os.getpid() if pid is None else pid
    agent = Agent(f"--pid={pid}", "--detail=always")
    try:
        return Snapshot(pid, agent.ask("snapshot")["metrics"])
    finally:
        agent.close()
