# SPDX-License-Identifier: Apache-2.0
"""The class Tracker, which measures the usage of a part of a Python program, or of any process."""
from __future__ import annotations

import functools
import os
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Mapping, Optional, TypeVar, Union

from ._program import EndedError, Error, make_error, option_list, warn, warn_of_failure
from ._report import Snapshot
from ._result import Page, Path, Result
from ._run import tell_runs

if TYPE_CHECKING:
    from ._agent import Agent

Function = TypeVar("Function", bound=Callable[..., Any])

_running: list[Tracker] = []  # the trackers of this process, newest last
_owner = os.getpid()
# The tracker that was last started in this thread or task.
_current: ContextVar[Optional[weakref.ref[Tracker]]] = ContextVar("spoor-tracker", default=None)

# The parameters of Tracker, by the option names that the program's messages use.
_PARAMETERS = {f"--{name}": name for name in ("pid", "interval", "output", "format", "samples",
                                              "name", "detail", "gpus", "append")}
_PARAMETERS.update({"--tag": "tags", "--no-clobber": "no_clobber"})


def _name_parameters(error: Error) -> Error:
    """Renames options in an error to parameters: "--no-clobber" becomes no_clobber."""
    import re

    message = re.sub(r"(?<!\S)--[a-z-]+", lambda word: _PARAMETERS.get(word[0], word[0]), str(error))
    return make_error(error.code, message)


def _trackers() -> list[Tracker]:
    """Returns _running, after emptying it in a forked child, to which the parent's trackers do
    not belong."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        _running.clear()
    return _running


def _check_choice(name: str, value: Optional[str], choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise make_error("EINVAL", f"{name}: invalid value {value!r}; one of {', '.join(choices)}")


def _interval_word(interval: Union[float, str, None]) -> Optional[str]:
    """Returns the interval in the syntax of the program."""
    if interval is None or isinstance(interval, str):
        return interval
    try:
        seconds = float(interval)
    except TypeError:
        raise TypeError(f"interval: expected seconds, not {interval!r}") from None
    word = f"{seconds:.9f}".rstrip("0").rstrip(".")
    if not seconds > 0:
        raise make_error("EINVAL", f"interval: '{word}' is out of range")
    return word


def option_words(*, interval: Union[float, str, None], output: Optional[Path], format: Optional[str],
                 samples: Optional[Path], name: Optional[str], tags: Optional[Mapping[str, str]],
                 detail: Optional[str], gpus: Optional[str], append: bool, no_clobber: bool) -> list[str]:
    """Returns the options of a tracker as words of its command line. Raises an Error if one is
    not valid."""
    _check_choice("format", format, ("text", "json", "csv", "html"))
    _check_choice("detail", detail, ("auto", "always", "never"))
    if append and no_clobber:
        raise make_error("EINVAL", "append and no_clobber cannot be combined")
    words = option_list({
        "interval": _interval_word(interval), "output": output, "format": format,
        "samples": samples, "name": name, "detail": detail,
        "gpus": gpus, "append": append, "no-clobber": no_clobber})
    for key, value in (tags or {}).items():
        if not key or "=" in key:
            raise make_error("EINVAL", f"tags: invalid name {key!r}: must not be empty or contain '='")
        words.append(f"--tag={key}={value}")
    if any("\0" in word for word in words):
        raise make_error("EINVAL", "embedded null byte in an argument")
    return words


def _wrap_function(function: Any, block: Callable[[], ContextManager[Any]]) -> Any:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with block():
            return function(*arguments, **keywords)
    return wrapper


def _wrap_coroutine(function: Any, block: Callable[[], ContextManager[Any]]) -> Any:
    async def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with block():
            return await function(*arguments, **keywords)
    return wrapper


def _wrap_generator(function: Any, block: Callable[[], ContextManager[Any]]) -> Any:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with block():
            return (yield from function(*arguments, **keywords))
    return wrapper


def _wrap_async_generator(function: Any, block: Callable[[], ContextManager[Any]]) -> Any:
    async def wrapper(*arguments: Any, **keywords: Any) -> Any:
        with block():
            values, sent = function(*arguments, **keywords), None
            try:
                while True:
                    sent = yield await values.asend(sent)
            except StopAsyncIteration:
                pass
            finally:
                await values.aclose()
    return wrapper


def _decorate(function: Function, block: Callable[[], ContextManager[Any]]) -> Function:
    """Wraps a function in a block that lasts from its call to its end, even if the function is a
    coroutine. For a generator, the block lasts from the request for its first value to its end,
    so it includes the work of the consumer."""
    import inspect

    kinds: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
        (inspect.iscoroutinefunction, _wrap_coroutine), (inspect.isasyncgenfunction, _wrap_async_generator),
        (inspect.isgeneratorfunction, _wrap_generator))
    wrap = next((wrap for is_such, wrap in kinds if is_such(function)), _wrap_function)
    decorated: Function = functools.wraps(function)(wrap(function, block))
    return decorated


class Tracker:
    """Measures the usage of a process and everything it starts, from start() to stop().

        with spoor.Tracker(interval=0.1) as tracker:
            work()
        print(tracker.result)

    It is also an asynchronous context manager, and it may decorate a function: then each call is a run.

    Once tracking has started, its failures do not fail the program. They are RuntimeWarnings, and
    the result has the reason. Calls wait one second for a tracker that was stopped (SIGSTOP).

    Parameters
    ----------
    pid : int, optional
        The process to track, by default this one. The tracker itself is another process.
    interval : float or str, optional
        Seconds between two samples, or a text such as ``"500ms"``; by default 1, and less in the first 16 seconds.
    output : str, bytes or os.PathLike, optional
        A file (.json, .csv, .html, .txt) for the report. It is complete even if this process is killed.
    format : {"text", "json", "csv", "html"}, optional
        The format of the report, if the suffix of `output` does not decide it.
    samples : str, bytes or os.PathLike, optional
        A file (.csv, .jsonl) that gets a row per sample.
    name : str, optional
        The name of the run.
    tags : mapping of str to str, optional
        Tags of the run.
    detail : {"auto", "always", "never"}, optional
        When to measure private and shared memory.
    gpus : str, optional
        The GPUs to measure: ``"none"``, indexes or UUIDs.
    append, no_clobber : bool, default False
        Append to existing files, or refuse to start if there are any.

    Attributes
    ----------
    result : Result or None
        The result of the last run.

    Raises
    ------
    Error
        If an argument is not valid; start() raises it if only the program can check the argument.
    """

    def __init__(self, pid: Optional[int] = None, *, interval: Union[float, str, None] = None,
                 output: Optional[Path] = None, format: Optional[str] = None,
                 samples: Optional[Path] = None, name: Optional[str] = None,
                 tags: Optional[Mapping[str, str]] = None, detail: Optional[str] = None,
                 gpus: Optional[str] = None, append: bool = False, no_clobber: bool = False) -> None:
        if pid is not None and (isinstance(pid, bool) or not isinstance(pid, int) or pid <= 0):
            raise make_error("EINVAL", f"pid: invalid process ID '{pid}'")
        self._words = option_words(interval=interval, output=output, format=format, samples=samples, name=name,
                                   tags=tags, detail=detail, gpus=gpus, append=append, no_clobber=no_clobber)
        self._samples = samples
        self._pid = pid
        self._agent: Optional[Agent] = None
        self._owner = 0
        self._has_warned = False
        self._decorator: Optional[Tracker] = None  # the decorator that created this tracker
        self.result: Optional[Result] = None

    @property
    def is_running(self) -> bool:
        """True after start() and before stop()."""
        return self._agent is not None

    def _tracked_pid(self) -> int:
        return os.getpid() if self._pid is None else self._pid

    def start(self) -> Tracker:
        """Starts tracking. Returns after the first sample."""
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
        _current.set(weakref.ref(self))
        if not self._agent.ready["pid"]:
            warn_of_failure(self, EndedError("the tracker ended unexpectedly"))
        return self

    def stop(self) -> Result:
        """Stops tracking and returns the result, which is also stored in self.result."""
        if self._agent is None:
            raise Error("the tracker is not running")
        if self._owner != os.getpid():
            raise Error("the tracker belongs to the process that started it")
        try:
            answer = self._agent.stop()
            result = Result(answer["report"], answer["text"], samples=self._samples)
        except Error as error:
            warn_of_failure(self, error)
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
        """Returns the report of the last run as an HTML page, with save() and browse()."""
        if self.result is None:
            raise Error("there is no report before the tracker has stopped")
        return self.result.report()

    def __enter__(self) -> Tracker:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        if self._owner == os.getpid():
            self.stop()
        else:  # a forked child: the run belongs to its parent
            self._agent = None

    async def __aenter__(self) -> Tracker:
        return self.start()

    async def __aexit__(self, *exception: object) -> None:
        """Waits for the last sample; other tasks run meanwhile."""
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self.__exit__, *exception)

    def _call(self) -> Tracker:
        """Returns a tracker with the same options, for one call of a decorated function."""
        call = Tracker(self._pid)
        call._words, call._decorator = self._words, self
        return call

    def __call__(self, function: Function) -> Function:
        """Decorates a function so that each call is a run with its own result."""
        return _decorate(function, self._call)

    def _ask(self, op: str, *arguments: str) -> dict[str, Any]:
        agent = self._agent  # another thread may stop the tracker at any time
        if agent is None:
            raise Error("the tracker is not running")
        return agent.ask(op, *arguments)

    def _tell(self, op: str, *arguments: str) -> None:
        """Sends an optional request like _ask; a failure is only a warning."""
        if self._agent is None:
            raise Error("the tracker is not running")
        try:
            self._agent.ask(op, *arguments, is_quick=True)
        except Error as error:
            warn_of_failure(self, error)

    def sample(self) -> None:
        """Takes an additional sample now."""
        self._tell("sample")

    def snapshot(self) -> Snapshot:
        """Returns the current usage of the process."""
        answer = self._ask("snapshot")
        return Snapshot(self._tracked_pid(), answer["metrics"], answer["gpus"])

    def phase(self, name: str) -> PhaseBlock:
        """Returns a named part of the run with its own figures: `with tracker.phase("load"):`."""
        return PhaseBlock(name, self)


def sample_all() -> None:
    """Makes the trackers of this process, and the `spoor run` that tracks it, take a sample."""
    for tracker in list(_trackers()):
        if tracker.is_running:
            tracker.sample()
    try:
        tell_runs("sample")
    except Error as error:
        warn(str(error))


def _find_tracker() -> Optional[Tracker]:
    """Returns the tracker that was last started in this thread or task, or else in this process."""
    trackers, reference = _trackers(), _current.get()
    current = None if reference is None else reference()
    return current if current in trackers else trackers[-1] if trackers else None


class PhaseBlock:
    """A context manager for a phase. It can also decorate a function."""

    def __init__(self, name: str, tracker: Optional[Tracker] = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a phase name must be a text, not {name!r}")
        if "\n" in name:
            raise ValueError("a phase name must be one line")
        self._name = os.fsencode(name).decode(errors="replace")  # without surrogates
        self._tracker = tracker
        self._entered: list[tuple[Optional[Tracker], int]] = []  # with the PID of the process that entered the block

    def __enter__(self) -> PhaseBlock:
        tracker = self._tracker or _find_tracker()
        if tracker is not None and tracker._owner in (0, os.getpid()):
            tracker._tell("phase-start", self._name)
        self._tell_runs("start")
        self._entered.append((tracker, os.getpid()))
        return self

    def _tell_runs(self, word: str) -> None:
        if self._tracker is None:  # the phase was not created by a specific tracker
            try:
                tell_runs(word, self._name)
            except Error as error:
                warn(str(error))

    async def __aenter__(self) -> PhaseBlock:
        return self.__enter__()

    async def __aexit__(self, *exception: object) -> None:
        self.__exit__(*exception)

    def __exit__(self, *exception: object) -> None:
        tracker, owner = self._entered.pop()
        if owner != os.getpid():
            return  # in a forked child
        if tracker is not None and tracker.is_running:
            tracker._tell("phase-stop", self._name)
        self._tell_runs("stop")

    def __call__(self, function: Function) -> Function:
        """Decorates a function so that each call is a phase."""
        return _decorate(function, lambda: PhaseBlock(self._name, self._tracker))


def phase(name: str) -> PhaseBlock:
    """A phase of the tracker that was started last, and of the `spoor run` that the program is part of.

    Without either it does nothing, so a library can always mark its phases. A tracker that was started in this thread
    or task comes first.

    Parameters
    ----------
    name : str
        The name of the phase, one line.

    Returns
    -------
    PhaseBlock
        A context manager, also an asynchronous one, and a decorator.
    """
    return PhaseBlock(name)


def snapshot(pid: Optional[int] = None) -> Snapshot:
    """The current usage of a process and of its descendants.

    Parameters
    ----------
    pid : int, optional
        The process, by default this one.

    Returns
    -------
    Snapshot
    """
    from ._agent import Agent

    pid = os.getpid() if pid is None else pid
    agent = Agent(f"--pid={pid}", "--detail=always")
    try:
        answer = agent.ask("snapshot")
        return Snapshot(pid, answer["metrics"], answer["gpus"])
    finally:
        agent.close()
