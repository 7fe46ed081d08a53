# SPDX-License-Identifier: Apache-2.0
"""The report (schema spoor/1) as data classes.

Each class is a section of the JSON, with the keys in their order. A key that this version does
not know is in Result.to_dict() only; one that the report lacks is None.
"""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Measure:
    """A number, its source, and how far it can be trusted."""
    value: float | None = None  # None: not measured
    source: str | None = None
    exact: bool = False
    low: float | None = None    # bounds of a sampled peak
    high: float | None = None
    reason: str | None = None   # why there is no value


@dataclass(frozen=True)
class Run:
    id: str
    name: str | None
    tags: dict[str, str]
    command: list[str]
    pid: int
    host: str | None
    user: str | None
    cwd: str | None
    started_at: str
    ended_at: str
    elapsed_seconds: float
    exit_code: int | None
    signal: str | None
    core_dumped: bool | None  # True or None: the report has the key only if a core was dumped
    attached: bool | None  # likewise, if the process had started before it was tracked
    still_running: bool | None  # likewise, if the process had not ended when tracking stopped
    interval_seconds: float
    samples: int
    spoor_version: str


@dataclass(frozen=True)
class Host:
    os: str | None
    kernel: str | None
    cpu_model: str | None
    cpus: int | None
    memory_bytes: int | None
    gpus: list[dict[str, Any]]


@dataclass(frozen=True)
class Limits:
    cpus: float | None
    cpus_source: str | None
    memory_bytes: int | None
    memory_source: str | None
    gpus: list[Any]


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
    pss_bytes: Measure | None = None  # of the combined memory


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
    count: int | None = None
    selected: list[Any] | None = None
    devices: list[dict[str, Any]] | None = None


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
    scope: str | None = None


@dataclass(frozen=True)
class Energy:
    cpu_joules: Measure
    gpu_joules: Measure


@dataclass(frozen=True)
class Process:
    """A process of the job. Its figures are without its children; None is unknown."""
    pid: int
    parent_pid: int | None
    name: str | None
    command: str | None
    started_seconds: float | None  # since the start of the run
    ended_seconds: float | None    # None: it still ran at the end
    cpu_seconds: float | None
    peak_rss_bytes: int | None
    read_bytes: int | None
    written_bytes: int | None
    gpu_memory_bytes: int | None
    exit_code: int | None
    signal: str | None


@dataclass(frozen=True)
class ProcessGroup:
    """Processes of one name that are not among the largest."""
    name: str | None
    count: int
    cpu_seconds: float | None
    peak_rss_bytes: int | None


@dataclass(frozen=True)
class Processes:
    max_concurrent: Measure
    started: Measure
    largest: list[Process] | None = None  # of a run, not of a phase
    others: list[ProcessGroup] | None = None


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
    """The figures of a run, or of one of its phases."""
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
class Need:
    """The resources to request for the next run."""
    value: float | None  # None: unknown
    guess: bool
    why: str


@dataclass(frozen=True)
class Recommendation:
    cpus: Need
    memory_bytes: Need
    gpus: Need
    vram_bytes: Need
    seconds: Need


@dataclass(frozen=True)
class Spent:
    """CPU time of the tracker while the job ran, by purpose."""
    samples_seconds: float
    events_seconds: float
    glances_seconds: float
    sharing_seconds: float
    gpus_seconds: float


@dataclass(frozen=True)
class Postponed:
    """How often the budget was used up."""
    glances: int
    sharing: int
    gpus: int


@dataclass(frozen=True)
class Cost:
    """The cost of tracking."""
    cpu_seconds: float | None
    max_rss_bytes: int | None
    late_samples: int
    detail_reads: int
    budget_percent: float | None
    spent: Spent
    postponed: Postponed


@dataclass(frozen=True)
class Curve:
    """How the run went: points with the highest, the lowest and the mean value of each column."""
    samples: int
    seconds: list[float]
    columns: dict[str, dict[str, Any]]


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
    phases: list[Phase]
    recommendation: Recommendation | None  # None: no job was tracked
    tracker: Cost
    curve: Curve | None
    warnings: list[ReportWarning]


_CLASSES = {value.__name__: value for value in list(globals().values())
            if isinstance(value, type) and hasattr(value, "__dataclass_fields__")}


def _build(annotation: str, data: Any) -> Any:
    """`data` by its annotation: one of the classes above, a list of them, or plain data."""
    if data is None:
        return None
    name = annotation.removesuffix(" | None")
    if name.startswith("list[") and name[5:-1] in _CLASSES:
        return [_build(name[5:-1], item) for item in data]
    if name not in _CLASSES:
        return data
    cls = _CLASSES[name]
    return cls(**{field.name: _build(str(field.type), data.get(field.name))
                  for field in fields(cls) if field.name in data or cls is not Measure})


def build_report(data: dict[str, Any]) -> Report:
    report: Report = _build("Report", data)
    return report


@dataclass(frozen=True)
class Snapshot:
    """A process and its descendants at one instant. None: not measured."""
    pid: int
    metrics: dict[str, float | None]

    def to_dict(self) -> dict[str, float | None]:
        """All metrics of docs/METRICS.md by name."""
        return dict(self.metrics)

    def __getitem__(self, name: str) -> float | None:
        return self.metrics[name]

    @property
    def rss_bytes(self) -> float | None:
        """Resident memory of the process and its descendants, shared pages counted once."""
        return self.metrics["job_rss_bytes"]

    @property
    def private_bytes(self) -> float | None:
        return self.metrics["job_private_bytes"]

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time since the processes started."""
        return self.metrics["job_cpu_seconds"]

    @property
    def processes(self) -> float | None:
        return self.metrics["job_processes"]

    @property
    def threads(self) -> float | None:
        return self.metrics["job_threads"]
