# SPDX-License-Identifier: Apache-2.0
"""The rows that an agent writes while it tracks, read back as a frame.

A row file holds one 8-byte little-endian number per cell, NaN for an unknown one. A day of rows is
86,400 x 21 numbers, so only what was appended since the last time is read, and a column becomes a
list of Python numbers when it is asked for. To add it up it need not become one.
"""
from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from array import array

from ._dialect import columns_of, ticks_per_second
from .tiny_data_frame import TinyDataFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

_CELL_BYTES = 8
_NAN = float("nan")


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def maximum(values: Sequence[float]) -> float | None:
    return max(values, default=None)


def span(values: Sequence[float]) -> float:
    return max(values) - min(values)


_ITERATE = (max, min, sum, maximum, span, mean)  # functions that do not need a list


def _is_known(cell: float) -> bool:
    return cell == cell


class RowColumn:
    """A column of the first rows of a file: a function that returns it as a list."""

    def __init__(self, file: RowFile, index: int, is_int: bool, rows: int) -> None:
        self._file, self._index, self._rows, self._is_int = file, index, rows, is_int
        self._known: array[float] | None = None
        self._sum = 0.0  # of the known ones

    def cells(self) -> array[float]:
        return self._file.cells(self._index, self._rows)

    def __call__(self) -> list[Any]:
        cells = self.cells()
        if self._is_int:
            try:
                return list(map(int, cells))
            except ValueError:  # a NaN
                return [None if cell != cell else int(cell) for cell in cells]
        total = sum(cells)
        if total != total:  # a NaN
            return [None if cell != cell else cell for cell in cells]
        return cells.tolist()

    def aggregate(self, agg: Callable[[Any], Any]) -> Any:
        """The function of the numbers that are not None, without making a list if possible."""
        if agg not in _ITERATE:
            return agg([number for number in self() if number is not None])
        if self._known is None:
            self._known = self.cells()
            self._sum = sum(self._known)
            if self._sum != self._sum:  # a NaN
                self._known = array("d", filter(_is_known, self._known))
                self._sum = sum(self._known)
        if agg is mean and self._known:
            return self._sum / len(self._known)
        result = self._sum if agg is sum else agg(self._known)
        is_int = self._is_int and agg is not mean and result is not None
        return int(result) if is_int else result


class RowFile:
    """A row file, which is created. Any thread may use it, and so may a forked child. start_time
    is when the first row begins."""

    def __init__(self, path: str, table: str, dialect: str, start_time: float = _NAN) -> None:
        self.path = path
        self._columns = columns_of(table, dialect)
        self._ticks = ticks_per_second(dialect)
        self._last_time = start_time  # of the last row that was read
        self._fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._cells = array("d")
        self._skipped = 0  # rows that read_new() has returned
        self._lock = allocate_lock()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __len__(self) -> int:
        """The number of whole rows that are in the file now, without those of read_new()."""
        if self._fd < 0:
            return len(self._cells) // len(self._columns)
        return os.fstat(self._fd).st_size // (_CELL_BYTES * len(self._columns)) - self._skipped

    def _complete(self, cells: array[float]) -> None:
        """Computes cpu_usage of rows that are too short for an accurate one, such as the last."""
        width = len(self._columns)
        names = [column.name for column in self._columns]
        usage, utime, stime = map(names.index, ("cpu_usage", "utime", "stime"))
        total = sum(cells[usage::width])
        if total != total:  # a NaN
            for row in range(0, len(cells), width):
                before = cells[row - width] if row else self._last_time
                seconds = cells[row] - before
                if cells[row + usage] != cells[row + usage] and seconds > 0:
                    used = (cells[row + utime] + cells[row + stime]) / self._ticks
                    cells[row + usage] = round(used / seconds, 4)
        if cells:
            self._last_time = cells[-width]

    def _read(self) -> int:
        """Reads the rows that are new, and returns the number of all."""
        width = len(self._columns)
        with self._lock:
            count = len(self) * width - len(self._cells)
            if count > 0:
                new = array("d", (0.0,)) * count
                start = self._skipped * width + len(self._cells)
                length = os.preadv(self._fd, [new], start * _CELL_BYTES)
                del new[length // (_CELL_BYTES * width) * width:]
                if sys.byteorder == "big":
                    new.byteswap()
                self._complete(new)
                if self._cells:
                    self._cells.extend(new)
                else:
                    self._cells = new
            return len(self._cells) // width

    def cells(self, index: int, rows: int) -> array[float]:
        """A column of the first rows."""
        width = len(self._columns)
        return self._cells[index:rows * width:width]

    def read_new(self) -> list[list[Any]]:
        """The rows since the last call. They are not kept: frame() would not have them."""
        rows = self._read()
        columns = [RowColumn(self, index, column.decimals == 0, rows)()
                   for index, column in enumerate(self._columns)]
        self._skipped += rows
        del self._cells[:]
        return [list(row) for row in zip(*columns)]

    def frame(self) -> TinyDataFrame:
        rows = self._read()
        return TinyDataFrame._from_functions({
            column.name: RowColumn(self, index, column.decimals == 0, rows)
            for index, column in enumerate(self._columns)}, rows)
