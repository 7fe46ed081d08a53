# SPDX-License-Identifier: Apache-2.0
"""sampling.py - measures the cost of a sample, how it grows, and the memory of many samples.

A program of the bench takes the samples with the library's own objects, in turns with the floor.
Only CPU time is compared, and both run under the same conditions.
"""
import statistics

import machine
from rows import Row, spread_of

SIZES = (1, 50, 200, 1000)
JUDGED_SIZES = (200, 1000)  # in smaller jobs, the host's files, which the floor does not read, weigh more
FLOOR_FACTOR = 1.5
FOREIGN_COUNT = 500
FOREIGN_FACTOR = 1.1
SAMPLES_PER_ROUND = 32  # a multiple of 16: every 16th sample searches all processes
MEMORY_LIMIT_MB = 4.0
MEMORY_FACTOR = 1.1


def measure(bench, size, rounds, how="spawn"):
    """Returns three lists of CPU times in microseconds: of a sample, of the floor, and of the
    host's files."""
    text = machine.run(bench.program("sample_cost", how, bench.programs / "crowd", size - 1,
                                     SAMPLES_PER_ROUND, rounds))
    lines = [[int(word) / 1e3 for word in line.split()] for line in text.splitlines()]
    return list(zip(*lines))


def cost_row(name, times, is_judged):
    ours, floor, host = times
    limit = FLOOR_FACTOR * statistics.median(floor) if is_judged else None
    return Row(name, "µs", statistics.median(ours), statistics.median(floor), limit,
               f"{FLOOR_FACTOR} x floor" if is_judged else "", spread_of(ours),
               {"host_files_floor": statistics.median(host),
                "times_the_floor": statistics.median(ours) / statistics.median(floor)})


def cost(bench):
    """Measures the CPU time of a sample, by the number of processes in the job."""
    rounds = {1: 101, 50: 51, 200: 31, 1000: 11}
    rows = {size: cost_row(f"a sample, {size} process{'es' if size > 1 else ''}",
                           measure(bench, size, bench.much(rounds[size], 3)),
                           size in JUDGED_SIZES)
            for size in SIZES}
    attached = cost_row("a sample, 200 processes, attached",
                        measure(bench, 200, bench.much(31, 3), "attach"), True)
    host = Row("of a sample: files of the whole machine", "µs", rows[1].value - rows[1].floor,
               rows[1].more["host_files_floor"])
    return [rows[1], host, rows[50], rows[200], rows[1000], attached, growth(rows)]


def growth(rows):
    """Measures the cost of each additional process."""
    small, large = 50, 1000
    ours, floor = ((getattr(rows[large], key) - getattr(rows[small], key)) / (large - small)
                   for key in ("value", "floor"))
    return Row("each further process of the job", "µs", ours, floor, FLOOR_FACTOR * floor,
               f"{FLOOR_FACTOR} x floor")


def foreign(bench):
    """Checks that foreign processes add no cost: takes samples alone and beside many such
    processes, in turns."""
    alone, beside = [], []
    for _ in range(bench.much(5, 2)):
        alone.append(measure(bench, 50, 11))
        with machine.crowd(bench, FOREIGN_COUNT):
            beside.append(measure(bench, 50, 11))
    costs = [[statistics.median(times[0]) for times in turns] for turns in (alone, beside)]
    base, value = map(statistics.median, costs)
    return [Row(f"a sample, 50 processes, beside {FOREIGN_COUNT} others", "µs", value,
                statistics.median(statistics.median(times[1]) for times in beside),
                FOREIGN_FACTOR * base, f"{FOREIGN_FACTOR} x alone", spread_of(costs[1]),
                {"alone": base})]


def memory(bench):
    """Measures the resident memory of a program that takes many samples of one process."""
    counts = [1, 1000, 1_000_000 if bench.effort >= 1 else 10_000]
    text = machine.run(bench.program("sample_memory", bench.programs / "crowd", 0, *counts))
    sizes = [[int(word) / 1e6 for word in line.split()[1:]] for line in text.splitlines()]
    (first, _), (base, _), (last, peak) = sizes
    return [Row("resident after 1 sample", "MB", first, None, MEMORY_LIMIT_MB),
            Row("resident after 1,000 samples", "MB", base, None, MEMORY_LIMIT_MB),
            Row(f"resident after {counts[-1]:,} samples", "MB", last, None, MEMORY_FACTOR * base,
                f"{MEMORY_FACTOR} x 1,000", 0.0, {"peak": peak}),
            Row(f"peak over {counts[-1]:,} samples", "MB", peak, None, MEMORY_LIMIT_MB)]
