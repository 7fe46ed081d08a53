# SPDX-License-Identifier: Apache-2.0
"""Tracker, and the data classes of what it finds."""
from __future__ import annotations

import os
from enum import Enum

from spoor._agent import Agent, Error, option_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
    from typing import Any, Dict, List, Optional, Set, Type
else:
    from ._dataclass import dataclass, field

_MEMORY_UNITS = ("bytes", "gigabytes", "kilobytes", "megabytes", "terabytes")
_TIME_UNITS = ("days", "hours", "minutes", "seconds")
_OLD_PARAMETERS = ("include_children", "kill_if_join_fails")  # of versions 1 and 2; no meaning now


class State(Enum):
    """Where a tracker is in its life."""
    NEW = 0
    STARTED = 1
    STOPPED = 2


@dataclass
class RSSValues:
    """Resident memory: private to the processes, shared with others, and both together."""
    total_rss: float = 0.0
    private_rss: float = 0.0
    shared_rss: float = 0.0


@dataclass
class MaxRAM:
    """The most memory in use: of the machine, the process, what it started, and both."""
    unit: str
    system_capacity: float
    system: float = 0.0
    main: RSSValues = field(default_factory=RSSValues)
    descendants: RSSValues = field(default_factory=RSSValues)
    combined: RSSValues = field(default_factory=RSSValues)


@dataclass
class MaxGPURAM:
    """The most GPU memory in use."""
    unit: str
    system_capacity: float
    system: float = 0.0
    main: float = 0.0
    descendants: float = 0.0
    combined: float = 0.0


@dataclass
class ProcessingUnitPercentages:
    """Of one core or GPU each (sum), and of all that were expected to be used (hardware)."""
    max_sum_percent: float = 0.0
    max_hardware_percent: float = 0.0
    mean_sum_percent: float = 0.0
    mean_hardware_percent: float = 0.0


@dataclass
class CPUUtilization:
    system_core_count: int
    n_expected_cores: int
    system: ProcessingUnitPercentages = field(default_factory=ProcessingUnitPercentages)
    main: ProcessingUnitPercentages = field(default_factory=ProcessingUnitPercentages)
    descendants: ProcessingUnitPercentages = field(default_factory=ProcessingUnitPercentages)
    combined: ProcessingUnitPercentages = field(default_factory=ProcessingUnitPercentages)
    main_n_threads: int = 0
    descendants_n_threads: int = 0
    combined_n_threads: int = 0


@dataclass
class GPUUtilization:
    system_gpu_count: int
    n_expected_gpus: int
    gpu_percentages: ProcessingUnitPercentages = field(default_factory=ProcessingUnitPercentages)


@dataclass
class ComputeTime:
    unit: str
    time: float = 0.0


@dataclass
class ResourceUsage:
    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime


_SECTIONS: Dict[str, Type[Any]] = {
    "max_ram": MaxRAM, "max_gpu_ram": MaxGPURAM, "cpu_utilization": CPUUtilization,
    "gpu_utilization": GPUUtilization, "compute_time": ComputeTime}


def _spelt(cls: Type[Any], keys: List[str]) -> Type[Any]:
    """The class itself, or one whose fields are spelt as the keys are."""
    if list(cls.__annotations__) == keys:
        return cls
    names = {"__module__": cls.__module__, "__annotations__": dict.fromkeys(keys, "float")}
    return dataclass(type(cls.__name__, (), names))


def _build_usage(data: Dict[str, Any]) -> ResourceUsage:
    sections = {}
    for name, cls in _SECTIONS.items():
        inner = RSSValues if cls is MaxRAM else ProcessingUnitPercentages
        values = {key: inner(**value) if isinstance(value, dict) else value
                  for key, value in data[name].items()}
        sections[name] = _spelt(cls, list(values))(**values)
    return ResourceUsage(**sections)


def _check_unit(unit: str, units: "tuple[str, ...]", kind: str) -> None:
    if unit not in units:
        raise ValueError(f'"{unit}" is not a valid {kind} unit. Valid values are '
                         f'{", ".join(units)}')


class Tracker:
    """Measures what a process and everything it starts use, from start() to stop().

    sleep_time is the time between two samples, in seconds, 0.1 at least. n_expected_cores and
    gpu_uuids say what the "hardware" percentages are of. tracking_file gets a row for each
    sample; it ends with .csv or .sqlite. process_id is the process, this one by default.
    spelling is "descendants", or "descendents" as in versions 1.2 to 3. n_join_attempts,
    join_timeout and resource_usage_file are kept for old programs; nothing is left to join.
    """

    State = State

    def __init__(self, sleep_time: float = 1.0, ram_unit: str = "gigabytes",
                 gpu_ram_unit: str = "gigabytes", time_unit: str = "hours",
                 n_expected_cores: Optional[int] = None, gpu_uuids: Optional[Set[str]] = None,
                 disable_logs: bool = False, process_id: Optional[int] = None,
                 resource_usage_file: Optional[str] = None, n_join_attempts: int = 5,
                 join_timeout: float = 10.0, gpu_brand: Optional[str] = None,
                 tracking_file: Optional[str] = None, overwrite: bool = False,
                 spelling: str = "descendants", **old: Any) -> None:
        gpu_ram_unit = old.pop("gpu_unit", gpu_ram_unit)
        for name in old:
            if name not in _OLD_PARAMETERS:
                raise TypeError("Tracker.__init__() got an unexpected keyword argument "
                                f"{name!r}")
        self._check(sleep_time, ram_unit, gpu_ram_unit, time_unit, tracking_file, gpu_brand,
                    spelling)
        if n_expected_cores is not None and n_expected_cores < 1:
            raise ValueError(f'"{n_expected_cores}" is not a valid number of expected cores. Must '
                             "be a whole number of at least 1.")
        self._disable_logs = disable_logs
        self._process_id = process_id
        self._options = {
            "st": repr(float(sleep_time)), "ru": ram_unit, "gru": gpu_ram_unit, "tu": time_unit,
            "nec": None if n_expected_cores is None else str(n_expected_cores),
            "guuids": None if gpu_uuids is None else ",".join(gpu_uuids),
            "disable-logs": disable_logs, "gb": gpu_brand, "tf": tracking_file,
            "overwrite": overwrite, "spelling": spelling}
        if gpu_uuids is not None:
            self._check_gpus()
        if tracking_file is not None and not overwrite and os.path.isfile(tracking_file):
            raise FileExistsError(f"File {tracking_file} already exists. Set overwrite to True "
                                  "to overwrite the existing file.")
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self.state = State.NEW
        self.resource_usage: Optional[ResourceUsage] = None
        self._agent: Optional[Agent] = None
        self._owner = 0
        self._json: Dict[str, Any] = {}
        self._text = ""

    @staticmethod
    def _check(sleep_time: float, ram_unit: str, gpu_ram_unit: str, time_unit: str,
               tracking_file: Optional[str], gpu_brand: Optional[str], spelling: str) -> None:
        """All that can be known without looking at the machine, in the order of old."""
        if not sleep_time >= 0.1:
            raise ValueError(f"Sleep time of {sleep_time} is invalid. Must be at least 0.1 "
                             "seconds.")
        _check_unit(ram_unit, _MEMORY_UNITS, "RAM")
        _check_unit(gpu_ram_unit, _MEMORY_UNITS, "GPU RAM")
        _check_unit(time_unit, _TIME_UNITS, "time")
        if tracking_file is not None and not tracking_file.endswith((".csv", ".sqlite")):
            raise ValueError(f'Invalid file name: "{tracking_file}". Valid file extensions are '
                             '".csv" and ".sqlite".')
        if gpu_brand not in (None, "nvidia", "amd"):
            raise ValueError(f'"{gpu_brand}" is not a valid GPU brand. Supported values are '
                             '"nvidia" and "amd".')
        if spelling not in ("descendants", "descendents"):
            raise ValueError(f'"{spelling}" is not a valid spelling. Valid values are '
                             '"descendants" or "descendents".')

    def _check_gpus(self) -> None:
        """The agent knows the GPUs: it refuses those that are not there."""
        try:
            Agent("--check", *option_list(self._options), name="gpu-tracker").close()
        except Error as error:
            raise ValueError(str(error)) from None

    def _log(self, answer: Dict[str, Any]) -> None:
        if answer.get("warnings") and not self._disable_logs:
            import logging

            for warning in answer["warnings"]:
                logging.warning(warning)

    def __repr__(self) -> str:
        return f"State: {self.state.name}"

    def __enter__(self) -> "Tracker":
        if self.state is not State.NEW:
            raise RuntimeError("Cannot start tracking when tracking has already "
                               f"{self.state.name.lower()}.")
        pid = self._process_id or os.getpid()
        try:
            self._agent = Agent(f"--pid={pid}", *option_list(self._options), name="gpu-tracker")
        except Error as error:
            if "already exists" in str(error):
                raise FileExistsError(str(error)) from None
            raise
        self.state = State.STARTED
        self._owner = os.getpid()
        self._log(self._agent.ready)
        return self

    def __exit__(self, *exception: object) -> None:
        if exception and self._owner not in (0, os.getpid()):
            return  # a forked child leaves the block too: the tracking is its parent's
        if self.state is State.NEW:
            raise RuntimeError("Cannot stop tracking when tracking has not started yet.")
        if self.state is State.STOPPED:
            raise RuntimeError("Cannot stop tracking when tracking has already stopped.")
        assert self._agent is not None
        answer = self._agent.stop()
        self._agent = None
        self.state = State.STOPPED
        self._json, self._text = answer["usage"], answer["text"]
        self.resource_usage = _build_usage(self._json)
        self._log(answer)

    def start(self) -> None:
        """Starts tracking. The first sample is taken when it returns."""
        self.__enter__()

    def stop(self) -> None:
        """Ends the tracking; resource_usage is there then."""
        self.__exit__()

    def __del__(self) -> None:
        if getattr(self, "_agent", None) is not None:
            self._agent.close()  # type: ignore[union-attr]

    def _require_stopped(self) -> None:
        if self.state is not State.STOPPED:
            raise RuntimeError(
                "Cannot display the tracker in string or JSON format before tracking completes. "
                "Exit the content manager or call the stop() method before calling to_json() or "
                "str()")

    def __str__(self) -> str:
        self._require_stopped()
        return self._text

    def to_json(self) -> Dict[str, Any]:
        self._require_stopped()
        import copy

        return copy.deepcopy(self._json)

    def _part(self, name: str) -> Any:
        return None if self.resource_usage is None else getattr(self.resource_usage, name)

    # The attributes of versions 1 to 3.
    @property
    def max_ram(self) -> MaxRAM:
        return self._part("max_ram")  # type: ignore[no-any-return]

    @property
    def max_gpu_ram(self) -> MaxGPURAM:
        return self._part("max_gpu_ram")  # type: ignore[no-any-return]

    @property
    def compute_time(self) -> ComputeTime:
        return self._part("compute_time")  # type: ignore[no-any-return]
