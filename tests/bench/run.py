# SPDX-License-Identifier: Apache-2.0
"""run.py [SPOOR] - what tracking costs: a table, and the same as JSON in build/bench.json.

A row is a function of BENCHMARKS that returns a dict of numbers; `limit` is what must hold, and
the status says whether it does. Runs with and without spoor take turns, so that a machine that
slows down slows both.
"""
import json
import os
import pathlib
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def wall_seconds(command):
    """The time from starting a command to having waited for it."""
    started = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status = os.waitpid(pid, 0)
    seconds = time.perf_counter() - started
    assert status == 0, f"{command}: {status}"
    return seconds


def take_turns(plain, wrapped, runs):
    """Medians of the two, in milliseconds, after a run of each to warm up."""
    times = ([], [])
    for turn in range(runs + 1):
        for command, kept in zip((plain, wrapped), times):
            seconds = wall_seconds(command)
            if turn > 0:
                kept.append(seconds * 1e3)
    return [statistics.median(kept) for kept in times], times


def start(spoor):
    """Wall time that `spoor run -q` adds to a command that does nothing."""
    (plain, wrapped), times = take_turns(["true"], [spoor, "run", "-q", "--", "true"], 50)
    return {"name": "wall time added to `true`", "unit": "ms", "plain": plain,
            "wrapped": wrapped, "added": wrapped - plain, "limit": 5.0,
            "worst": max(times[1]) - plain}


def start_with_report(spoor):
    """The same with a JSON result, which every run of a pipeline would write."""
    path = TOP / "build/bench-result.json"
    command = [spoor, "run", "-q", "-o", str(path), "--", "true"]
    (plain, wrapped), times = take_turns(["true"], command, 50)
    path.unlink()
    return {"name": "wall time added, with JSON", "unit": "ms", "plain": plain,
            "wrapped": wrapped, "added": wrapped - plain, "limit": None,
            "worst": max(times[1]) - plain}


# The place for more: cost per tick, slowdown of a busy job, memory of the tracker.
BENCHMARKS = [start, start_with_report]


def main():
    spoor = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else TOP / "build/spoor")
    rows = [benchmark(spoor) for benchmark in BENCHMARKS]
    print(f"{'':<30} {'plain':>9} {'with':>9} {'added':>9} {'worst':>9} {'limit':>9}")
    for row in rows:
        cells = [row[key] for key in ("plain", "wrapped", "added", "worst", "limit")]
        print(f"{row['name']:<30} "
              + " ".join(f"{cell:6.2f} {row['unit']}" if cell is not None else f"{'':>9}"
                         for cell in cells))
    path = TOP / "build/bench.json"
    path.write_text(json.dumps({"benchmarks": rows}, indent=2) + "\n", encoding="utf-8")
    print(f"\nas JSON: {path.relative_to(TOP)}")
    over = [row["name"] for row in rows if row["limit"] is not None and row["added"] > row["limit"]]
    if over:
        sys.exit(f"over the limit: {', '.join(over)}")


if __name__ == "__main__":
    main()
