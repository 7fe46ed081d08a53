# SPDX-License-Identifier: Apache-2.0
"""The report (schema spoor/1) as objects.

Each class is a section of the JSON, with its keys in the same order. Keys added in later versions are only in
Result.to_dict(); a key that the report lacks is None.
"""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from ._measure import Measure
from ._table import Table, Tabular


class Section:
    """A part of a report: the annotations of the class are the keys."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        for name, kind in _fields(type(self)).items():
            setattr(self, name, _build(kind, data.get(name)))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __repr__(self) -> str:
        """Shows the measures and numbers; inner sections are left out."""
        shown = [f"{name}={value if isinstance(value, Measure) else repr(value)}"
                 for name, value in vars(self).items()
                 if not name.startswith("_") and isinstance(value, (Measure, str, int, float))]
        return f"{type(self).__name__}({', '.join(shown)})"


def _fields(cls: type) -> dict[str, str]:
    """Returns the annotations of a class and its bases, in the order of the report."""
    return {name: kind for base in reversed(cls.__mro__)
            for name, kind in vars(base).get("__annotations__", {}).items()}


def _build(kind: str, data: Any) -> Any:
    """Converts `data` according to the annotation: to one of the classes below, a list of them,
    or plain data."""
    if kind.startswith("Optional["):
        kind = kind[len("Optional["):-1]
    if data is None:
        return None
    if kind == "Measure":
        return Measure(**{name: data[name] for name in Measure.__slots__ if name in data})
    if kind.startswith("list["):
        return [_build(kind[len("list["):-1], item) for item in data]
    cls = globals().get(kind)
    return cls(data) if isinstance(cls, type) and issubclass(cls, Section) else data


class Run(Section):
    id: str
    name: Optional[str]
    tags: dict[str, str]
    command: list[str]
    pid: int
    host: Optional[str]
    user: Optional[str]
    cwd: Optional[str]
    started_at: str
    ended_at: str
    elapsed_seconds: float
    exit_code: Optional[int]
    signal: Optional[str]
    core_dumped: Optional[bool]  # True or None: the report has the key only if a core was dumped
    attached: Optional[bool]  # likewise, only if the process had started before it was tracked
    still_running: Optional[bool]  # likewise, only if the process was still running when tracking stopped
    interval_seconds: float
    samples: int
    spoor_version: str


class Launch(Section):
    """The scheduler and the launcher of the run: the job ID comes from the scheduler, the rank
    from the launcher."""
    launcher: Optional[str]  # None: the run is not a rank
    scheduler: Optional[str]
    job: Optional[str]
    step: Optional[str]
    rank: Optional[int]
    ranks: Optional[int]
    local_rank: Optional[int]
    local_ranks: Optional[int]
    node: Optional[int]
    nodes: Optional[int]
    node_name: Optional[str]
    array_job: Optional[str]
    array_index: Optional[int]
    restart: Optional[int]
    job_name: Optional[str]
    cluster: Optional[str]


class Host(Section):
    os: Optional[str]
    kernel: Optional[str]
    cpu_model: Optional[str]
    cpus: Optional[int]
    memory_bytes: Optional[int]
    gpus: list[dict[str, Any]]


class Limits(Section):
    cpus: Optional[float]
    cpus_source: Optional[str]
    memory_bytes: Optional[int]
    memory_source: Optional[str]
    gpus: list[Any]


class Cores(Section):
    mean_cores: Measure
    max_cores: Measure


class Threads(Section):
    main: Measure
    descendants: Measure
    combined: Measure


class PageFaults(Section):
    major: Measure
    minor: Measure


class ContextSwitches(Section):
    voluntary: Measure
    involuntary: Measure


class Counters(Section):
    """Hardware counters in user space; only with --counters."""
    cycles: Measure
    instructions: Measure
    cache_misses: Measure
    branch_misses: Measure
    instructions_per_cycle: Measure


class Cpu(Section):
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
    wait_seconds: Measure
    counters: Counters


class Rss(Section):
    total_rss_bytes: Measure
    private_rss_bytes: Measure
    shared_rss_bytes: Measure
    pss_bytes: Optional[Measure]  # of the combined memory


class Memory(Section):
    main: Rss
    descendants: Rss
    combined: Rss
    at_peak: Rss  # of the job, at one moment: the parts add up
    job_peak_bytes: Measure
    anon_peak_bytes: Measure
    page_cache_peak_bytes: Measure
    refaulted_bytes: Measure
    swap_peak_bytes: Measure
    system_peak_bytes: Measure


class GpuMemory(Section):
    main_bytes: Measure
    descendants_bytes: Measure
    combined_bytes: Measure
    system_bytes: Measure


class GpuShare(Section):
    mean_gpus: Measure
    max_gpus: Measure


class GpuWork(Section):
    sm_gpus: Measure
    occupancy_gpus: Measure
    tensor_gpus: Measure
    fp64_gpus: Measure
    fp32_gpus: Measure
    fp16_gpus: Measure
    dram_gpus: Measure
    pcie_sent_bytes: Measure
    pcie_received_bytes: Measure
    nvlink_sent_bytes: Measure
    nvlink_received_bytes: Measure


class Gpu(Section):
    memory: GpuMemory
    utilization: GpuShare
    job_utilization: GpuShare
    work: GpuWork
    count: Optional[int]
    selected: Optional[list[Any]]
    devices: Optional[list[dict[str, Any]]]


class Io(Section):
    read_bytes: Measure
    written_bytes: Measure
    read_chars: Measure
    written_chars: Measure
    wait_seconds: Measure


class JobNetwork(Section):
    """TCP connections of the job. The loopback figures count connections within the machine."""
    received_bytes: Measure
    sent_bytes: Measure
    loopback_received_bytes: Measure
    loopback_sent_bytes: Measure
    connections: Measure


class Remote(Section):
    """TCP connections of the job with one remote address; None: with several addresses."""
    address: Optional[str]
    connections: int
    received_bytes: int
    sent_bytes: int


class RdmaPorts(Section):
    """RDMA ports of the machine."""
    received_bytes: Measure
    sent_bytes: Measure


class Nfs(Section):
    """NFS traffic of all programs on the machine."""
    read_bytes: Measure
    written_bytes: Measure


class Network(Section):
    received_bytes: Measure
    sent_bytes: Measure
    rdma: Optional[RdmaPorts]
    nfs: Optional[Nfs]
    scope: Optional[str]
    job: Optional[JobNetwork]
    remotes: Optional[list[Remote]]  # of a run, not of a phase


class Energy(Section):
    cpu_joules: Measure
    gpu_joules: Measure
    co2e_grams: Measure  # with --carbon-intensity


class Process(Section):
    """A process of the job. Its figures exclude its children; None is unknown."""
    pid: int
    parent_pid: Optional[int]
    name: Optional[str]
    command: Optional[str]
    started_seconds: Optional[float]  # since the start of the run
    ended_seconds: Optional[float]    # None: still running at the end
    cpu_seconds: Optional[float]
    cpu_wait_seconds: Optional[float]  # its threads were ready to run, but had no CPU
    peak_rss_bytes: Optional[int]
    read_bytes: Optional[int]
    written_bytes: Optional[int]
    gpu_memory_bytes: Optional[int]
    exit_code: Optional[int]
    signal: Optional[str]


class ProcessGroup(Section):
    """Processes with the same name that are not among the largest."""
    name: Optional[str]
    count: int
    cpu_seconds: Optional[float]
    peak_rss_bytes: Optional[int]


class Processes(Section, Tabular):
    max_concurrent: Measure
    started: Measure
    largest: Optional[list[Process]]  # of a run, not of a phase
    others: Optional[list[ProcessGroup]]

    def to_table(self) -> Table:
        """Returns the processes with the most CPU time, one per row."""
        rows = self.largest or []
        return Table({name: [getattr(row, name) for row in rows] for name in _fields(Process)})


class Pressure(Section):
    cpu_seconds: Measure
    memory_seconds: Measure
    io_seconds: Measure


class Events(Section):
    oom_kills: Measure
    throttled_seconds: Measure


class Sections(Section):
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


class Phase(Sections):
    name: str
    started_at: str
    elapsed_seconds: float


class Need(Section):
    """The resources to request for the next run."""
    value: Optional[float]  # None: unknown
    guess: bool
    why: str


class Choice(Section):
    """A number of CPUs, and the time to request with it."""
    cpus: float
    seconds: float


class Recommendation(Section):
    cpus: Need
    memory_bytes: Need
    gpus: Need
    vram_bytes: Need
    seconds: Need
    choices: list[Choice]
    note: Optional[str]  # why the run may not predict the next run


class Quantiles(Section):
    """For half of the time, or for 95 % of it, the value was not above these."""
    p50: Optional[float]
    p95: Optional[float]


class Distribution(Section):
    """Usage over the time of the run: shows whether a peak was a short spike."""
    cores: Quantiles
    memory_bytes: Quantiles
    near_memory_limit_seconds: Optional[float]  # above 90 % of the limit; None: no limit


class Spent(Section):
    """CPU time of the tracker while the job ran, by purpose."""
    samples_seconds: float
    events_seconds: float
    glances_seconds: float
    sharing_seconds: float
    gpus_seconds: float
    network_seconds: Optional[float]


class Postponed(Section):
    """How often the budget was used up."""
    glances: int
    sharing: int
    gpus: int


class Cost(Section):
    """The cost of tracking."""
    cpu_seconds: Optional[float]
    max_rss_bytes: Optional[int]
    late_samples: int
    detail_reads: int
    budget_percent: Optional[float]
    spent: Spent
    postponed: Postponed


class Curve(Section, Tabular):
    """The course of the run: points with the highest, the lowest and the mean value of each
    column."""
    samples: int
    seconds: list[float]
    columns: dict[str, dict[str, Any]]

    def to_table(self) -> Table:
        """Returns the curve as a table.

        The column ``seconds`` is the time since the start. The column of a metric contains its
        mean over the time before each point; ``NAME_low`` and ``NAME_high`` exist if a point
        covers several samples.
        """
        table: dict[str, list[Any]] = {"seconds": self.seconds}
        for name, column in self.columns.items():
            table[name] = column.get("mean", column["high"])
            for bound in ("low", "high") if "low" in column else ():
                table[f"{name}_{bound}"] = column[bound]
        return Table(table)


class Imbalance(Section):
    """The largest value of any rank, divided by the mean over all ranks."""
    cpu: Optional[float]
    memory: Optional[float]
    elapsed: Optional[float]
    wait: Optional[float]


class MissingRank(Section):
    rank: Optional[int]
    host: Optional[str]
    started_at: Optional[str]
    reason: str


class Group(Section):
    """The ranks of a job: how many have ended, and how uneven they are."""
    ranks: int
    reported: int
    nodes_expected: Optional[int]
    deciding_node: Optional[str]  # the node with the most memory
    imbalance: Imbalance
    missing: list[MissingRank]


class Node(Section):
    host: Optional[str]
    node: Optional[int]
    ranks: int
    reported: int
    cpu_seconds: Optional[float]
    elapsed_seconds: Optional[float]
    cpus: Optional[int]
    memory_limit_bytes: Optional[int]
    gpus: list[str]
    memory: Measure  # sum over the ranks of the node


class Rank(Section):
    rank: Optional[int]
    local_rank: Optional[int]
    host: Optional[str]
    id: Optional[str]
    started_seconds: float
    elapsed_seconds: float
    cpu_seconds: Optional[float]
    mean_cores: Optional[float]
    peak_rss_bytes: Optional[int]
    gpu_memory_bytes: Optional[int]
    read_bytes: Optional[int]
    written_bytes: Optional[int]
    wait_seconds: Optional[float]
    exit_code: Optional[int]
    signal: Optional[str]
    restart: Optional[int]


class RankCurves(Section):
    """One list of cells per rank, in the order of ``rank_table``."""
    seconds: list[float]  # the end of each cell
    cores: list[list[Optional[float]]]
    memory_bytes: list[list[Optional[float]]]


class ReportWarning(Section):
    code: str
    message: str


class Report(Sections):
    """A whole report."""
    schema: str
    run: Run
    launch: Optional[Launch]  # None: no scheduler or launcher started it
    host: Host
    limits: Limits
    phases: list[Phase]
    recommendation: Optional[Recommendation]  # None: no job was tracked
    distribution: Optional[Distribution]  # likewise
    tracker: Cost
    group: Optional[Group]  # None: a single run, not the ranks of a job; also for the next three
    nodes: Optional[list[Node]]
    rank_table: Optional[list[Rank]]
    rank_curves: Optional[RankCurves]
    curve: Optional[Curve]
    warnings: list[ReportWarning]


class Snapshot:
    """A process and its descendants at one instant. None: not measured."""

    def __init__(self, pid: int, metrics: dict[str, Optional[float]], gpus: Sequence[dict[str, Any]] = ()) -> None:
        self.pid = pid
        self.metrics = metrics
        self.gpus = list(gpus)  # the job's GPUs, with the names of docs/METRICS.md without gpuN_; none: not known yet

    def __repr__(self) -> str:
        return f"<spoor.Snapshot pid={self.pid} rss_bytes={self.rss_bytes} cpu_seconds={self.cpu_seconds}>"

    def to_dict(self) -> dict[str, Optional[float]]:
        """Returns all metrics of docs/METRICS.md by name."""
        return dict(self.metrics)

    def __getitem__(self, name: str) -> Optional[float]:
        return self.metrics[name]

    @property
    def rss_bytes(self) -> Optional[float]:
        """Resident memory of the process and its descendants; shared pages count once."""
        return self.metrics["job_rss_bytes"]

    @property
    def private_bytes(self) -> Optional[float]:
        """Memory that is not shared with other processes."""
        return self.metrics["job_private_bytes"]

    @property
    def cpu_seconds(self) -> Optional[float]:
        """CPU time since the processes started."""
        return self.metrics["job_cpu_seconds"]

    @property
    def processes(self) -> Optional[float]:
        """The number of processes."""
        return self.metrics["job_processes"]

    @property
    def threads(self) -> Optional[float]:
        """The number of threads of all these processes."""
        return self.metrics["job_threads"]
