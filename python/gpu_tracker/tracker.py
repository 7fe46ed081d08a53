# SPDX-License-Identifier: Apache-2.0
"""The class Tracker, which uses the agent of the program gpu-tracker."""
from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any, Iterable

from spoor._program import EndedError, LazyModule, option_list
from spoor._result import Page, make_page

from .sub_tracker import check_absent, check_extension, check_folder, forget_trackers

if TYPE_CHECKING:
    from . import usage
    from .usage import (ComputeTime, CPUUtilization, GPUUtilization, MaxGPURAM, MaxRAM,
                        ProcessingUnitPercentages, ResourceUsage, RSSValues)
else:
    usage = LazyModule("gpu_tracker.usage")

__all__ = ["ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM",
           "ProcessingUnitPercentages", "ResourceUsage", "RSSValues", "State", "Tracker"]

_MEMORY_UNITS = ("bytes", "gigabytes", "kilobytes", "megabytes", "terabytes")
_TIME_UNITS = ("days", "hours", "minutes", "seconds")
_OLD_PARAMETERS = ("include_children", "kill_if_join_fails")  # of versions 1 and 2; without effect


def __getattr__(name: str) -> object:
    """Imports the data classes of the usage on first use."""
    if name in __all__:
        return getattr(usage, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class State(Enum):
    """The states of a tracker."""
    NEW = 0
    STARTED = 1
    STOPPED = 2


class Tracker:
    """Measures the usage of a process and everything it starts, from start() to stop().

    sleep_time is the time between samples in seconds, at least 0.1. The "hardware" percentages are
    relative to n_expected_cores and to the GPUs in gpu_uuids. tracking_file (.csv or .sqlite) gets
    a row per sample. process_id is the process to track, by default this one. spelling is
    "descendants", or "descendents" as in versions 1.2 to 3. n_join_attempts, join_timeout and
    resource_usage_file are accepted for old programs and have no effect.
    """

    State = State

    def __init__(self, sleep_time: float = 1.0, ram_unit: str = "gigabytes",
                 gpu_ram_unit: str = "gigabytes", time_unit: str = "hours",
                 n_expected_cores: int | None = None, gpu_uuids: Iterable[str] | None = None,
                 disable_logs: bool = False, process_id: int | None = None,
                 resource_usage_file: str | None = None, n_join_attempts: int = 5,
                 join_timeout: float = 10.0, gpu_brand: str | None = None,
                 tracking_file: str | None = None, overwrite: bool = False,
                 spelling: str = "descendants", **old: Any) -> None:
        gpu_ram_unit = old.pop("gpu_unit", gpu_ram_unit)
        for name in old:
            if name not in _OLD_PARAMETERS:
                raise TypeError("Tracker.__init__() got an unexpected keyword argument "
                                f"{name!r}")
        sleep_time = float(sleep_time)
        self._check(sleep_time, ram_unit, gpu_ram_unit, time_unit, n_expected_cores, gpu_brand,
                    spelling)
        if tracking_file is not None:
            check_extension(tracking_file)
            check_folder(tracking_file)
            if not overwrite:
                check_absent(tracking_file)
        self._words = option_list({
            "st": repr(sleep_time), "ru": ram_unit, "gru": gpu_ram_unit, "tu": time_unit,
            "nec": None if n_expected_cores is None else str(n_expected_cores),
            "guuids": None if gpu_uuids is None else ",".join(gpu_uuids),
            "disable-logs": disable_logs, "gb": gpu_brand, "tf": tracking_file,
            "overwrite": overwrite, "spelling": spelling})
        self._disable_logs = disable_logs
        self._process_id = process_id
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self.state = State.NEW
        self._agent: Agent | None = None
        self._owner = 0
        self._json: dict[str, Any] = {}
        self._text = ""
        self._report: dict[str, Any] | None = None
        self._failure: str | None = None  # the reason why there is no usage
        self._usage: ResourceUsage | None = None
        if gpu_uuids is not None or gpu_brand is not None:  # only the program can list the GPUs
            from spoor._agent import Agent

            Agent("--check", *self._words, name="gpu-tracker").close()

    @staticmethod
    def _check(sleep_time: float, ram_unit: str, gpu_ram_unit: str, time_unit: str,
               n_expected_cores: int | None, gpu_brand: str | None, spelling: str) -> None:
        """Checks the options before the tracker starts. A check by the program would need
        another process, which another tracker would count as a descendant of this one."""
        if not sleep_time >= 0.1:
            raise ValueError(f"Sleep time of {sleep_time} is invalid. Must be at least 0.1 "
                             "seconds.")
        for kind, unit, units in (("RAM", ram_unit, _MEMORY_UNITS),
                                  ("GPU RAM", gpu_ram_unit, _MEMORY_UNITS),
                                  ("time", time_unit, _TIME_UNITS)):
            if unit not in units:
                raise ValueError(f'"{unit}" is not a valid {kind} unit. Valid values are '
                                 f'{", ".join(units)}')
        if gpu_brand not in (None, "nvidia", "amd"):
            raise ValueError(f'"{gpu_brand}" is not a valid GPU brand. Supported values are '
                             '"nvidia" and "amd".')
        if spelling not in ("descendants", "descendents"):
            raise ValueError(f'"{spelling}" is not a valid spelling. Valid values are '
                             '"descendants" or "descendents".')
        if n_expected_cores is not None and not (
                float(n_expected_cores) >= 1 and float(n_expected_cores).is_integer()):
            raise ValueError(f'"{n_expected_cores}" is not a valid number of expected cores. Must '
                             "be a whole number of at least 1.")

    def _log(self, warnings: list[str]) -> None:
        if warnings and not self._disable_logs:
            import logging

            for warning in warnings:
                logging.warning(warning)

    def __repr__(self) -> str:
        return f"State: {self.state.name}"

    def __enter__(self) -> Tracker:
        if self.state is not State.NEW:
            raise RuntimeError("Cannot start tracking when tracking has already "
                               f"{self.state.name.lower()}.")
        from spoor._agent import Agent

        self._agent = Agent(f"--pid={self._process_id or os.getpid()}", *self._words,
                            name="gpu-tracker")
        self.state = State.STARTED
        forget_trackers()
        self._owner = os.getpid()
        self._log(self._agent.ready["warnings"])
        return self

    def __exit__(self, *exception: object) -> None:
        if exception and self._owner not in (0, os.getpid()):
            return  # this is a forked child; its parent does the tracking
        if self._agent is None:
            raise RuntimeError("Cannot stop tracking when tracking has " + (
                "not started yet." if self.state is State.NEW else "already stopped."))
        try:
            answer = self._agent.stop()
        except EndedError as error:  # the usage is lost, but the program continues
            self._failure = str(error)
            answer = {"usage": {}, "text": "", "warnings": [f"Tracking has stopped: {error}"]}
        self._agent.close()
        self._agent = None
        self.state = State.STOPPED
        self._json, self._text = answer["usage"], answer["text"]
        self._report = answer.get("report")
        self._log(answer["warnings"])

    def start(self) -> None:
        """Starts tracking. Returns after the first sample."""
        self.__enter__()

    def stop(self) -> None:
        """Stops tracking. The usage is then available."""
        self.__exit__()

    def _require_stopped(self) -> None:
        if self.state is not State.STOPPED:
            raise RuntimeError(
                "Cannot display the tracker in string or JSON format before tracking completes. "
                "Exit the content manager or call the stop() method before calling to_json() or "
                "str()")
        if self._failure is not None:
            raise RuntimeError(f"There is no resource usage: {self._failure}")

    def __str__(self) -> str:
        self._require_stopped()
        return self._text

    def to_json(self) -> dict[str, Any]:
        self._require_stopped()
        import copy

        return copy.deepcopy(self._json)

    def report(self) -> Page:
        """Returns the usage as an HTML page, with save() and browse(). A notebook shows the page
        inline. Not in gpu_tracker 5."""
        if self.state is not State.STOPPED:
            raise RuntimeError("Cannot make a report before tracking completes.")
        self._require_stopped()
        if self._report is None:
            raise RuntimeError("There is no report: nothing was tracked.")
        return Page(make_page(self._report))

    @property
    def resource_usage(self) -> usage.ResourceUsage | None:
        """The usage; None until tracking has stopped, or if the tracker was killed."""
        if self._usage is None and self._json:
            self._usage = usage.build_usage(self._json)
        return self._usage

    # Attributes of versions 1 to 3.
    @property
    def max_ram(self) -> usage.MaxRAM | None:
        found = self.resource_usage
        return None if found is None else found.max_ram

    @property
    def max_gpu_ram(self) -> usage.MaxGPURAM | None:
        found = self.resource_usage
        return None if found is None else found.max_gpu_ram

    @property
    def compute_time(self) -> usage.ComputeTime | None:
        found = self.resource_usage
        return None if found is None else found.compute_time
