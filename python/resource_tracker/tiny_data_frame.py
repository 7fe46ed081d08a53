# SPDX-License-Identifier: Apache-2.0
"""TinyDataFrame: a table of named columns, each a list."""
from __future__ import annotations

import os
from collections import defaultdict
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from .helpers import logger

_ROWS_SHOWN = 10


class StatSpec(NamedTuple):
    """A figure to compute from a column.

    agg computes one value from the values of the column. The result is named agg_name (default:
    agg.__name__) and, if `round` is given, rounded to that many digits.
    """
    column: str
    agg: Callable[[list[Any]], Any]
    agg_name: Optional[str] = None
    round: Optional[int] = None


def _parse(text: Any) -> Any:
    """Parses a cell of a CSV file: returns an int or a float if the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return text


def _open_csv(path: str) -> Any:
    if path.startswith(("http://", "https://")):
        import io
        from urllib.request import urlopen

        return io.TextIOWrapper(urlopen(path), encoding="utf-8", newline="")
    return open(path, encoding="utf-8", newline="")


def _read_csv(path: str) -> dict[str, list[Any]]:
    import csv

    with _open_csv(path) as file:
        rows = csv.reader(file)
        names: list[str] = next(rows, [])
        columns: list[list[Any]] = [[] for _ in names]
        for row in rows:
            if len(row) > len(names):
                raise ValueError("Corrupt CSV file with unknown column names.")
            if row:
                for column, cell in zip(columns, row + [None] * (len(names) - len(row))):
                    column.append(_parse(cell))
    return dict(zip(names, columns))


def _read_csv_patiently(path: str, retries: int, delay: float) -> dict[str, list[Any]]:
    """Like _read_csv(), but retries on failure: the file may be changing."""
    import time

    for attempt in range(retries + 1):
        try:
            return _read_csv(path)
        except Exception as error:
            if attempt == retries:
                raise RuntimeError(f"Failed to read CSV file after {retries + 1} attempts: "
                                   f"{path}") from error
            time.sleep(delay * 2 ** attempt)
    raise ValueError("retries must not be negative")


def _columns_of_rows(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return {name: [row.get(name) for row in rows] for name in names}


class TinyDataFrame:
    """A table: named columns of the same length.

    data is a dict of lists, or a list of dicts, one per row; csv_file_path is a file or an
    http(s) URL to read instead.

        df["cpu_usage"]             a column, as a list
        df[["pid", "utime"]]        some columns, as a frame
        df[0], df[-10:]             a row, as a dict; some rows, as a frame
        for row in df: ...          rows, as dicts
        df["cores"] = [1, 2, 3]     sets a column
    """

    # A column is a list, or a function that returns the list and is called on first use.
    _columns: dict[str, list[Any] | Callable[[], list[Any]]]
    _length: int

    def __new__(cls, *arguments: Any, **keywords: Any) -> TinyDataFrame:
        frame = super().__new__(cls)  # for an empty frame of the predecessor, pickle calls only __new__
        frame._columns, frame._length = {}, 0
        return frame

    def __init__(self, data: Mapping[str, Sequence[Any]] | list[dict[str, Any]] | None = None,
                 csv_file_path: str | os.PathLike[str] | None = None, retries: int = 0,
                 retry_delay: float = 0.1) -> None:
        assert data is not None or csv_file_path is not None, \
            "either data or csv_file_path must be given"
        assert data is None or csv_file_path is None, \
            "only one of data and csv_file_path may be given"
        assert data is None or isinstance(data, (dict, list)), "data must be a dict or a list"
        assert csv_file_path is None or isinstance(csv_file_path, (str, os.PathLike)), \
            "csv_file_path must be a path or a URL"
        if csv_file_path is not None:
            self._columns.update(_read_csv_patiently(str(csv_file_path), retries, retry_delay))
        elif isinstance(data, dict):
            assert all(isinstance(column, (list, tuple)) for column in data.values()), \
                "data must be a dict of lists"
            self._columns.update((name, list(column)) for name, column in data.items())
        elif isinstance(data, list):
            assert all(isinstance(row, dict) for row in data), "data must be a list of dicts"
            self._columns.update(_columns_of_rows(data))
        self._length = len(next(iter(self._data), []))
        for name in self._columns:
            self._check_length(name, self[name])

    @classmethod
    def _from_functions(cls, columns: Mapping[str, list[Any] | Callable[[], list[Any]]],
                        length: int) -> TinyDataFrame:
        """Returns a frame whose columns are computed on first use."""
        frame = cls({})
        frame._columns.update(columns)
        frame._length = length
        return frame

    def __getstate__(self) -> dict[str, Any]:
        """Returns the same attributes as the predecessor, so that both can read each other's pickles."""
        return {"columns": self.columns, "_data": self._data}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(TinyDataFrame(dict(zip(state["columns"], state["_data"]))).__dict__)

    def _check_length(self, name: str, column: list[Any]) -> None:
        if len(column) != self._length:
            raise ValueError(f"column {name!r} has {len(column)} values, the frame has "
                             f"{self._length} rows")

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def _data(self) -> list[list[Any]]:
        return [self._column(name) for name in self._columns]

    def _column(self, name: str) -> list[Any]:
        try:
            column = self._columns[name]
        except KeyError:
            raise KeyError(f"Column '{name}' not found") from None
        if not isinstance(column, list):
            column = self._columns[name] = column()
        return column

    def _aggregate(self, name: str, agg: Callable[[list[Any]], Any]) -> Any:
        """Applies the function to the values that are not None."""
        column = self._columns[name]
        if hasattr(agg, "needs_rows"):
            return agg(column.cells() if hasattr(column, "cells") else self._column(name))
        if hasattr(column, "aggregate"):  # a faster method than the list
            return column.aggregate(agg)
        values = self._column(name)
        return agg([value for value in values if value is not None] if None in values else values)

    def _slice(self, rows: slice) -> TinyDataFrame:
        return self._from_functions({name: lambda name=name: self._column(name)[rows]  # type: ignore
                                     for name in self._columns}, len(range(self._length)[rows]))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        for values in zip(*self._data):
            yield dict(zip(names, values))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, slice):
            return self._slice(key)
        if isinstance(key, int):
            return {name: self._column(name)[key] for name in self._columns}
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return self._from_functions({name: self._column(name) for name in key}, self._length)
        raise TypeError("Invalid key type")

    def __setitem__(self, key: str, column: list[Any]) -> None:
        if not isinstance(key, str):
            raise TypeError("a column name must be a str")
        column = list(column)
        if not self._columns:
            self._length = len(column)
        self._check_length(key, column)
        self._columns[key] = column

    def head(self, n: int = 5) -> TinyDataFrame:
        """Returns the first n rows."""
        return self._slice(slice(n))

    def tail(self, n: int = 5) -> TinyDataFrame:
        """Returns the last n rows."""
        return self._slice(slice(max(self._length - n, 0), None))

    def rename(self, columns: Mapping[str, str]) -> TinyDataFrame:
        """Renames columns, {old name: new name}, in this frame and returns it."""
        for name in columns:
            if name not in self._columns:
                raise KeyError(f"Column '{name}' not found")
        self._columns = {columns.get(name, name): column
                         for name, column in self._columns.items()}
        return self

    def to_csv(self, csv_file_path: str | None = None, quote_strings: bool = True) -> str | None:
        """Writes the frame to a CSV file; without a path, returns the CSV text."""
        import csv
        import io

        quoting = csv.QUOTE_NONNUMERIC if quote_strings else csv.QUOTE_MINIMAL
        file = io.StringIO(newline="") if csv_file_path is None else \
            open(csv_file_path, "w", encoding="utf-8", newline="")
        with file:
            writer = csv.writer(file, quoting=quoting)
            writer.writerow(self._columns)
            writer.writerows(zip(*self._data))
            return file.getvalue() if isinstance(file, io.StringIO) else None

    def to_dict(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts."""
        return list(self)

    def stats(self, specs: Sequence[StatSpec]) -> defaultdict[str, dict[str, Any]]:
        """Computes {column: {name of the function: result}}.

        Unknown values (None) are skipped, and results that are None are left out. If a column
        does not exist or a function fails, the failure is logged and the result is missing.
        """
        results: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for column, agg, agg_name, digits in specs:
            name = agg_name or str(getattr(agg, "__name__", "function"))
            try:
                if column not in self._columns:
                    raise ValueError("no such column")
                result = self._aggregate(column, agg)
                if result is not None:
                    results[column][name] = result if digits is None else round(result, digits)
            except Exception as error:
                logger().warning("%s of column %r failed: %s", name, column, error)
        return results

    def _shape(self) -> str:
        return f"TinyDataFrame with {self._length} rows and {len(self._columns)} columns"

    def __repr__(self) -> str:
        if self._length == 0:
            return f"{self._shape()}."
        return f"{self._shape()}. First row as a dict: {self[0]}"

    def __str__(self) -> str:
        if self._length == 0:
            return f"{self._shape()}:\nEmpty dataframe"
        names = self.columns
        shown = [["" if value is None else str(value) for value in column]
                 for column in self.head(_ROWS_SHOWN)._data]
        is_number = [all(isinstance(value, (int, float, type(None))) for value in column)
                     for column in self.head(_ROWS_SHOWN)._data]
        widths = [max(len(cell) for cell in [name, *cells]) for name, cells in zip(names, shown)]
        lines = [" | ".join(name.ljust(width) for name, width in zip(names, widths)),
                 "-+-".join("-" * width for width in widths)]
        for row in zip(*shown):
            lines.append(" | ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, is_number)))
        if self._length > _ROWS_SHOWN:
            lines.append("...")
        return f"{self._shape()}:\n" + "\n".join(lines)
