# SPDX-License-Identifier: Apache-2.0
"""Functions for the trackers and for users of their results."""
from __future__ import annotations

import functools
import math
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping

if TYPE_CHECKING:
    import logging

_RUN_TOTALS = "run_totals"  # key of stats(): its values describe one run and are not aggregated


@functools.lru_cache(None)
def is_partition(disk_name: str) -> bool:
    """Returns whether this block device (sda1, nvme0n1p1) is a partition, not a whole disk."""
    import re

    if os.path.exists(f"/sys/class/block/{disk_name}"):
        return os.path.exists(f"/sys/class/block/{disk_name}/partition")
    return re.fullmatch(r"(sd|vd|xvd|hd)[a-z]+\d+|"
                        r"(nvme\d+n|mmcblk|nbd|loop|md)\d+p\d+", disk_name) is not None


@functools.lru_cache(None)
def is_psutil_available() -> bool:
    """Returns whether psutil is installed, although it is not used."""
    from importlib.util import find_spec

    return find_spec("psutil") is not None


@functools.lru_cache(None)
def is_procfs_available() -> bool:
    """Returns whether /proc can be read."""
    return os.path.isdir("/proc") and os.access("/proc", os.R_OK)


@functools.lru_cache(None)
def get_tracker_implementation() -> tuple[Callable[..., dict[str, Any]],
                                          Callable[[], dict[str, Any]]]:
    """Returns the functions get_process_stats and get_system_stats."""
    from .tracker_procfs import get_process_stats, get_system_stats

    return get_process_stats, get_system_stats


def round_memory(mib: float) -> int:
    """Rounds an amount of memory in MiB up to a common size: 128, 256 or 512 MiB, 1 GiB, 2 GiB,
    or whole GiB."""
    for step in (128, 256, 512, 1024, 2048):
        if mib <= step:
            return step
    return math.ceil(mib / 1024) * 1024


def _mean(values: list[Any]) -> float:
    return math.fsum(values) / len(values)


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "mean": _mean, "duration": _mean, "max": max, "sum": max}


def aggregate_stats(stats: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Merges stats() of several runs: takes the mean of means and durations, and the largest
    maximum and sum."""
    values: dict[str, dict[str, list[Any]]] = {}
    for run in stats:
        for column, results in run.items():
            if column != _RUN_TOTALS:
                for name, value in results.items():
                    found = values.setdefault(column, {}).setdefault(name, [])
                    found += [] if value is None else [value]  # None: unknown in this run
    for results in values.values():
        for name in results:
            if name not in _AGGREGATES:
                raise ValueError(f"Unsupported aggregation type: {name}")
    return {column: {name: _AGGREGATES[name](found) if found else None
                     for name, found in results.items()} for column, results in values.items()}


def render_csv_row(values: Iterable[Any]) -> str:
    """Returns a line of CSV: texts are quoted, numbers are not, and None becomes an empty text."""
    cells = []
    for value in values:
        if isinstance(value, (int, float)):
            cells.append(repr(value))
        else:
            text = "" if value is None else str(value)
            cells.append('"' + text.replace('"', '""') + '"')
    return ",".join(cells) + "\n"


# ---- messages ----

@functools.lru_cache(None)
def logger() -> logging.Logger:
    """Returns the logger `resource_tracker`, which is silent unless the program adds a handler."""
    import logging

    found = logging.getLogger("resource_tracker")
    found.addHandler(logging.NullHandler())
    return found
