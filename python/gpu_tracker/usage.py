# SPDX-License-Identifier: Apache-2.0
"""The data classes of Tracker.resource_usage."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, make_dataclass
from typing import Any


@dataclass
class RSSValues:
    """Resident memory: private to the processes, shared with other processes, and the total."""
    total_rss: float = 0.0
    private_rss: float = 0.0
    shared_rss: float = 0.0


@dataclass
class MaxRAM:
    """Peak memory of the machine, the process, its descendants, and both combined."""
    unit: str
    system_capacity: float
    system: float = 0.0
    main: RSSValues = field(default_factory=RSSValues)
    descendants: RSSValues = field(default_factory=RSSValues)
    combined: RSSValues = field(default_factory=RSSValues)


@dataclass
class MaxGPURAM:
    """Peak GPU memory."""
    unit: str
    system_capacity: float
    system: float = 0.0
    main: float = 0.0
    descendants: float = 0.0
    combined: float = 0.0


@dataclass
class ProcessingUnitPercentages:
    """Percent of one core or GPU (sum), and of all expected cores or GPUs (hardware)."""
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


def _build(cls: type[Any], inner: type[Any], data: dict[str, Any]) -> Any:
    """Returns an instance of `cls`; if the data uses another spelling, of a class with that
    spelling."""
    made = cls
    if [column.name for column in fields(cls)] != list(data):
        made = make_dataclass(cls.__name__, data, namespace={
            "__reduce__": lambda self: (_build, (cls, inner, asdict(self)))})  # for pickle
    return made(*(inner(**value) if isinstance(value, dict) else value for value in data.values()))


def build_usage(data: dict[str, Any]) -> ResourceUsage:
    percentages = ProcessingUnitPercentages
    return ResourceUsage(
        _build(MaxRAM, RSSValues, data["max_ram"]),
        _build(MaxGPURAM, float, data["max_gpu_ram"]),
        _build(CPUUtilization, percentages, data["cpu_utilization"]),
        _build(GPUUtilization, percentages, data["gpu_utilization"]),
        _build(ComputeTime, float, data["compute_time"]))
