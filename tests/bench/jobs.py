#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""jobs.py - measures the cost of tracking real jobs: the tracker's CPU time, and the job's loss.

Each job runs untracked and under each NAME=SPOOR, in turns. The words after the path are options
and variables, so that variants can be compared:

    jobs.py before=old/spoor after=build/spoor 'bare=build/spoor --cgroup=off SPOOR_DISABLE=perf'

  tracker     CPU time of the tracker, measured from outside: median, and the least of all runs
  of a core   the same per wall time
  of the job  the same per CPU time of the job
  reported    tracker.cpu_seconds in the tracker's own report
  job's CPU, wall time   untracked: best and median. Tracked: increase of the best, and the median
                         increase over the rounds, ± its standard error
  ends        wall time that the start and the end of the tracker add (median)
  verdict     ok; unclear: above the goal by less than chance explains, or the runs differ too much;
              OVER. None with fewer than three rounds, or with --quick

Exits with status 0 even if a goal is missed. All figures are in the JSON file, which is
rewritten after each job. Needs only Python and, unless --programs is given, a C compiler.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import tempfile
import time

import comparing
import machine
from joblist import JOBS, Place

LEAST_CPU_SECONDS = 0.1  # if a job uses less CPU time, a percentage of it is meaningless
COLUMNS = "{:<14} {:>17} {:>9} {:>10} {:>8}  {:>24}  {:>24}  {:>8}"
HEADER = COLUMNS.format("", "tracker", "of a core", "of the job", "reported", "job's CPU", "wall time",
                        "ends")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="one round of a tenth of the work: to see that it works")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="jobs whose name matches, such as 'true|CUDA|PyTorch'")
    parser.add_argument("--rounds", type=int, metavar="N", help="runs of each (default: by job)")
    parser.add_argument("--budget-seconds", type=float, metavar="S", default=float("inf"),
                        help="do fewer rounds, and skip jobs, to finish in about this time")
    parser.add_argument("--programs", type=pathlib.Path, metavar="DIR",
                        help="compiled programs/*.c (default: compile them with cc)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="the figures (default: bench-jobs.json beside the last SPOOR)")
    parser.add_argument("trackers", nargs="+", type=comparing.Tracker.parse, metavar="NAME=SPOOR")
    options = parser.parse_args()
    options.jobs = [job for job in JOBS if re.search(options.only, job.name)]
    if not options.jobs:
        parser.error(f"--only '{options.only}' matches none of: "
                     f"{', '.join(job.name for job in JOBS)}")
    return options


class Budget:
    """Divides the remaining time among the remaining jobs: a job that needs less than an equal
    share gets all it needs, and leaves the rest to the others."""

    def __init__(self, seconds, jobs, variants, rounds):
        self.end = time.monotonic() + seconds
        self.wanted = {job.name: job.seconds * variants * (rounds or job.rounds) for job in jobs}

    def take(self, job):
        """Returns the number of seconds that the next job may take."""
        left, waiting = self.end - time.monotonic(), sorted(self.wanted.values())
        del self.wanted[job.name]
        while waiting and waiting[0] <= left / len(waiting):
            left -= waiting.pop(0)
        return left / len(waiting) if waiting else float("inf")


def measure(job, place, trackers, rounds, seconds):
    """Runs each variant (None: untracked) in turns. Each round starts with another variant. Does
    at least one round, then as many as the time allows."""
    variants = [None, *trackers]
    runs = [[] for _ in variants]
    started = time.monotonic()
    for i in range(rounds):
        for j in range(len(variants)):
            k = (i + j) % len(variants)
            runs[k].append(comparing.run_once(job, place, variants[k]))
        if (time.monotonic() - started) * (i + 2) / (i + 1) > seconds:
            break
    return runs


def number(value, spread):
    return f"{value:.3g}" + (f" ±{spread:.2g}" if spread else "")


def outcome(goal):
    """Formats the result of a goal, which is given as JSON."""
    more = "".join(f", {name} {value:.2g}" for name, value in goal["more"].items())
    return f"{number(goal['value'], goal['spread'])} {goal['unit']}{more}"


def loss(comparison, name):
    if not comparison.job.is_fixed_work:
        return ""
    value, spread = comparison.figures[f"{name}_lost_percent"]
    noise = f" ±{spread:.1f}" if spread else ""
    return f"{comparison.best_lost(f'job_{name}'):+.1f} {value:+.1f}{noise} %"


def tracked_line(comparison):
    figures, values = comparison.figures, comparison.values
    said = statistics.median(said["cpu_seconds"] for said in values("said"))
    ends = statistics.median(run.whole_wall - run.job_wall for run in comparison.tracked)
    is_computing = min(values("job_cpu")) > LEAST_CPU_SECONDS
    return COLUMNS.format(
        comparison.tracker.name,
        f"{figures['tracker_seconds'][0]:.4f} {min(values('tracker_cpu')):.4f} s",
        f"{figures['core_percent'][0]:.2f} %", f"{figures['job_percent'][0]:.2f} %" * is_computing,
        f"{said:.4f}", loss(comparison, "cpu"), loss(comparison, "wall"), f"{ends * 1e3:.1f} ms")


def plain_line(runs):
    times = []
    for name in ("job_cpu", "job_wall"):
        values = [getattr(run, name) for run in runs]
        times.append(f"{min(values):.3f} {statistics.median(values):.3f} s")
    return COLUMNS.format("untracked", "", "", "", "", *times, "")


def detail_lines(comparison):
    """Returns the notes below the line of a tracker."""
    job, figures = comparison.job, comparison.figures
    lines = []
    if job.per and "lost_us" in figures:
        value, spread = figures["lost_us"]
        lines.append(f"job loses {number(value, spread)} us per {job.per[0]} (best runs)")
    if job.has_marks:
        lines.append(f"{figures['settled_percent'][0]:.3f} % of a core once all sleep")
    lines += [f"{row.verdict:<8} {row.name}: {outcome(row.as_json())}" for row in comparison.goals()]
    return [f"    {line}" for line in lines + comparison.notes()]


def describe(job, runs, comparisons, others):
    rounds = len(runs[0])
    noise = f", others used {others:.1f} cores" if others > 0.1 else ""
    lines = [f"{job.name} ({rounds} round{'s' * (rounds > 1)}{noise})", plain_line(runs[0])]
    for comparison in comparisons:
        lines += [tracked_line(comparison), *detail_lines(comparison)]
    return "\n".join([*lines, ""])


def summary(names, jobs):
    """Returns a Markdown table of the goals of the jobs, which are given as JSON."""
    rows = [["job", "goal", *names], ["---"] * (2 + len(names))]
    for job in jobs:
        for goals in zip(*(tracked["goals"] for tracked in job.get("tracked", []))):
            rows.append([job["job"].replace("|", "\\|"), goals[0]["name"],
                         *(f"{goal['verdict']}: {outcome(goal)}" for goal in goals)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


class OtherLoad:
    """Measures how many cores are used by processes that this program did not start."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        ours = os.times()
        return machine.busy_seconds() - sum(ours[:4]), time.monotonic()

    def cores(self):
        cpu, wall = (b - a for a, b in zip(self.start, self.now()))
        return max(0.0, cpu / wall)


def run_job(job, place, options, seconds):
    """Measures a job, prints the result, and returns it as JSON."""
    rounds = options.rounds or (1 if options.quick else job.rounds)
    load = OtherLoad()
    try:
        runs = measure(job, place, options.trackers, rounds, seconds)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"{job.name}\n    FAILED: {error}\n", flush=True)
        return {"job": job.name, "failed": str(error)}
    others, rounds = load.cores(), len(runs[0])
    comparisons = [comparing.Comparison(job, place.scale, tracker, runs[0], tracked)
                   for tracker, tracked in zip(options.trackers, runs[1:])]
    print(describe(job, runs, comparisons, others), flush=True)
    return {"job": job.name, "rounds": rounds, "other_cores": others,
            "untracked": [vars(run) for run in runs[0]],
            "tracked": [comparison.as_json() for comparison in comparisons]}


def run_jobs(jobs, place, options):
    """Yields the result of each job as JSON."""
    reasons = {job.name: job.missing() for job in jobs}
    budget = Budget(options.budget_seconds, [job for job in jobs if not reasons[job.name]],
                    1 + len(options.trackers), options.rounds)
    for job in jobs:
        reason = reasons[job.name]
        seconds = 0 if reason else budget.take(job)
        # A round may take twice as long as planned, so skip a job that might be cut off.
        if not reason and job.seconds * (1 + len(options.trackers)) > 2 * seconds:
            reason = "too little time"
        if reason:
            print(f"{job.name}\n    skipped: {reason}\n", flush=True)
            yield {"job": job.name, "skipped": reason}
        else:
            yield run_job(job, place, options, seconds)


def main():
    options = arguments()
    # Remove variables such as SPOOR_INTERVAL and SPOOR_DISABLE, which would change what is
    # measured.
    for name in [name for name in os.environ if name.startswith("SPOOR_")]:
        del os.environ[name]
    path = options.json or pathlib.Path(options.trackers[-1].spoor).parent / "bench-jobs.json"
    gpus = len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
    result = {"kernel": platform.release(), "cpus": os.cpu_count(), "gpus": gpus,
              "is_quick": options.quick, "jobs": []}
    print(f"{result['cpus']} CPUs, {gpus or 'no'} NVIDIA GPU{'s' * (gpus != 1)}, "
          f"Linux {result['kernel']}\n\n{HEADER}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spoor-bench-") as folder:
        place = Place(options.programs, pathlib.Path(folder), 0.1 if options.quick else 1.0)
        for done in run_jobs(options.jobs, place, options):
            result["jobs"].append(done)
            path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(summary([tracker.name for tracker in options.trackers], result["jobs"]))
    print(f"\nas JSON: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
