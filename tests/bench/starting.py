# SPDX-License-Identifier: Apache-2.0
"""starting.py - measures the cost of a run that does nothing: wall time, and instructions."""
import os
import re
import statistics
import subprocess
import time

import machine
from rows import Row, spread_of

LIMIT_MS = 5.0
FEW_SAMPLES, MANY_SAMPLES = 64, 384  # multiples of 16: every 16th sample searches all processes


def wall_ms(command):
    """Returns the time from the start of a command until it has been waited for."""
    started = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status = os.waitpid(pid, 0)
    milliseconds = (time.perf_counter() - started) * 1e3
    assert status == 0, f"{command}: {status}"
    return milliseconds


def take_turns(commands, runs):
    """Returns the times of each command, after a first run of each to warm up."""
    times = [[] for _ in commands]
    for turn in range(runs + 1):
        for command, kept in zip(commands, times):
            milliseconds = wall_ms(command)
            if turn > 0:
                kept.append(milliseconds)
    return times


def wall_time(bench):
    """Measures the wall time that `spoor run -q` adds to a command that does nothing."""
    with machine.scratch() as folder:
        wrappers = {
            "": [bench.spoor, "run", "-q", "--", "true"],
            ", with a JSON report": [bench.spoor, "run", "-q", "-o", str(folder / "report.json"),
                                     "--", "true"],
        }
        plain, least, *wrapped = take_turns(
            [["true"], bench.program("floor_wrap", "true"), *wrappers.values()],
            bench.much(50, 10))
    base = statistics.median(plain)
    return [Row(f"wall time added to `true`{what}", "ms", statistics.median(times) - base,
                statistics.median(least) - base, LIMIT_MS, "", spread_of(times),
                {"plain": base, "worst": max(times) - base})
            for what, times in zip(wrappers, wrapped)]


def instructions(command):
    """Returns the number of user-space instructions of a command, without its children."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--child-silent-after-fork=yes", *command], check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def instructions_of_start(bench):
    return [Row("instructions of `spoor run -q -- true`", "",
                instructions([bench.spoor, "run", "-q", "--", "true"]),
                instructions(bench.program("floor_wrap", "true")))]


def instructions_of_sample(bench):
    """Measures the instructions of a sample. Subtracts a run with few samples from one with
    many, so that the start cancels out."""
    def per_sample(make_command):
        few, many = (instructions(make_command(samples))
                     for samples in (FEW_SAMPLES, MANY_SAMPLES))
        return (many - few) / (MANY_SAMPLES - FEW_SAMPLES)

    ours = per_sample(lambda samples: bench.program("sample_memory", bench.programs / "crowd",
                                                    199, samples))
    with machine.crowd(bench, 199) as job:
        floor = per_sample(lambda samples: bench.program("floor_watch", job.pid, 0, samples))
    return [Row("instructions of a sample, 200 processes", "", ours, floor)]
