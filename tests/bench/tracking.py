# SPDX-License-Identifier: Apache-2.0
"""tracking.py - measures the cost of `spoor run` beside a job of 200 sleeping descendants."""
import contextlib
import subprocess
import time

import machine
from rows import Row

DESCENDANTS = 200
SECONDS = 20
INTERVALS = {1.0: 0.1, 0.1: 0.6}  # seconds: the limit, percent of a core
MEMORY_LIMIT_MB = 4.0
FLOOR_FACTOR = 1.5
STRANGER_SECONDS = 6
STRANGER_MS = 10


class Watched:
    """Measures the CPU time of a process, in total and since the last mark() before close(). The
    caller calls mark() once the process has settled."""

    def __init__(self, process):
        self.pid = process.pid
        self.marks = [(time.monotonic(), 0.0)]

    def mark(self):
        self.marks.append((time.monotonic(), machine.cpu_seconds(self.pid)))

    def close(self):
        self.mark()
        self.seconds, self.cpu = self.since(-2)
        self.settled_percent = self.cpu / self.seconds * 100
        seconds, cpu = self.since(0)
        self.percent = cpu / seconds * 100
        _, peak_bytes = machine.resident_bytes(self.pid)
        self.peak_mb = peak_bytes / 1e6

    def since(self, index):
        """Returns the wall time and the CPU time since that mark."""
        return [now - then for now, then in zip(self.marks[-1], self.marks[index])]


@contextlib.contextmanager
def wrapped(bench, interval):
    """Starts a job under `spoor run`. Yields the PIDs of the tracker and of the job."""
    command = [bench.spoor, "run", "-q", "-i", str(interval), "--",
               *bench.program("crowd", DESCENDANTS, 1)]
    with machine.started(command, stdout=subprocess.PIPE) as process:
        tracker = Watched(process)
        assert process.stdout.read(1) == b"\0", "the job ended early"
        job, = machine.children(process.pid)
        yield tracker, job


@contextlib.contextmanager
def attached(bench, interval):
    """Starts a job, then attaches a tracker to it; yields the same."""
    with machine.crowd(bench, DESCENDANTS) as job:
        with machine.started([bench.spoor, "attach", "-q", "-i", str(interval),
                              str(job.pid)]) as process:
            yield Watched(process), job.pid


def watch(bench, begin, interval, seconds):
    """Observes the tracker and the floor beside one job at the same time; both have settled by
    the second half."""
    with begin(bench, interval) as (tracker, job):
        with machine.started(bench.program("floor_watch", job, round(interval * 1000),
                                           1_000_000)) as process:
            floor = Watched(process)
            time.sleep(seconds / 2)
            for watched in (tracker, floor):
                watched.mark()
            time.sleep(seconds / 2)
            for watched in (tracker, floor):
                watched.close()
    return tracker, floor


def sample_cost(watched, interval):
    """Returns the CPU time in microseconds per interval, once settled."""
    return watched.cpu / watched.seconds * interval * 1e6


def tracking(bench):
    """Measures the CPU time of the whole tracker since it started, and its memory."""
    seconds = bench.much(SECONDS, 4)
    seen = {interval: watch(bench, wrapped, interval, seconds) for interval in INTERVALS}
    rows = []
    for interval, (tracker, floor) in seen.items():
        name = f"CPU at {interval:g} s, {DESCENDANTS} asleep"
        rows.append(Row(f"{name}, first {seconds} s", "%", tracker.percent, floor.percent,
                        INTERVALS[interval], "of a core"))
        rows.append(Row(f"{name}, once settled", "%", tracker.settled_percent,
                        floor.settled_percent, INTERVALS[interval], "of a core"))
    (slow, _), (fast, fast_floor) = seen[1.0], seen[0.1]
    floor_cost = sample_cost(fast_floor, 0.1)
    rows.append(Row(f"a sample at 0.1 s, {DESCENDANTS} asleep, once settled", "µs",
                    sample_cost(fast, 0.1), floor_cost, FLOOR_FACTOR * floor_cost,
                    f"{FLOOR_FACTOR} x floor"))
    rows.append(Row(f"resident memory, {DESCENDANTS} asleep, at most", "MB",
                    max(slow.peak_mb, fast.peak_mb), fast_floor.peak_mb, MEMORY_LIMIT_MB))
    return rows


def strangers(bench):
    """Measures the same while a foreign process constantly starts children, which some sources
    report."""
    rows = []
    for name, begin in (("run", wrapped), ("attach", attached)):
        with machine.started(bench.program("forker", STRANGER_MS)):
            tracker, floor = watch(bench, begin, 1.0, bench.much(STRANGER_SECONDS, 4))
        rows.append(Row(f"CPU at 1 s ({name}), others fork {1000 // STRANGER_MS}/s", "%",
                        tracker.settled_percent, floor.settled_percent))
    return rows
