# SPDX-License-Identifier: Apache-2.0
"""What a tracker found: the report (schema spoor/1) as data classes.

Each class is one section of the JSON, with the keys in their order. A key that this version
does not know stays in Result.to_dict(); one that the report lacks is None.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional


@dataclass(frozen=True)
class Measure:
    """One number, where it came from, and how far it can be trusted."""
    value: Optional[float] = None  # None: not measured
    source: Optional[str] = None
    exact: bool = False
    low: Optional[float] = None    # bounds of a sampled peak
    high: Optional[float] = None
    reason: Optional[str] = None   # why there is no value


@dataclass(frozen=True)
class Run:
    id: str
    name: Optional[str]
    tags: Dict[str, str]
    command: List[str]
    pid: int
    host: Optional[str]
    user: Optional[str]
    cwd: Optional[str]
    started_at: str
    ended_at: str
    elapsed_seconds: float
    exit_code: Optional[int]
    signal: Optional[str]
    interval_seconds: float
    samples: int
    spoor_version: str


@dataclass(frozen=True)
class Host:
    os: Optional[str]
    kernel: Optional[str]
    cpu_model: Optional[str]
    cpus: Optional[int]
    memory_bytes: Optional[int]
    gpus: List[Dict[str, Any]]


@dataclass(frozen=True)
class Limits:
    cpus: Optional[float]
    memory_bytes: Optional[int]
    gpus: List[Any]


@dataclass(frozen=True)
class Cores:
    mean_cores: Measure
    max_cores: Measure


@dataclass(frozen=True)
class Threads:
    main: Measure
    descendants: Measure
    combined: Measure


@dataclass(frozen=True)
class PageFaults:
    major: Measure
    minor: Measure


@dataclass(frozen=True)
class ContextSwitches:
    voluntary: Measure
    involuntary: Measure


@dataclass(frozen=True)
class Cpu:
    total_seconds: Measure
    user_seconds: Measure
    system_seconds: Measure
    mean_cores: Measure
    max_cores: Measure
    main: Cores
    descendants: Cores
    system: Cores
    threads: Threads
    page_faults: PageFaults
    context_switches: ContextSwitches


@dataclass(frozen=True)
class Rss:
    total_rss_bytes: Measure
    private_rss_bytes: Measure
    shared_rss_bytes: Measure
    pss_bytes: Optional[Measure] = None  # of the combined memory


@dataclass(frozen=True)
class Memory:
    main: Rss
    descendants: Rss
    combined: Rss
    at_peak: Rss  # of the job, at one moment: the parts add up
    job_peak_bytes: Measure
    anon_peak_bytes: Measure
    page_cache_peak_bytes: Measure
    swap_peak_bytes: Measure
    system_peak_bytes: Measure


@dataclass(frozen=True)
class GpuMemory:
    main_bytes: Measure
    descendants_bytes: Measure
    combined_bytes: Measure
    system_bytes: Measure


@dataclass(frozen=True)
class GpuShare:
    mean_gpus: Measure
    max_gpus: Measure


@dataclass(frozen=True)
class Gpu:
    memory: GpuMemory
    utilization: GpuShare
    job_utilization: GpuShare
    count: Optional[int] = None
    selected: Optional[List[Any]] = None
    devices: Optional[List[Dict[str, Any]]] = None


@dataclass(frozen=True)
class Io:
    read_bytes: Measure
    written_bytes: Measure
    read_chars: Measure
    written_chars: Measure


@dataclass(frozen=True)
class Network:
    received_bytes: Measure
    sent_bytes: Measure
    scope: Optional[str] = None


@dataclass(frozen=True)
class Energy:
    cpu_joules: Measure
    gpu_joules: Measure


@dataclass(frozen=True)
class Processes:
    max_concurrent: Measure
    started: Measure


@dataclass(frozen=True)
class Pressure:
    cpu_seconds: Measure
    memory_seconds: Measure
    io_seconds: Measure


@dataclass(frozen=True)
class Events:
    oom_kills: Measure
    throttled_seconds: Measure


@dataclass(frozen=True)
class Sections:
    """What a run and each of its phases have."""
    cpu: Cpu
    memory: Memory
    gpu: Gpu
    io: Io
    network: Network
    energy: Energy
    processes: Processes
    pressure: Pressure
    events: Events


@dataclass(frozen=True)
class Phase(Sections):
    name: str
    started_at: str
    elapsed_seconds: float


@dataclass(frozen=True)
class Cost:
    """What the tracking itself took."""
    cpu_seconds: Optional[float]
    max_rss_bytes: Optional[int]
    late_samples: int
    detail_reads: int


@dataclass(frozen=True)
class ReportWarning:
    code: str
    message: str


@dataclass(frozen=True)
class Report(Sections):
    schema: str
    run: Run
    host: Host
    limits: Limits
    phases: List[Phase]
    tracker: Cost
    warnings: List[ReportWarning]


_CLASSES = {value.__name__: value for value in list(globals().values())
            if isinstance(value, type) and hasattr(value, "__dataclass_fields__")}


def _build(name: str, data: Any) -> Any:
    """`name` is an annotation: of one of our classes, of a list of them, or of plain data."""
    if data is None:
        return None
    if name.startswith("Optional["):
        name = name[len("Optional["):-1]
    if name.startswith("List[") and name[5:-1] in _CLASSES:
        return [_build(name[5:-1], item) for item in data]
    cls = _CLASSES.get(name)
    if cls is None:
        return data
    fields = cls.__dataclass_fields__
    return cls(**{key: _build(field.type, data.get(key)) for key, field in fields.items()
                  if key in data or name != "Measure"})


def build_report(data: Dict[str, Any]) -> Report:
    report: Report = _build("Report", data)
    return report


@dataclass(frozen=True)
class Snapshot:
    """A process and what it started, at one instant. Values of None were not measured."""
    pid: int
    metrics: Dict[str, Optional[float]]

    def to_dict(self) -> Dict[str, Optional[float]]:
        """All metrics of docs/METRICS.md by their names."""
        return dict(self.metrics)

    def __getitem__(self, name: str) -> Optional[float]:
        return self.metrics[name]

    @property
    def rss_bytes(self) -> Optional[float]:
        """Resident memory of the process and its descendants, shared pages counted once."""
        return self.metrics["job_rss_bytes"]

    @property
    def private_bytes(self) -> Optional[float]:
        return self.metrics["job_private_bytes"]

    @property
    def cpu_seconds(self) -> Optional[float]:
        """CPU time since the processes were started."""
        return self.metrics["job_cpu_seconds"]

    @property
    def processes(self) -> Optional[float]:
        return self.metrics["job_processes"]

    @property
    def threads(self) -> Optional[float]:
        return self.metrics["job_threads"]
