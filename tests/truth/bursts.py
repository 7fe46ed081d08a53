#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bursts.py [--runs N] [--binary PATH] [--processes LIST] [--ms LIST] ... - measures how often spoor sees a burst.

Several processes allocate memory at the same time, keep it briefly and free it
(programs/burst.c). For each number of processes, duration, kind of work before the burst, and
set of sources, prints in how many of N runs the reported combined peak is within 5 % of the
truth, in how many the truth is within the bounds, and how far off the worst run is. Runs one job
at a time and never repeats a run. Exits with status 1 if in any run the truth is not within the
bounds.
"""
import argparse
import dataclasses
import itertools
import json
import os
import pathlib
import sys
import tempfile
import time

import cases
import rules
import truth

NEAR = 0.05
FIGURE = "peak_rss_bytes"
STARTING_SECONDS = 0.5  # time for the start of a run, in addition to the job's work
COLUMNS = "{:>9} {:>5} {:>6} {:<6} {:<18} {:>9} {:>10} {:>9}  {}"
SOURCES = {"cgroup": "", "no cgroup": "cgroup", "no events": cases.EVENTS}


@dataclasses.dataclass
class Tally:
    """The results of the runs of one kind of burst."""
    processes: int
    milliseconds: int
    megabytes: int  # combined peak of all processes
    before: str
    sources: str
    user: str
    runs: int = 0
    near: int = 0     # within 5 %
    held: int = 0     # the truth is within the bounds
    bounded: int = 0  # there is an upper bound
    worst: float = 0.0
    faults: list = dataclasses.field(default_factory=list)

    def add(self, outcome):
        self.runs += 1
        row = next((row for row in outcome.rows if row.figure == FIGURE), None)
        if row is None or row.value is None:
            self.faults += outcome.faults or [outcome.skip or "no peak"]
            return
        slack = max(rules.BATCH_TOLERANCE * row.true, rules.MEMORY_FLOOR)
        low = row.value if row.exact or row.low is None else row.low
        high = row.value if row.exact else row.high
        self.near += abs(row.error) <= NEAR
        self.bounded += high is not None
        self.held += low - slack <= row.true and (high is None or row.true <= high + slack)
        if abs(row.error) > abs(self.worst):
            self.worst = row.error

    def line(self):
        return COLUMNS.format(self.processes, self.milliseconds, self.megabytes, self.before,
                              f"{self.sources}, {self.user}", f"{self.near}/{self.runs}",
                              f"{self.held}/{self.runs}", f"{self.worst:+.1%}",
                              "; ".join(self.faults)[:200])


def numbers(text):
    return [int(word) for word in text.split(",")]


def words(text):
    return text.split(",")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="of each kind (default: 10)")
    parser.add_argument("--binary", default=truth.HERE.parent.parent / "build/spoor")
    parser.add_argument("--processes", type=numbers, default=[2, 4])
    parser.add_argument("--ms", type=numbers, default=[30, 60, 100, 300],
                        help="from the first growth to the release")
    parser.add_argument("--megabytes", type=int, help="of all processes (default: by duration)")
    parser.add_argument("--before", type=words, default=["rest", "busy"], help="rest, busy, short")
    parser.add_argument("--before-ms", type=int, default=1000,
                        help="for how long; the tracker's longest gap at rest is below 1000, the default")
    parser.add_argument("--life", default="waiting", help="waiting, new or unwaited: see burst.c")
    parser.add_argument("--sources", type=words, default=["cgroup", "no cgroup"],
                        help=", ".join(SOURCES))
    parser.add_argument("--users", type=words, help="root, user (default: both, if root)")
    parser.add_argument("--json", help="write the results to this file")
    return parser.parse_args()


def size_of(arguments, milliseconds):
    nearest = min(cases.BURST_MB, key=lambda known: abs(known - milliseconds))
    return arguments.megabytes or cases.BURST_MB[nearest]


def plan(arguments):
    """Returns a tally for each kind of burst. An ordinary user cannot disable cgroups, which are
    not available anyway."""
    users = arguments.users or (["root", "user"] if os.geteuid() == 0 else ["user"])
    return [Tally(processes, milliseconds, size_of(arguments, milliseconds), before, sources, user)
            for user, sources, before, milliseconds, processes in itertools.product(
                users, arguments.sources, arguments.before, arguments.ms, arguments.processes)]


def run_one(runner, tally, arguments):
    size = tally.megabytes // tally.processes
    case = cases.Case("burst", f"burst {tally.processes} {size} {tally.milliseconds} {tally.before} "
                      f"{arguments.life} {arguments.before_ms}")
    tally.add(runner.run(case, cases.Setup(tally.sources, SOURCES[tally.sources], tally.user)))


def main():
    arguments = parse()
    tallies = plan(arguments)
    seconds = sum(arguments.before_ms / 1000 + tally.milliseconds / 1000 + STARTING_SECONDS
                  for tally in tallies) * arguments.runs
    print(f"{len(tallies)} kinds of burst, {arguments.runs} runs each: about {seconds / 60:.0f} min",
          flush=True)
    print(COLUMNS.format("processes", "ms", "MB", "before", "sources", "near 5 %", "in bounds",
                         "worst", ""), flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="spoor-bursts-") as name:
        runner = truth.Runner(pathlib.Path(name), arguments.binary, checks=())
        for tally in tallies:
            for _ in range(arguments.runs):
                run_one(runner, tally, arguments)
            print(tally.line(), flush=True)
    near, held, runs = (sum(getattr(tally, name) for tally in tallies)
                        for name in ("near", "held", "runs"))
    print(f"{near} of {runs} within 5 %, the truth within the bounds in {held} of {runs}, "
          f"{time.monotonic() - started:.0f} s")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(
            json.dumps([dataclasses.asdict(tally) for tally in tallies], indent=1) + "\n")
    return 0 if held == runs else 1


if __name__ == "__main__":
    sys.exit(main())
