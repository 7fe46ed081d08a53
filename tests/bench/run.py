#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [--quick] [--only TEXT] [SPOOR] - measures the cost of tracking; prints a table and
writes build/bench.json.

Each figure has a floor, the cost of the same work in a minimal C program (programs/floor_*.c),
and a limit. Spoor and the floor take turns, so that a machine that slows down affects both;
values are medians. The status is 0 even if a limit is exceeded, because this means little on a
busy machine; the table has a note about other load.

  verdict    ok; unclear: above the limit by less than chance explains; OVER
  floor      the minimum cost of any tracker; empty if it does not apply
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import gpus
import history
import machine
import ranks
import rows
import sampling
import slowing
import starting
import tracking

QUIET_CORES = 0.15  # above this, a warning about other processes is printed

BENCHMARKS = {
    "start": starting.wall_time,
    "cost": sampling.cost,
    "foreign": sampling.foreign,
    "tracking": tracking.tracking,
    "strangers": tracking.strangers,
    "ranks": ranks.ranks,
    "gpus": gpus.gpus,
    "history": history.history,
    "slowing": slowing.slowing,
    "memory": sampling.memory,
    "instructions-start": starting.instructions_of_start,
    "instructions-sample": starting.instructions_of_sample,
}


def arguments():
    parser = argparse.ArgumentParser(description="what tracking costs")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help=f"benchmarks whose name holds TEXT: {', '.join(BENCHMARKS)}")
    parser.add_argument("spoor", nargs="?", default="build/spoor")
    return parser.parse_args()


def measure(bench, names):
    """Returns the rows of all benchmarks, and the benchmarks that failed."""
    measured, failures = [], []
    for name in names:
        print(f"{name} ...", end="", file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            measured += BENCHMARKS[name](bench)
        except (subprocess.SubprocessError, OSError, AssertionError, ValueError) as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
        print(f" {time.monotonic() - started:.0f} s", file=sys.stderr)
    return measured, failures


def judge(measured, failures, busy_cores):
    """Returns the notes below the table."""
    lines = [f"not measured: {failure}" for failure in failures]
    over, unclear = ([row.name for row in measured if row.verdict == verdict]
                     for verdict in ("OVER", "unclear"))
    if busy_cores > QUIET_CORES:
        lines.append(f"This machine was not quiet: others kept {busy_cores:.1f} of its "
                     f"{os.cpu_count()} cores busy. Times are too large, verdicts uncertain.")
    if unclear:
        lines.append(f"Unclear: {'; '.join(unclear)}")
    if over:
        lines.append(f"OVER THE LIMIT: {'; '.join(over)}")
    return lines if over or unclear or failures else [*lines, "No limit is missed."]


def main():
    options = arguments()
    spoor = pathlib.Path(options.spoor).resolve()
    bench = machine.Bench(str(spoor), spoor.parent / "tests/bench", 0.1 if options.quick else 1.0)
    # Remove variables such as SPOOR_INTERVAL and SPOOR_DISABLE, which would change what is
    # measured.
    for name in [name for name in os.environ if name.startswith("SPOOR_")]:
        del os.environ[name]
    busy_cores = machine.busy_cores()
    measured, failures = measure(bench, [name for name in BENCHMARKS if options.only in name])
    busy_cores = max(busy_cores, machine.busy_cores())
    print("\n".join(["", *rows.format_table(measured), "", *judge(measured, failures, busy_cores)]))
    path = spoor.parent / "bench.json"
    path.write_text(json.dumps({
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "busy_cores_of_others": busy_cores,
        "is_quick": options.quick,
        "failures": failures,
        "rows": [row.as_json() for row in measured],
    }, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"as JSON: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
