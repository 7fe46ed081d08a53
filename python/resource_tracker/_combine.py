# SPDX-License-Identifier: Apache-2.0
"""Joins the tables of the machine and of the process, and computes figures from both tables."""
from __future__ import annotations

from functools import partial
from operator import mul, sub
from typing import Any, Callable, Sequence

from .column_maps import HUMAN_NAMES_MAPPING, SERVER_ALLOCATION_CHECKS, bytes_per_unit
from .tiny_data_frame import StatSpec, TinyDataFrame

_NAN = float("nan")


class RowMean:
    """The mean of a column, weighted by the length of each row, since the first and the last row
    of a run are shorter than the others."""

    needs_rows = True  # TinyDataFrame then passes all values, including unknown ones

    def __init__(self, frame: TinyDataFrame, start_time: float | None) -> None:
        """start_time is the start of the first row."""
        times = _times(frame) if "timestamp" in frame.columns else ()
        begins = [times[0] if start_time is None else start_time, *times] if times else []
        self._lengths = list(map(sub, times, begins))
        if min(self._lengths, default=-1) < 0 or not any(self._lengths):  # the clock was set back
            self._lengths = [1.0] * len(frame)
        self._seconds = sum(self._lengths)

    def __call__(self, values: Sequence[float | None]) -> float | None:
        """Returns the weighted mean. Unknown values, None and NaN, are skipped."""
        seconds = self._seconds
        try:
            total: float = sum(map(mul, values, self._lengths))
        except TypeError:  # a None
            total = _NAN
        if total != total:
            known = [(value, length) for value, length in zip(values, self._lengths)
                     if value is not None and value == value]
            seconds = sum(length for _, length in known)
            total = sum(value * length for value, length in known)
        return total / seconds if seconds > 0 else None


def maximum(values: Sequence[float]) -> float | None:
    return max(values, default=None)


def span(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _column(frame: TinyDataFrame, name: str, rows: Sequence[int],
            factor: int | None) -> list[Any]:
    values: list[Any] = frame[name]
    if isinstance(rows, range):
        values = values[rows.start:rows.stop]
    else:
        values = [values[row] for row in rows]
    if factor is None:
        return values
    return [None if value is None else value * factor for value in values]


def _match_times(first: Sequence[float], second: Sequence[float],
                 most_seconds: float) -> tuple[Sequence[int], Sequence[int]]:
    """Returns the indexes of rows with the same time. Both lists are sorted."""
    length = min(len(first), len(second))
    if first[:length] == second[:length]:  # no row was lost
        return range(length), range(length)
    found: tuple[list[int], list[int]] = ([], [])
    i = j = 0
    while i < len(first) and j < len(second):
        distance = first[i] - second[j]
        if abs(distance) < most_seconds:
            found[0].append(i)
            found[1].append(j)
        i, j = i + (distance < most_seconds), j + (distance > -most_seconds)
    return found


def _times(frame: TinyDataFrame) -> Sequence[float]:
    column = frame._columns["timestamp"]
    times: Sequence[float] = column.cells() if hasattr(column, "cells") else frame["timestamp"]
    return times


def _match_rows(frames: Sequence[TinyDataFrame], interval: float) -> Sequence[Sequence[int]]:
    """Returns, for each frame, the rows that have a counterpart in the other frame, if there is
    another one."""
    if len(frames) == 2 and all("timestamp" in frame.columns for frame in frames):
        return _match_times(_times(frames[0]), _times(frames[1]), interval / 2)
    return [range(min(map(len, frames), default=0))] * len(frames)


def combine_frames(parts: Sequence[tuple[TinyDataFrame, str]], interval: float, in_bytes: bool,
                   human_names: bool, offset: int | None, dialect: str) -> TinyDataFrame:
    """Joins the rows with the same time; the first part provides the timestamp. A part is a
    frame and the prefix of its columns."""
    matches = [rows[offset:] for rows in _match_rows([frame for frame, _ in parts], interval)]
    functions: dict[str, list[Any] | Callable[[], list[Any]]] = {}
    count = len(matches[0]) if matches else 0
    if count == 0:
        return TinyDataFrame({})
    for (frame, prefix), rows in zip(parts, matches):
        for name in frame.columns:
            title = HUMAN_NAMES_MAPPING.get(name, name) if human_names else name
            factor = bytes_per_unit(name, dialect) if in_bytes else None
            if name != "timestamp":
                title = prefix + title
            elif title in functions:
                continue
            if factor is None and count == len(frame):
                functions[title] = frame._columns[name]
            else:
                functions[title] = partial(_column, frame, name, rows, factor)
    return TinyDataFrame._from_functions(functions, count)


# Columns under names without units; older versions used names without units, too.
_DEFAULT_SPECS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("process_cpu_usage",), ("mean", "max")),
    (("process_memory_mib", "process_memory", "process_pss"), ("mean", "max")),
    (("process_gpu_usage",), ("mean", "max")),
    (("process_gpu_vram_mib", "process_gpu_vram"), ("mean", "max")),
    (("process_gpu_utilized",), ("mean", "max")),
    (("system_disk_space_used_gb",), ("max",)),
    (("system_net_recv_bytes",), ("sum",)),
    (("system_net_sent_bytes",), ("sum",)),
    (("timestamp",), ("duration",)))


def default_specs(frame: TinyDataFrame, start_time: float | None) -> list[StatSpec]:
    """Returns the figures of stats() for which the columns exist."""
    known: dict[str, tuple[Callable[[list[Any]], Any], int | None]] = {
        "mean": (RowMean(frame, start_time), 2), "max": (maximum, 2), "sum": (sum, None),
        "duration": (span, None)}
    return [StatSpec(column, known[name][0], name, known[name][1])
            for names, functions in _DEFAULT_SPECS for column in names if column in frame.columns
            for name in functions]


def guess_allocation(process: TinyDataFrame, system: TinyDataFrame, start_time: float | None) -> str:
    """Returns "dedicated" if the process accounts for most of the machine's usage, "shared" if
    it does not, and "unknown" if figures of the process or the machine are missing."""
    result, means = "unknown", [RowMean(frame, start_time) for frame in (process, system)]
    for process_name, system_name, factor, amount in SERVER_ALLOCATION_CHECKS:
        if process_name not in process.columns or system_name not in system.columns:
            return "unknown"
        ours, all_of = means[0](process[process_name]), means[1](system[system_name])
        if ours is None or all_of is None:
            continue
        result = "dedicated"
        if all_of > ours * factor or all_of > ours + amount:
            return "shared"
    return result
