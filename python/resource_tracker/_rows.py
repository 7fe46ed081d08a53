# SPDX-License-Identifier: Apache-2.0
"""The rows that an agent writes while it tracks, read back as a frame.

A row file holds one 8-byte little-endian number per cell, NaN for an unknown one. Only what was
appended since the last time is read, and a column becomes a list when it is asked for: a day of
rows is 86,400 x 21 numbers.
"""
from __future__ import annotations

import os
import sys
from _thread import allocate_lock
from array import array

from ._dialect import columns_of
from .tiny_data_frame import TinyDataFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._dialect import Column

_CELL_BYTES = 8


def _numbers(values: array[float], is_int: bool) -> list[Any]:
    if is_int:
        try:
            return list(map(int, values))
        except ValueError:  # a NaN
            return [None if value != value else int(value) for value in values]
    total = sum(values)
    if total == total:  # no NaN
        return values.tolist()
    return [None if value != value else value for value in values]


class RowFile:
    """A row file, which is created. Any thread may use it, and so may a forked child."""

    def __init__(self, path: str, table: str, dialect: str) -> None:
        self.path = path
        self._columns = columns_of(table, dialect)
        self._fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._cells = array("d")
        self._lock = allocate_lock()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __len__(self) -> int:
        """The number of whole rows that are in the file now."""
        if self._fd < 0:
            return len(self._cells) // len(self._columns)
        return os.fstat(self._fd).st_size // (_CELL_BYTES * len(self._columns))

    def _read(self) -> int:
        """Reads the rows that are new, and returns the number of all."""
        with self._lock:
            count = len(self)
            missing = count * len(self._columns) - len(self._cells)
            while missing > 0:
                data = os.pread(self._fd, missing * _CELL_BYTES, len(self._cells) * _CELL_BYTES)
                cells = array("d")
                cells.frombytes(data[:len(data) // _CELL_BYTES * _CELL_BYTES])
                if not cells:
                    break
                if sys.byteorder == "big":
                    cells.byteswap()
                self._cells = self._cells + cells if self._cells else cells
                missing -= len(cells)
            return min(count, len(self._cells) // len(self._columns))

    def _column(self, index: int, column: Column, rows: int) -> list[Any]:
        width = len(self._columns)
        return _numbers(self._cells[index:rows * width:width], column.decimals == 0)

    def frame(self) -> TinyDataFrame:
        rows = self._read()
        functions = {
            column.name: lambda index=index, column=column: self._column(index, column, rows)
            for index, column in enumerate(self._columns)}
        return TinyDataFrame._from_functions(functions, rows)
