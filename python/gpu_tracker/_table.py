# SPDX-License-Identifier: Apache-2.0
"""Tables of results: pandas.DataFrame, as in the predecessor, or a simple table with the same accessors if pandas is
not installed. pandas takes half a second to import, so it is imported when the first table is made."""
from __future__ import annotations

import csv
import io
import math
from typing import Any, Dict, Iterator, Mapping


def _write_csv(rows: list[list[Any]], path: str | None) -> str | None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        ["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row]
        for row in rows)
    if path is None:
        return text.getvalue()
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text.getvalue())
    return None


class Series(Dict[str, Any]):
    """Values by name. An unknown value is NaN."""

    @property
    def index(self) -> list[str]:
        return list(self)

    @property
    def loc(self) -> Series:
        return self

    at = loc

    def to_csv(self, path: str | None = None) -> str | None:
        """Returns the CSV text, or writes it to a file."""
        return _write_csv([["", "0"], *map(list, self.items())], path)


class _Locator:
    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, key: Any) -> Any:
        row, column = key if isinstance(key, tuple) else (key, slice(None))
        if row == slice(None):
            return self._table if column == slice(None) else self._table[column]
        found = self._table._rows[row]
        return Series(found) if column == slice(None) else found[column]


class Table:
    """A table whose columns are table["max"] and whose rows are table.loc["main_ram"]."""

    def __init__(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self._rows = {name: Series(row) for name, row in rows.items()}

    @property
    def index(self) -> list[str]:
        return list(self._rows)

    @property
    def columns(self) -> list[str]:
        return next((row.index for row in self._rows.values()), [])

    @property
    def loc(self) -> _Locator:
        return _Locator(self)

    at = loc

    @property
    def T(self) -> Table:
        return Table({column: self[column] for column in self.columns})

    def __getitem__(self, column: str) -> Series:
        return Series((name, row[column]) for name, row in self._rows.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Table({self._rows!r})"

    def items(self) -> Iterator[tuple[str, Series]]:
        return ((column, self[column]) for column in self.columns)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the columns by name, like pandas."""
        return {column: dict(values) for column, values in self.items()}

    def to_csv(self, path: str | None = None) -> str | None:
        """Returns the CSV text, or writes it to a file."""
        rows = [[name, *row.values()] for name, row in self._rows.items()]
        return _write_csv([["", *self.columns], *rows], path)


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import]
    except ImportError:
        return None
    return pandas


def plain(value: Any) -> Any:
    """Converts a value to JSON data: tables row by row, NaN to None."""
    if isinstance(value, Table):
        return plain(value._rows)
    if hasattr(value, "iloc"):  # a pandas object
        return plain(value.to_dict("index") if value.ndim == 2 else value.to_dict())
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _fill(values: Mapping[str, Any]) -> Series:
    return Series((name, math.nan if value is None else value) for name, value in values.items())


def series(values: Mapping[str, Any]) -> Any:
    """Converts JSON data to a pandas.Series or a Series. None becomes NaN."""
    filled, pandas = _fill(values), _pandas()
    return pandas.Series(filled, dtype=None if filled else float) if pandas else filled


def table(rows: Mapping[str, Mapping[str, Any]]) -> Any:
    """Converts JSON data, row by row, to a pandas.DataFrame or a Table."""
    filled, pandas = {name: _fill(row) for name, row in rows.items()}, _pandas()
    return pandas.DataFrame.from_dict(filled, orient="index") if pandas else Table(filled)


def frame(rows: list[dict[str, Any]], columns: list[str]) -> Any:
    """Converts rows without names to a pandas.DataFrame, or returns the list."""
    pandas = _pandas()
    return pandas.DataFrame(rows, columns=columns) if pandas else rows
