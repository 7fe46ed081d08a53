#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""jobs.py - what tracking real jobs costs: the tracker's CPU time, and what the job loses.

Each job runs untracked and under each NAME=SPOOR, in turns. Words after the path are options and
variables, so that parts can be told apart:

    jobs.py before=old/spoor after=build/spoor 'bare=build/spoor --cgroup=off SPOOR_DISABLE=perf'

    tracker     CPU time of the tracker, seen from outside: median, and least of the runs
    of a core   the same per wall time
    of the job  the same per CPU time of the job
    it says     tracker.cpu_seconds of its own report
    job's CPU, wall time   untracked: best and median. Tracked: what is added to the best, and in the
                median of the rounds, ± its standard error
    ends        wall time that the start and the end of the tracker add (median)
    verdict     after three rounds or more. ok; unclear: above the goal by less than chance explains; OVER

Exits with 0 also if a goal is missed. All figures are in the JSON file, which is rewritten after
each job. Needs only Python and, unless --programs has them, a C compiler.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import comparing
import machine
from joblist import JOBS, Place

LEAST_ROUNDS = 3  # for a verdict: with fewer nothing is known of the noise
COLUMNS = "{:<14} {:>17} {:>9} {:>10} {:>8}  {:>24}  {:>24}  {:>8}"
HEADER = COLUMNS.format("", "tracker", "of a core", "of the job", "it says", "job's CPU", "wall time",
                        "ends")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="one round of a tenth of the work: to see that it works")
    parser.add_argument("--only", default="", metavar="TEXT", help="jobs whose name contains TEXT")
    parser.add_argument("--rounds", type=int, metavar="N", help="runs of each (default: by job)")
    parser.add_argument("--budget-seconds", type=float, metavar="S", default=float("inf"),
                        help="do fewer rounds, and skip jobs, to finish in about this time")
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR",
                        help="compiled programs (default: tests/bench beside the first SPOOR)")
    parser.add_argument("--json", type=pathlib.Path, default="bench-jobs.json", metavar="FILE")
    parser.add_argument("trackers", nargs="+", type=comparing.Tracker.parse, metavar="NAME=SPOOR")
    return parser.parse_args()


class Budget:
    """Divides the time that is left among the jobs that are left, by what they would take."""

    def __init__(self, seconds, jobs, variants, rounds):
        self.end = time.monotonic() + seconds
        self.variants, self.rounds = variants, rounds
        self.jobs = list(jobs)

    def cost(self, job):
        return job.seconds * self.variants

    def rounds_of(self, job):
        """How many rounds a job gets; 0 if not even one fits."""
        left = self.end - time.monotonic()
        wanted = self.rounds or job.rounds
        whole = sum(self.cost(other) * (self.rounds or other.rounds)
                    for other in self.jobs[self.jobs.index(job):])
        if self.cost(job) > left:
            return 0
        return max(1, int(wanted * min(1.0, left / whole)))


def measure(job, place, trackers, rounds):
    """The runs of each variant, None being no tracker. Each round begins with another one."""
    variants = [None, *trackers]
    runs = [[] for _ in variants]
    for i in range(rounds):
        for j in range(len(variants)):
            k = (i + j) % len(variants)
            runs[k].append(comparing.run_once(job, place, variants[k]))
    return runs


def loss(comparison, name):
    value, spread = comparison.figures[f"{name}_lost_percent"]
    return f"{comparison.best_lost(f'job_{name}'):+.1f} % {value:+.1f} ±{spread:.1f} %"


def tracked_line(comparison):
    figures, values = comparison.figures, comparison.values
    said = statistics.median(said["cpu_seconds"] for said in values("said"))
    ends = statistics.median(run.whole_wall - run.job_wall for run in comparison.tracked)
    losses = [loss(comparison, name) if comparison.job.is_fixed_work else ""
              for name in ("cpu", "wall")]
    return COLUMNS.format(
        comparison.tracker.name,
        f"{figures['tracker_seconds'][0]:.4f} {min(values('tracker_cpu')):.4f} s",
        f"{figures['core_percent'][0]:.2f} %", f"{figures['job_percent'][0]:.2f} %",
        f"{said:.4f}", *losses, f"{ends * 1e3:.1f} ms")


def plain_line(runs):
    times = []
    for name in ("job_cpu", "job_wall"):
        values = [getattr(run, name) for run in runs]
        times.append(f"{min(values):.3f} {statistics.median(values):.3f} s")
    return COLUMNS.format("untracked", "", "", "", "", *times, "")


def detail_lines(comparison, is_judged):
    """What is worth saying below the line of a tracker."""
    job, figures = comparison.job, comparison.figures
    lines = []
    if job.per and "lost_us" in figures:
        value, spread = figures["lost_us"]
        lines.append(f"job loses {value:.3f} ±{spread:.3f} us per {job.per[0]} (best runs)")
    if job.has_marks:
        lines.append(f"{figures['settled_percent'][0]:.3f} % of a core once all sleep")
    for row in [comparison.judge(goal) for goal in job.goals] if is_judged else []:
        lines.append(f"{row.verdict:<8} {row.name}: {row.value:.3g} ±{row.spread:.2g} {row.unit}")
    return [f"    {line}" for line in lines + comparison.notes()]


def describe(job, runs, comparisons, others, is_judged):
    rounds = len(runs[0])
    noise = f", others used {others:.1f} cores" if others > 0.1 else ""
    lines = [f"{job.name} ({rounds} round{'s' * (rounds > 1)}{noise})", plain_line(runs[0])]
    for comparison in comparisons:
        lines += [tracked_line(comparison), *detail_lines(comparison, is_judged)]
    return "\n".join([*lines, ""])


class OtherLoad:
    """Cores that processes not started by us use."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        ours = os.times()
        return machine.busy_seconds() - sum(ours[:4]), time.monotonic()

    def cores(self):
        cpu, wall = (b - a for a, b in zip(self.start, self.now()))
        return max(0.0, cpu / wall)


def run_job(job, place, options, rounds):
    """Measures a job, prints it, and returns it as JSON."""
    reason = job.missing() or ("" if rounds else "no time left")
    if reason:
        print(f"{job.name}\n    skipped: {reason}\n", flush=True)
        return {"job": job.name, "skipped": reason}
    job.prepare(place)
    job.command(place)  # makes its data
    load = OtherLoad()
    try:
        runs = measure(job, place, options.trackers, rounds)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"{job.name}\n    FAILED: {error}\n", flush=True)
        return {"job": job.name, "failed": str(error)}
    others = load.cores()
    comparisons = [comparing.Comparison(job, place.scale, tracker, runs[0], tracked)
                   for tracker, tracked in zip(options.trackers, runs[1:])]
    print(describe(job, runs, comparisons, others,
                   not options.quick and rounds >= LEAST_ROUNDS), flush=True)
    return {"job": job.name, "rounds": rounds, "other_cores": others,
            "untracked": [vars(run) for run in runs[0]],
            "tracked": [comparison.as_json() for comparison in comparisons]}


def main():
    options = arguments()
    # A leftover SPOOR_INTERVAL or SPOOR_DISABLE would change what is measured.
    for name in [name for name in os.environ if name.startswith("SPOOR_")]:
        del os.environ[name]
    programs = options.programs or pathlib.Path(options.trackers[0].spoor).parent / "tests/bench"
    jobs = [job for job in JOBS if options.only in job.name]
    budget = Budget(options.budget_seconds, jobs, 1 + len(options.trackers),
                    options.rounds or (1 if options.quick else None))
    gpus = len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
    result = {"kernel": platform.release(), "cpus": os.cpu_count(), "gpus": gpus,
              "is_quick": options.quick, "jobs": []}
    print(f"{result['cpus']} CPUs, {gpus or 'no'} NVIDIA GPU{'s' * (gpus != 1)}, "
          f"Linux {result['kernel']}\n\n{HEADER}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spoor-bench-") as folder:
        place = Place(programs, pathlib.Path(folder), 0.1 if options.quick else 1.0)
        for job in jobs:
            result["jobs"].append(run_job(job, place, options, budget.rounds_of(job)))
            options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"as JSON: {options.json}")


if __name__ == "__main__":
    sys.exit(main())
