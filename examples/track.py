# SPDX-License-Identifier: Apache-2.0
"""track.py [FOLDER] - track parts of a program, and a command, with the three Python packages."""
from __future__ import annotations

import os
import sys

import gpu_tracker
import spoor
from resource_tracker import ResourceTracker


@spoor.phase("sum")
def add_up(count: int) -> int:
    return sum(range(count))


def track_block() -> spoor.Result:
    """The package spoor: a block with two phases."""
    with spoor.Tracker(interval=0.02, name="example") as tracker:
        with spoor.phase("fill"):
            data = bytearray(b"x") * 50_000_000
        add_up(len(data) // 20)
    if not tracker.result:
        raise SystemExit("the tracker failed")
    return tracker.result


def describe(result: spoor.Result) -> str:
    """Figures are numbers; `low` and `high` are the bounds of one that is not exact."""
    return (f"{result.peak_memory_bytes / 1e6:.0f} MB of memory, {result.cpu_seconds:.2f} s of CPU time in "
            f"{result.elapsed_seconds:.2f} s; phases: {', '.join(phase.name for phase in result.phases)}")


def track_with_gpu_tracker() -> float:
    """The package gpu_tracker: megabytes of this process."""
    with gpu_tracker.Tracker(sleep_time=0.1, ram_unit="megabytes", disable_logs=True) as tracker:
        add_up(1_000_000)
    usage = tracker.resource_usage
    return usage.max_ram.main.total_rss if usage is not None else float("nan")


def track_with_resource_tracker() -> dict[str, float]:
    """The package resource_tracker: the mean and the largest number of CPUs."""
    with ResourceTracker(interval=0.1, discover_cloud=False) as tracker:
        add_up(1_000_000)
    cpus: dict[str, float] = tracker.stats()["process_cpu_usage"]
    return cpus


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    result = track_block()
    print("block:", describe(result))
    result.save(os.path.join(folder, "block.json"))
    command = spoor.run(["sh", "-c", "head -c 50000000 /dev/zero | tail -c 1 | wc -c"],
                        output=os.path.join(folder, "command.json"))
    print("command: exit code", command.exit_code, "with", command.processes.started, "processes")
    print(f"gpu_tracker: {track_with_gpu_tracker():.0f} MB")
    print("resource_tracker:", ", ".join(f"{name} {value:.2f}" for name, value in
                                         track_with_resource_tracker().items()))


if __name__ == "__main__":
    main()
