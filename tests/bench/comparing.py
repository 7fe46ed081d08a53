# SPDX-License-Identifier: Apache-2.0
"""comparing.py - compares a job that runs untracked with the same job under each tracker.

The CPU time of a tracker comes from its own CPU clock, read from outside after it has exited but
before it has been waited for. So it includes the tracker's exit, and nothing of the job. The CPU
time of the job is measured inside it by programs/measured.c, tracked or not.
"""
import argparse
import dataclasses
import functools
import json
import math
import os
import pathlib
import re
import shlex
import statistics
import time

import machine
from rows import Row, spread_of

MARKS = 2
LOSSES = {"cpu_lost_percent": "job_cpu", "wall_lost_percent": "job_wall"}
NOISE_LIMIT_PERCENT = 2.0  # larger noise would hide the cost of a tracker
LEAST_ROUNDS = 3  # fewer rounds do not show the noise, so there is no verdict
WORTH_SAYING_SECONDS = 0.005


@dataclasses.dataclass(frozen=True)
class Tracker:
    """One spoor program with options and variables: NAME="SPOOR [OPTION...]
    [VARIABLE=VALUE...]"."""
    name: str
    spoor: str
    options: tuple = ()
    variables: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def parse(cls, text):
        name, _, words = text.partition("=")
        spoor, *others = shlex.split(words) or [""]
        if not name or not os.access(spoor, os.X_OK):
            raise argparse.ArgumentTypeError(f"invalid tracker '{text}': expected NAME=SPOOR, where "
                                             "SPOOR is an executable file")
        is_variable = re.compile("[A-Z_][A-Z0-9_]*=").match
        return cls(name, str(pathlib.Path(spoor).resolve()),
                   tuple(word for word in others if not is_variable(word)),
                   dict(word.split("=", 1) for word in others if is_variable(word)))

    def command(self, report, interval):
        return [self.spoor, "run", "-o", str(report), *(["-i", interval] if interval else []),
                *self.options, "--"]


@dataclasses.dataclass
class Run:
    """One run; times are in seconds. The tracker's figures are 0 if the run was untracked."""
    job_cpu: float
    job_wall: float
    whole_wall: float  # including the start and the exit of the tracker
    tracker_cpu: float = 0.0
    settled_cpu: float = 0.0  # CPU time of the tracker between the marks of the job
    settled_wall: float = 0.0
    other_cpu: float = 0.0  # helpers of the tracker, orphans of the job, the exit of `measured`
    said: dict = dataclasses.field(default_factory=dict)  # `tracker` of the report

    @property
    def core_percent(self):
        return self.tracker_cpu / self.whole_wall * 100

    @property
    def job_percent(self):
        return self.tracker_cpu / self.job_cpu * 100 if self.job_cpu else 0.0

    @property
    def settled_percent(self):
        return self.settled_cpu / self.settled_wall * 100 if self.settled_wall else 0.0


def spawn(command, variables, stderr, stdout_fd):
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, str(stderr), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
               (os.POSIX_SPAWN_DUP2, stdout_fd, 1)]
    return os.posix_spawnp(command[0], command, {**os.environ, **variables}, file_actions=actions)


def read_marks(pid, fd):
    """Reads the time, and the CPU time of a process, at each byte that the job writes."""
    marks = []
    while len(marks) < MARKS and os.read(fd, 1):
        marks.append((time.monotonic(), machine.cpu_seconds(pid)))
    return marks


def watch(command, variables, stderr, has_marks):
    """Runs a command until it exits. Returns its wall time, the CPU time of the process and of
    the children it waited for, and its marks."""
    ours, theirs = os.pipe() if has_marks else (-1, os.open("/dev/null", os.O_WRONLY))
    started = time.monotonic()
    pid = spawn(command, variables, stderr, theirs)
    os.close(theirs)
    marks = []
    if has_marks:
        marks = read_marks(pid, ours)
        os.close(ours)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    wall, cpu = time.monotonic() - started, machine.cpu_seconds(pid)
    _, status, usage = os.wait4(pid, 0)
    if status != 0 or len(marks) != MARKS * has_marks:
        raise OSError(f"{shlex.join(command)}: status {os.waitstatus_to_exitcode(status)}: "
                      f"{pathlib.Path(stderr).read_text(errors='replace').strip()[-500:]}")
    return wall, cpu, usage.ru_utime + usage.ru_stime - cpu, marks


def run_once(job, place, tracker=None):
    """Runs a job once, under a tracker or untracked."""
    report, figures, stderr = (place.folder / name for name in ("report.json", "figures", "stderr"))
    job.prepare(place)
    command = place.program("measured", figures, *job.command(place))
    if tracker:
        command = tracker.command(report, job.interval) + command
    wall, cpu, waited_cpu, marks = watch(command, tracker.variables if tracker else {}, stderr,
                                         job.has_marks)
    job_wall, children_cpu, own_cpu = map(float, figures.read_text().split())
    run = Run(children_cpu + own_cpu, job_wall, wall)
    if tracker:
        run.tracker_cpu, run.other_cpu = cpu, waited_cpu - run.job_cpu
        run.said = json.loads(report.read_text())["tracker"]
        if marks:
            run.settled_wall, run.settled_cpu = (b - a for a, b in zip(*marks))
    return run


class LossRow(Row):
    """The percentage that a job loses. If the runs differ too much, the verdict is unclear
    instead of ok."""

    @property
    def verdict(self):
        is_too_noisy = 2 * self.spread > NOISE_LIMIT_PERCENT
        return "unclear" if super().verdict == "ok" and is_too_noisy else super().verdict


class Comparison:
    """Compares runs of a job under one tracker with untracked runs; both kinds take turns."""

    def __init__(self, job, scale, tracker, plain, tracked):
        self.job, self.tracker, self.plain, self.tracked = job, tracker, plain, tracked
        self.scale = scale
        self.times = job.per[1] * scale if job.per else 1

    def values(self, name):
        return [getattr(run, name) for run in self.tracked]

    def figure(self, values):
        return statistics.median(values), spread_of(values)

    @functools.cached_property
    def figures(self):
        """Returns the value and the standard error of each figure that a goal may name."""
        found = {"tracker_seconds": self.figure(self.values("tracker_cpu")),
                 **{name: self.figure(self.values(name))
                    for name in ("core_percent", "job_percent", "settled_percent")}}
        if self.job.is_fixed_work:
            found |= {figure: self.figure(self.lost(name)) for figure, name in LOSSES.items()}
            # Compare the best runs: other load makes a run longer, never shorter.
            best = min(self.values("job_cpu")) - min(run.job_cpu for run in self.plain)
            spread = spread_of([b.job_cpu - a.job_cpu for a, b in zip(self.plain, self.tracked)])
            found["lost_us"] = best / self.times * 1e6, spread / self.times * 1e6
        return found

    def lost(self, name):
        """Returns the percentage lost in each round. The runs of a round follow each other, so
        drift cancels out."""
        return [(getattr(b, name) / getattr(a, name) - 1) * 100
                for a, b in zip(self.plain, self.tracked)]

    def best_lost(self, name):
        return (min(self.values(name)) / min(getattr(run, name) for run in self.plain) - 1) * 100

    def noise_percent(self, name):
        """Returns the standard deviation of the untracked runs, robust to outliers."""
        values = [getattr(run, name) for run in self.plain]
        deviation = spread_of(values) * math.sqrt(len(values)) / 1.253
        return deviation / statistics.median(values) * 100

    def judge(self, goal):
        """Returns a row for rows.py with the verdict on this goal."""
        value, spread = self.figures[goal.figure]
        if goal.figure not in LOSSES:
            return Row(goal.text, goal.unit, value, limit=goal.limit, spread=spread)
        name = LOSSES[goal.figure]
        noise = self.noise_percent(name)
        limit = min(noise, NOISE_LIMIT_PERCENT) if goal.limit is None else goal.limit
        return LossRow(goal.text, goal.unit, value, limit=limit, spread=spread,
                       more={"best": self.best_lost(name), "noise": noise})

    def goals(self):
        """Returns a row for each goal; none if there are too few runs for a verdict."""
        can_tell = self.scale == 1 and len(self.tracked) >= LEAST_ROUNDS
        return [self.judge(goal) for goal in self.job.goals] if can_tell else []

    def as_json(self):
        return {"tracker": dataclasses.asdict(self.tracker), "figures": self.figures,
                "goals": [row.as_json() for row in self.goals()],
                "runs": [dataclasses.asdict(run) for run in self.tracked]}

    def notes(self):
        """Lists the CPU time that the tracker itself reports, and CPU time that belongs to
        neither the tracker nor the job."""
        said = self.tracked[-1].said
        lines = [f"reported: {json.dumps({key: value})[1:-1]}" for key, value in said.items()
                 if isinstance(value, (dict, list))]
        other = statistics.median(self.values("other_cpu"))
        if other > WORTH_SAYING_SECONDS and not self.job.has_marks:  # jobs with marks leave orphans
            lines.append(f"{other:.3f} s of CPU of orphans of the job or helpers of the tracker")
        return lines
