# SPDX-License-Identifier: Apache-2.0
"""Rules for the report of a job whose true usage is known.

- A figure marked exact is within 1 % of the truth.
- A sampled peak of memory has bounds that include the truth. If the upper bound is unknown, it
  is null, and the value is a minimum.
- A sampled count of network bytes has bounds too: it is its own lower bound, and may be 0.
- A sampled total or count is never above the truth: it may miss usage, but counts nothing twice.
- No figure is 0 unless the truth is 0; every null has a reason.
- The memory recommended for the next run is the true peak times 1.2, rounded up to a step. It
  may be off only by as much as a sampled peak is; the row has a note then.
- The recommended CPUs x time cover the true CPU time times 1.2.
- Some figures of some jobs must be near the truth in the best setup, exact or not (see
  cases.py). A sampled figure is near only if the tracker gets a CPU: the caller decides what to do
  if it is far.

All rules but the last hold in every setup, however busy the machine is. Each rule allows for the
error of the truth itself: the floor (see FIGURES), and `Doubt` for CPU time.
"""
import dataclasses
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "functional"))

import memory_order  # noqa: E402  # pylint: disable=wrong-import-position
import schema  # noqa: E402  # pylint: disable=wrong-import-position

EXACT_TOLERANCE = 0.01
BATCH_TOLERANCE = 0.005

MB = 1_000_000
# The jobs' programs are linked statically: their other mappings, such as text and data, stack and C
# library, are 0.7 MB, in part shared with other runs of the same program.
MEMORY_FLOOR = 1 * MB
# The kernel charges a job for page tables, stacks and batches per CPU: 0.6 to 3.8 MB were measured.
CHARGED_FLOOR = 4 * MB
# A job reads its own clock before it exits, so the clock misses the exit: up to 0.3 ms for each
# process on a quiet machine, 2 ms for a job if ten busy processes share two CPUs. The rest of this
# floor allows for other activity on the host of a virtual machine. Every job except one burns half
# a second, so that the floor is small compared with the measured time.
CPU_FLOOR = 0.020
TICK_SECONDS = 0.01
# Allows for the ledger's own line, the pipes of the samples, and the loader.
CHARS_FLOOR = 0.1 * MB


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure recorded by a job, and the path of the same figure in the report."""
    path: str
    # total: a counter; peak: memory at its maximum; count: the most at once, or in total; time:
    # elapsed; ceiling: the truth is at most this much; bounded: a counter with bounds that include
    # the truth
    kind: str
    floor: float


FIGURES = {
    "cpu_seconds": Figure("cpu.total_seconds", "total", CPU_FLOOR),
    "peak_rss_bytes": Figure("memory.combined.total_rss_bytes", "peak", MEMORY_FLOOR),
    "main_rss_bytes": Figure("memory.main.total_rss_bytes", "peak", MEMORY_FLOOR),
    "descendants_rss_bytes": Figure("memory.descendants.total_rss_bytes", "peak", MEMORY_FLOOR),
    "private_bytes": Figure("memory.combined.private_rss_bytes", "peak", MEMORY_FLOOR),
    "shared_bytes": Figure("memory.combined.shared_rss_bytes", "peak", MEMORY_FLOOR),
    "job_peak_bytes": Figure("memory.job_peak_bytes", "peak", CHARGED_FLOOR),
    "anon_bytes": Figure("memory.anon_peak_bytes", "peak", CHARGED_FLOOR),
    "page_cache_bytes": Figure("memory.page_cache_peak_bytes", "peak", CHARGED_FLOOR),
    "written_bytes": Figure("io.written_bytes", "total", CHARS_FLOOR),
    "written_chars": Figure("io.written_chars", "total", CHARS_FLOOR),
    "read_chars": Figure("io.read_chars", "total", CHARS_FLOOR),
    "processes": Figure("processes.started", "count", 0),
    "concurrent": Figure("processes.max_concurrent", "count", 0),
    # The main thread also waits for a CPU when it starts the others and after they have ended.
    "cpu_wait_seconds": Figure("cpu.wait_seconds", "total", 0.1),
    "minor_faults": Figure("cpu.page_faults.minor", "total", 300),
    "elapsed_seconds": Figure("run.elapsed_seconds", "time", 0.25),
    "loopback_received_bytes": Figure("network.job.loopback_received_bytes", "bounded", 0),
    "loopback_sent_bytes": Figure("network.job.loopback_sent_bytes", "bounded", 0),
    # No exact truth: see ledger.h.
    "shared_bytes_at_most": Figure("memory.combined.shared_rss_bytes", "ceiling", MEMORY_FLOOR),
    # The kernel may need a moment to remove a joined thread.
    "threads": Figure("cpu.threads.combined", "count", 1),
}


@dataclasses.dataclass(frozen=True)
class Doubt:
    """By how much a value may exceed the truth. The proc connector reports an exit after the parent
    could reap the process and start the next one, so that one process more may be counted at once.
    CPU time may exceed the sum of the processes' clocks by some seconds. `unseen`:
    time of exits; a process reads its clock before its exit, and the job measures the cost of
    some exits. `stolen`: time that the hypervisor took from all CPUs, by the kernel's count; a
    kernel that does not subtract it charges it to an exiting process. `interrupted`: perf's
    clock continues during an interrupt, while a process's own may stop. With ticks alone, two
    counters (user and system) may each be off by a tick. On a quiet machine both counts are 0.00
    to 0.02 s; with oversold CPUs, 0.2 s in 2 s were seen."""
    unseen: float = 0.0
    stolen: float = 0.0
    interrupted: float = 0.0

    def above(self, name, source):
        if name == "concurrent" and source == "proc-connector":
            return 1.0
        if name != "cpu_seconds":
            return 0.0
        if source == "perf.task-clock":
            return self.stolen + self.interrupted
        return self.unseen + self.stolen + (2 * TICK_SECONDS if source == "procfs.stat" else 0)


@dataclasses.dataclass
class Row:
    """One judged figure of one run. `fault` is empty if the figure breaks no rule; `far` is
    empty if it is as near to the truth as required."""
    figure: str
    true: float
    value: float = None
    exact: bool = False
    low: float = None
    high: float = None
    source: str = None
    note: str = ""
    fault: str = ""
    far: str = ""
    above: float = 0.0  # how much the value may exceed the truth, see Doubt

    @property
    def error(self):
        """Returns the relative error; None if nothing was measured."""
        if self.value is None:
            return None
        return (self.value - self.true) / self.true if self.true else float(self.value != 0)


def find(report, path):
    """Returns the measure at a dotted path."""
    for key in path.split("."):
        report = report[key]
    return report


def measures(report, path=""):
    """Yields (path, measure) for every measure of a report."""
    if isinstance(report, dict):
        if "value" in report and "exact" in report:
            yield path, report
        else:
            for key, part in report.items():
                yield from measures(part, f"{path}.{key}" if path else key)


def is_near(row, slack):
    return -slack <= row.value - row.true <= row.above + slack


def broken_rule(row, kind, floor):
    """Returns the rule that a row breaks, as text; "" if it breaks none."""
    slack = max(EXACT_TOLERANCE * row.true, floor)
    if kind == "bounded" and not row.exact:
        high = row.high if row.high is not None else float("inf")
        return "" if row.low is not None and row.low <= row.true <= high else "the truth is not within the bounds"
    if row.value == 0 and row.true > floor:
        return "0 where the truth is not"
    if kind == "ceiling":
        least = row.value if row.exact or row.low is None else row.low
        return "" if least <= row.true + slack else "at least more than there can be"
    if row.exact:
        return "" if is_near(row, slack) else "exact, and over 1 % off"
    if kind != "peak":
        return "" if row.value <= row.true + row.above + slack else "sampled, and above the truth"
    if row.low is None:
        return "a sampled peak without bounds"
    high = row.high if row.high is not None else float("inf")
    # The kernel counts resident sizes in batches for each CPU, so each process may be off by 0.25
    # MB.
    slack = max(floor, BATCH_TOLERANCE * row.true)
    if not row.low - slack <= row.true <= high + slack:
        return "the truth is not within the bounds"
    return ""


def judge_figure(name, true, report, must=None, doubt=Doubt()):
    """Returns the row of one figure. `must` is the maximum relative error, whether the figure is
    exact or not; None if only the general rules apply."""
    figure = FIGURES[name]
    measure = find(report, figure.path)
    if not isinstance(measure, dict):  # a plain number claims to be exact
        measure = {"value": measure, "exact": True, "source": "the tracker's clock"}
    row = Row(name, true, measure["value"], measure["exact"], measure.get("low"),
              measure.get("high"), measure["source"],
              above=doubt.above(name, measure["source"]))
    if row.value is None:
        row.note = measure.get("reason") or ""
        if not row.note:
            row.fault = "null without a reason"
        elif must is not None:
            row.far = "null, and must be measured here"
        return row
    row.fault = broken_rule(row, figure.kind, figure.floor)
    if not row.fault and must is not None and not is_near(row, max(must * true, figure.floor)):
        row.far = f"must be within {must:.0%} here"
    return row


def judge_phase(index, truth, report, doubt):
    """Returns the rows of one phase."""
    rows = []
    for name, true in truth.items():
        row = judge_figure(name, true, report["phases"][index], None, doubt)
        row.figure = f"phase {index} {name}"
        rows.append(row)
    return rows


MARGIN = 1.2
MIB = 1 << 20
STEPS_MIB = (128, 256, 512, 1024, 2048)


def round_memory(size):
    """Rounds up to the next step of recommended memory."""
    mib = size / MIB
    return next((step for step in STEPS_MIB if mib <= step), math.ceil(mib / 1024) * 1024) * MIB


def judge_recommendation(true, report, must=None):
    """Returns the row of the memory recommended for a job with this true peak. For `must`, see
    judge_figure()."""
    figure = FIGURES["peak_rss_bytes"]
    peak = find(report, figure.path)
    need = report["recommendation"]["memory_bytes"]
    row = Row("recommended_bytes", round_memory(MARGIN * true), need["value"], peak["exact"],
              source=peak["source"])
    if peak["value"] is None:
        row.fault = "" if need["value"] is None and need["why"] else "a peak that is not known"
        return row

    def is_right(low, high, tolerance):
        slack = max(tolerance * true, figure.floor)
        return round_memory(MARGIN * (low - slack)) <= row.value <= \
            round_memory(MARGIN * (high + slack))

    seen = (true, true) if peak["exact"] else sorted((true, peak["value"]))
    if need["guess"]:
        row.fault = f"a guess: {need['why']}"
    elif row.value is None or not is_right(*seen, EXACT_TOLERANCE):
        row.fault = f"not the peak times {MARGIN}, rounded up: {need['why']}"
    elif must is not None and not is_right(true, true, must):
        row.far = f"must be of a peak within {must:.0%} here"
    elif not is_right(true, true, EXACT_TOLERANCE):
        row.note = "the sampled peak is off"
    return row


def judge_request(true_cpu_seconds, report):
    """Returns the row of the CPUs x time recommended for a job with this true CPU time. The
    value is 1 if every choice covers the CPU time with the margin, the choices are sorted, and
    there are at least as many GPUs as held memory. A sampled total may have missed CPU time, and
    the job's own clock misses its exit."""
    needs, total = report["recommendation"], find(report, "cpu.total_seconds")
    row = Row("recommended_request", 1, 1, total["exact"], source=total["source"])
    known = true_cpu_seconds if total["exact"] else min(true_cpu_seconds, total["value"] or 0)
    least = MARGIN * (known - max(EXACT_TOLERANCE * known, CPU_FLOOR))
    try:
        schema.check_request(report)
    except AssertionError as error:
        row.value, row.fault = 0, f"the request contradicts the report: {error}"
    if any(each["cpus"] * each["seconds"] < least for each in needs["choices"]):
        row.value, row.fault = 0, f"CPUs x time are below the CPU time: {needs['cpus']['why']}"
    return row


def judge_form(report):
    """Returns the formal faults of the measures, whatever their values, as a list of texts."""
    faults = []
    for path, measure in measures(report):
        value, low, high = (measure.get(key) for key in ("value", "low", "high"))
        if value is None and not measure.get("reason"):
            faults.append(f"{path}: null without a reason")
        if value is not None and not measure["source"]:
            faults.append(f"{path}: a value without a source")
        if low is not None and not low <= value <= (value if high is None else high):
            faults.append(f"{path}: {value} is not within its bounds {low} and {high}")
    return faults + (memory_order.contradictions(report) if "memory" in report else [])


def judge(truth, report, must=None, stolen=0.0, interrupted=0.0):
    """Returns all rows of a run: `truth` as the job wrote it, `must` {name: relative error}, the
    other arguments as in Doubt."""
    must = must or {}
    doubt = Doubt(truth.get("unseen_cpu_microseconds", 0) / 1e6, stolen, interrupted)
    rows = [judge_figure(name, true, report, must.get(name), doubt)
            for name, true in truth.items() if name in FIGURES]
    for index, phase in enumerate(truth.get("phases", ())):
        rows += judge_phase(index, phase, report, doubt)
    if "peak_rss_bytes" in truth:
        rows.append(judge_recommendation(truth["peak_rss_bytes"], report,
                                         must.get("peak_rss_bytes")))
    if "cpu_seconds" in truth and "recommendation" in report:
        rows.append(judge_request(truth["cpu_seconds"], report))
    return rows
