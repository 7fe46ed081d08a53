# SPDX-License-Identifier: Apache-2.0
"""slowing.py - measures how much a tracker slows down a job that constantly allocates and frees
memory while it keeps 1 GB.

Three kinds of time windows take turns over one job: untracked, read by the floor program, and
tracked. A rate is the number of the job's rounds per second, not counting the time in which the
job waited for a CPU: waiting for a lock that the tracker holds counts, waiting for other
programs does not. Other programs can still slow down a CPU whose cores share resources. Even
then, the time that the job slept is reliable: the job sleeps only when it waits for such a lock.
"""
import contextlib
import pathlib
import signal
import statistics
import time

import machine
from rows import Row, spread_of

KEPT_MB = 1000
INTERVAL = 0.1
WINDOW_SECONDS = 0.8
TURNS = 16
LIMIT_PERCENT = 1.0


class Job:
    """The job, observed from outside."""

    def __init__(self, pid, counter):
        self.pid, self.counter = pid, counter

    def rounds(self):
        return int.from_bytes(self.counter.read_bytes()[:8], "little")

    def state(self):
        """Returns the job's rounds, and its seconds elapsed, on a CPU, and waiting for a CPU."""
        _, waiting, _ = map(int, pathlib.Path(f"/proc/{self.pid}/schedstat").read_text().split())
        return self.rounds(), time.monotonic(), machine.cpu_seconds(self.pid), waiting / 1e9

    def window(self):
        """Returns the job's rates in one window."""
        before = self.state()
        time.sleep(WINDOW_SECONDS)
        rounds, wall, on_cpu, waiting = (b - a for a, b in zip(before, self.state()))
        return {"rate": rounds / (wall - waiting), "rate_by_wall": rounds / wall,
                "rate_by_cpu": rounds / on_cpu, "asleep": (wall - waiting - on_cpu) / wall * 100}


@contextlib.contextmanager
def tracked(bench, job, folder):
    """Runs the tracker for the duration of the block; the block starts after the first sample."""
    samples = folder / "samples.jsonl"
    samples.unlink(missing_ok=True)
    command = [bench.spoor, "attach", "-q", "-i", str(INTERVAL), "--samples", str(samples),
               str(job.pid)]
    with machine.started(command) as process:
        machine.wait_until(lambda: samples.exists() and samples.stat().st_size > 0, "sample")
        yield
        process.send_signal(signal.SIGINT)
        process.wait(machine.DEADLINE_SECONDS)


def measure(bench, job, folder):
    """Returns the windows of each kind, in the order of the turns."""
    kinds = {
        "untracked": contextlib.nullcontext,
        "floor": lambda: machine.started(bench.program("floor_watch", job.pid,
                                                       round(INTERVAL * 1000), 1_000_000)),
        "tracked": lambda: tracked(bench, job, folder),
    }
    windows = {kind: [] for kind in kinds}
    for _ in range(bench.much(TURNS, 2)):
        for kind, begin in kinds.items():
            with begin():
                windows[kind].append(job.window())
    windows["untracked"].append(job.window())
    return windows


def slower_percent(windows, kind, rate="rate"):
    """Returns the slowdown of each turn compared with the untracked windows before and after it,
    so that drift cancels out."""
    plain = [window[rate] for window in windows["untracked"]]
    return [((before + after) / 2 / window[rate] - 1) * 100
            for before, after, window in zip(plain, plain[1:], windows[kind])]


def asleep_percent(windows, kind):
    plain = statistics.median(window["asleep"] for window in windows["untracked"])
    return [window["asleep"] - plain for window in windows[kind]]


def row_of(name, windows, percents, **more):
    ours = percents(windows, "tracked")
    return Row(f"a malloc-heavy 1 GB job at {INTERVAL} s: {name}", "%", statistics.median(ours),
               statistics.median(percents(windows, "floor")), LIMIT_PERCENT, "", spread_of(ours),
               more)


def slowing(bench):
    """Measures the slowdown at an interval of 0.1 s."""
    with machine.scratch() as folder:
        counter = folder / "rounds"
        counter.write_bytes(bytes(4096))
        with machine.started(bench.program("churn", counter, KEPT_MB)) as process:
            job = Job(process.pid, counter)
            machine.wait_until(lambda: job.rounds() > 0 or process.poll() is not None, "round")
            windows = measure(bench, job, folder)
    more = {rate: statistics.median(slower_percent(windows, "tracked", rate))
            for rate in ("rate_by_wall", "rate_by_cpu")}
    return [row_of("slow-down", windows, slower_percent, **more),
            row_of("waits for locks", windows, asleep_percent)]
