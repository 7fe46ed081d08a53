# SPDX-License-Identifier: Apache-2.0
"""Tracker: what a part of a Python program, or any process, uses."""
from __future__ import annotations

import functools
import os

from ._agent import Agent, Error, option_list
from ._result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar, Union

    from ._report import Snapshot

    Function = TypeVar("Function", bound=Callable[..., Any])

_running: List[Tracker] = []  # of this process, newest last
_owner = os.getpid()


def _trackers() -> List["Tracker"]:
    """Those of this process: a forked child has none of its parent's."""
    global _owner
    if _owner != os.getpid():
        _owner = os.getpid()
        _running.clear()
    return _running


def _seconds(interval: Union[float, str]) -> str:
    return interval if isinstance(interval, str) else f"{interval:.9f}"


class Tracker:
    """Measures what a process and everything it starts use, from start() to stop().

        with spoor.Tracker(interval=0.1) as tracker:
            work()
        print(tracker.result)

    It runs beside the tracked process, never in it. pid is the process; None is this one.
    output, samples: files for the report (.json, .csv, .txt) and for a row per sample (.csv,
    .jsonl), which are complete even if this process is killed. interval is in seconds, or a
    text as "500ms"; gpus is a list as of `spoor run --gpus`. A tracker may also decorate a function; each call is a run then.
    """

    def __init__(self, pid: Optional[int] = None, *, interval: Union[float, str] = 1.0,
                 output: Optional[Union[str, os.PathLike[str]]] = None,
                 format: Optional[str] = None,
                 samples: Optional[Union[str, os.PathLike[str]]] = None,
                 name: Optional[str] = None, tags: Optional[Mapping[str, str]] = None,
                 detail: Optional[str] = None, gpus: Optional[str] = None,
                 append: bool = False, no_clobber: bool = False) -> None:
        self._options: Dict[str, Any] = {
            "interval": _seconds(interval), "output": output, "format": format,
            "samples": samples, "name": name, "detail": detail, "gpus": gpus,
            "append": append, "no-clobber": no_clobber}
        self._tags = dict(tags or {})
        self._pid = pid
        self._agent: Optional[Agent] = None
        self._owner = 0
        self.result: Optional[Result] = None

    def _words(self) -> List[str]:
        words = option_list({"pid": str(self._pid or os.getpid()), **self._options})
        return words + [f"--tag={key}={value}" for key, value in self._tags.items()]

    def _copy(self) -> "Tracker":
        copy = Tracker(self._pid)
        copy._options, copy._tags = self._options, self._tags
        return copy

    @property
    def is_running(self) -> bool:
        return self._agent is not None

    def start(self) -> "Tracker":
        """Starts tracking. The first sample is taken when it returns."""
        if self._agent is not None:
            raise Error("the tracker has been started already")
        self._agent = Agent(*self._words())
        self._owner = os.getpid()
        _trackers().append(self)
        return self

    def stop(self) -> Result:
        """Ends the tracking and returns the result, which is self.result too."""
        agent, self._agent = self._agent, None
        if agent is None:
            raise Error("the tracker has not been started")
        if self in _trackers():
            _running.remove(self)
        answer = agent.stop()
        self.result = Result(answer["report"], answer["text"])
        for warning in answer["report"]["warnings"]:
            if warning["code"] == "output":
                import warnings

                warnings.warn(warning["message"], RuntimeWarning, stacklevel=2)
        return self.result

    def __enter__(self) -> "Tracker":
        return self.start()

    def __exit__(self, *exception: object) -> None:
        if self._owner == os.getpid():
            self.stop()
        else:  # a forked child leaves the block too: the run is its parent's
            self._agent = None

    def __del__(self) -> None:
        if getattr(self, "_agent", None) is not None:
            self._agent.close()  # type: ignore[union-attr]

    def __call__(self, function: Function) -> Function:
        import inspect

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def wrapper(*arguments: Any, **keywords: Any) -> Any:
                run = self._copy()
                try:
                    with run:
                        return await function(*arguments, **keywords)
                finally:
                    self.result = run.result or self.result
        else:
            @functools.wraps(function)
            def wrapper(*arguments: Any, **keywords: Any) -> Any:
                run = self._copy()
                try:
                    with run:
                        return function(*arguments, **keywords)
                finally:
                    self.result = run.result or self.result
        return wrapper  # type: ignore[return-value]

    def _ask(self, line: str) -> Dict[str, Any]:
        if self._agent is None:
            raise Error("the tracker is not running")
        return self._agent.ask(line)

    def sample(self) -> None:
        """Takes a sample now, besides those of the interval."""
        self._ask("sample")

    def snapshot(self) -> Snapshot:
        """What the process uses now."""
        from ._report import Snapshot

        return Snapshot(self._pid or os.getpid(), self._ask("snapshot")["metrics"])

    def phase(self, name: str) -> "PhaseBlock":
        """A named part of the run, with figures of its own: `with tracker.phase("load"):`."""
        return PhaseBlock(name, self)


class PhaseBlock:
    """The block of a phase; decorates a function, too."""

    def __init__(self, name: str, tracker: Optional[Tracker] = None) -> None:
        if "\n" in name:
            raise ValueError("a phase name has one line")
        self._name = name
        self._tracker = tracker
        self._entered: List[Optional[Tracker]] = []

    def __enter__(self) -> "PhaseBlock":
        tracker = self._tracker or (_trackers()[-1] if _trackers() else None)
        if tracker is not None:
            tracker._ask(f"phase-start {self._name}")
        self._entered.append(tracker)
        return self

    def __exit__(self, *exception: object) -> None:
        tracker = self._entered.pop()
        if tracker is not None and tracker.is_running and tracker._owner == os.getpid():
            tracker._ask(f"phase-stop {self._name}")

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            with PhaseBlock(self._name, self._tracker):
                return function(*arguments, **keywords)
        return wrapper  # type: ignore[return-value]


def phase(name: str) -> PhaseBlock:
    """A phase of the tracker that was started last in this process; of none, nothing happens,
    so that a library may name its phases whether or not somebody measures."""
    return PhaseBlock(name)


def snapshot(pid: Optional[int] = None) -> Snapshot:
    """What a process and everything it started use now. None is this process."""
    from ._report import Snapshot

    pid = pid or os.getpid()
    agent = Agent(f"--pid={pid}", "--detail=always")
    try:
        return Snapshot(pid, agent.ask("snapshot")["metrics"])
    finally:
        agent.close()
