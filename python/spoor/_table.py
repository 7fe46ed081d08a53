# SPDX-License-Identifier: Apache-2.0
"""Tables: columns of equal length, which pandas, polars and other data frame libraries can read.

The classes `_Buffer`, `_Column` and `_Frame` implement the data frame interchange protocol
(https://data-apis.org/dataframe-protocol), in which a library reads the memory of another library.
"""
from __future__ import annotations

from array import array
from typing import Any, Iterator, Mapping, Optional, Sequence

_INT, _FLOAT, _BOOL, _STRING = 0, 2, 20, 21        # kinds of values in the protocol
_NON_NULLABLE, _USE_NAN, _USE_BYTEMASK = 0, 1, 4   # how missing values are marked
_CPU = (1, None)                                   # a device of DLPack


class Tabular:
    """Rows and columns, which data frame libraries read like a `Table`."""

    def to_table(self) -> Table:
        """Returns the rows and columns. Each subclass defines this."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Returns the table as a pandas.DataFrame. pandas must be installed."""
        from pandas import DataFrame  # type: ignore[import]

        return DataFrame(self.to_table().to_dict())

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return _Frame(self.to_table().to_dict())


class Table(Tabular):
    """Columns of equal length, by name. A missing value is None.

    ``table["seconds"]`` is a column, as a list; ``len(table)`` is the number of rows, and a loop over the table
    has each row as a dict. Data frame libraries read a table directly: ``polars.from_dataframe(table)``,
    ``pandas.api.interchange.from_dataframe(table)``.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: list(column) for name, column in columns.items()}

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns by name."""
        return {name: list(column) for name, column in self._columns.items()}

    def to_table(self) -> Table:
        """Returns the table itself."""
        return self

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self._columns.values()):
            yield dict(zip(self._columns, row))

    def __repr__(self) -> str:
        return f"<spoor.Table: {len(self)} rows, {len(self._columns)} columns>"

    def _repr_html_(self) -> str:
        from html import escape

        def line(cells: Sequence[object], kind: str) -> str:
            return "".join(f"<{kind}>{escape('' if cell is None else str(cell))}</{kind}>" for cell in cells)

        rows = list(zip(*self._columns.values()))
        shown = [line(row, "td") for row in rows[:20]]
        if len(rows) > 20:
            shown.append(f'<td colspan="{len(self._columns)}">{len(rows) - 20} more rows</td>')
        return (f"<table><thead><tr>{line(self.columns, 'th')}</tr></thead><tbody>"
                + "".join(f"<tr>{row}</tr>" for row in shown) + "</tbody></table>")


class _Buffer:
    """Memory that the reader may use while it holds this object."""

    def __init__(self, data: array[Any]) -> None:
        self._data = data
        self.ptr, count = data.buffer_info()
        self.bufsize = count * data.itemsize

    def __dlpack__(self) -> Any:
        """Not supported: the protocol allows a library to offer only `ptr`."""
        raise NotImplementedError("DLPack")

    def __dlpack_device__(self) -> tuple[int, None]:
        return _CPU


class _Column:
    """A column as numbers, integers if all values are whole, or as text in UTF-8."""

    offset = 0
    metadata: dict[str, Any] = {}

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self.null_count = sum(value is None for value in values)
        if any(isinstance(value, str) for value in values):
            self.dtype = (_STRING, 8, "u", "=")
        elif self.null_count or any(isinstance(value, float) for value in values):
            self.dtype = (_FLOAT, 64, "g", "=")
        else:
            self.dtype = (_INT, 64, "l", "=")

    def size(self) -> int:
        return len(self._values)

    def num_chunks(self) -> int:
        return 1

    def get_chunks(self, n_chunks: Optional[int] = None) -> Iterator[_Column]:
        yield self

    @property
    def describe_categorical(self) -> Any:
        raise TypeError("the column is not categorical")

    @property
    def describe_null(self) -> tuple[int, Optional[int]]:
        return {_STRING: (_USE_BYTEMASK, 0), _FLOAT: (_USE_NAN, None), _INT: (_NON_NULLABLE, None)}[self.dtype[0]]

    def _get_text_buffers(self) -> dict[str, Any]:
        data, offsets = b"", [0]
        for value in self._values:
            data += b"" if value is None else str(value).encode(errors="replace")
            offsets.append(len(data))
        return {"data": (_Buffer(array("B", data)), self.dtype),
                "validity": (_Buffer(array("B", [value is not None for value in self._values])), (_BOOL, 8, "b", "=")),
                "offsets": (_Buffer(array("q", offsets)), (_INT, 64, "l", "="))}

    def get_buffers(self) -> dict[str, Any]:
        if self.dtype[0] == _STRING:
            return self._get_text_buffers()
        if self.dtype[0] == _FLOAT:
            numbers = array("d", [float("nan") if value is None else value for value in self._values])
        else:
            numbers = array("q", self._values)
        return {"data": (_Buffer(numbers), self.dtype), "validity": None, "offsets": None}


class _Frame:
    metadata: dict[str, Any] = {}

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = dict(columns)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> _Frame:
        return self

    def num_columns(self) -> int:
        return len(self._columns)

    def num_rows(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def num_chunks(self) -> int:
        return 1

    def get_chunks(self, n_chunks: Optional[int] = None) -> Iterator[_Frame]:
        yield self

    def column_names(self) -> list[str]:
        return list(self._columns)

    def get_column(self, i: int) -> _Column:
        return _Column(list(self._columns.values())[i])

    def get_column_by_name(self, name: str) -> _Column:
        return _Column(self._columns[name])

    def get_columns(self) -> list[_Column]:
        return [_Column(column) for column in self._columns.values()]

    def select_columns(self, indices: Sequence[int]) -> _Frame:
        return self.select_columns_by_name([self.column_names()[i] for i in indices])

    def select_columns_by_name(self, names: Sequence[str]) -> _Frame:
        return _Frame({name: self._columns[name] for name in names})
