# SPDX-License-Identifier: Apache-2.0
"""Agents of resource-tracker, and the rows that they write to temporary files while tracking.

A row file contains one 8-byte little-endian number per cell, NaN if unknown. A day of rows has 86,400 x 21 numbers,
so only rows appended since the last read are read, and a column is converted to a list only on first use. Sums need
no list. The files are deleted once the agent has opened them, so that nothing is left behind, however this process
exits.

This module imports others, which takes some 10 ms, so it is imported when tracking starts.
"""
from __future__ import annotations

import json
import os
import sys
import threading
import time
from array import array
from typing import Any, Callable, Mapping, Sequence

from spoor._agent import Agent
from spoor._program import EndedError, Error, make_error

from ._combine import maximum, span
from .column_maps import NEWEST, columns_of, ticks_per_second
from .tiny_data_frame import TinyDataFrame

_CELL_BYTES = 8
_NAN = float("nan")

_agent: Agent | None = None  # used for readings
_lock = threading.Lock()


# ---- readings ----

def _forget_agent() -> None:
    global _agent, _lock

    _agent, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_agent)


def ask_agent(op: str, *arguments: str) -> dict[str, Any]:
    """Sends a request to the agent that all readings of this process share. If the agent was
    killed, starts a new agent, but only once."""
    global _agent

    with _lock:
        for is_last in (False, True):
            if _agent is None:
                _agent = Agent(name="resource-tracker")
            try:
                answer = _agent.ask(op, *arguments)
                if _agent.adopted and not op.endswith("-stats"):  # otherwise os.wait() would wait for the agent
                    _agent.close()
                    _agent = None
                return answer
            except EndedError:
                _agent = None
                if is_last:
                    raise
    raise AssertionError


# ---- rows ----

_ITERATE = (max, min, sum, maximum, span)  # functions that do not need a list


def _is_known(cell: float) -> bool:
    return cell == cell


class RowColumn:
    """A column of the first `rows` rows of a file. Calling it returns the column as a list."""

    def __init__(self, file: RowFile, index: int, is_int: bool, rows: int) -> None:
        self._file, self._index, self._rows, self._is_int = file, index, rows, is_int
        self._cells: array[float] | None = None
        self._known: array[float] | None = None
        self._sum = 0.0  # sum of the known values

    def cells(self) -> array[float]:
        if self._cells is None:
            self._cells = self._file.cells(self._index, self._rows)
        return self._cells

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
        """Applies a function to the values that are not None; avoids a list if possible."""
        if agg not in _ITERATE:
            return agg([number for number in self() if number is not None])
        if self._known is None:
            self._known = self.cells()
            self._sum = sum(self._known)
            if self._sum != self._sum:  # a NaN
                self._known = array("d", filter(_is_known, self._known))
                self._sum = sum(self._known)
        result = self._sum if agg is sum else agg(self._known)
        return int(result) if self._is_int and result is not None else result


class RowFile:
    """A row file, created by the constructor. Any thread or forked child may use it. start_time
    is the start of the first row."""

    def __init__(self, path: str, table: str, dialect: str, start_time: float = _NAN) -> None:
        self.path = path
        self._columns = columns_of(table, dialect)
        self._ticks = ticks_per_second(dialect)
        self._last_time = start_time  # time of the last row that was read
        self._fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._cells = array("d")
        self._skipped = 0  # rows already returned by read_new()
        self._lock = threading.Lock()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __len__(self) -> int:
        """Returns the number of complete rows in the file, excluding rows that read_new() has
        returned."""
        if self._fd < 0:
            return len(self._cells) // len(self._columns)
        return os.fstat(self._fd).st_size // (_CELL_BYTES * len(self._columns)) - self._skipped

    def _complete(self, cells: array[float]) -> None:
        """Computes cpu_usage of rows that are too short for an accurate value, such as the last
        row."""
        width = len(self._columns)
        names = list(self._columns)
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
        """Reads new rows and returns the total number of rows."""
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
        """Returns a column of the first `rows` rows as a list."""
        width = len(self._columns)
        return self._cells[index:rows * width:width]

    def _make_columns(self, rows: int) -> dict[str, RowColumn]:
        return {name: RowColumn(self, index, decimals == 0, rows)
                for index, (name, (_, decimals)) in enumerate(self._columns.items())}

    def read_new(self) -> list[list[Any]]:
        """Returns the rows since the last call, which are then discarded, so frame() does not
        return them."""
        rows = self._read()
        columns = [column() for column in self._make_columns(rows).values()]
        self._skipped += rows
        del self._cells[:]
        return [list(row) for row in zip(*columns)]

    def frame(self) -> TinyDataFrame:
        rows = self._read()
        return TinyDataFrame._from_functions(self._make_columns(rows), rows)


# ---- tracking ----

def _make_folder() -> str:
    """Creates a folder for temporary files. (Importing tempfile would take 5 ms.)"""
    failure: OSError | None = None
    for place in (os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp", "/dev/shm"):
        folder = os.path.join(place, f"resource_tracker-{os.urandom(8).hex()}")
        try:
            os.mkdir(folder, 0o700)
            return folder
        except OSError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _remove_folder(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass


def _describe_run(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Converts the metadata to the form that Sentinel expects: without None, and with the
    command as a JSON list."""
    found = {key: value for key, value in (metadata or {}).items() if value is not None}
    command = found.get("command")
    if command is not None:
        if isinstance(command, str):
            import shlex

            command = shlex.split(command)
        found["command"] = json.dumps([str(word) for word in command])
    return found


def _write_upload(folder: str, upload: Mapping[str, Any]) -> str:
    """Writes a file that other users cannot read, because it contains the token."""
    upload = {**upload, "metadata": _describe_run(upload["metadata"])}
    path = os.path.join(folder, "upload.json")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        json.dump(upload, file)
    return path


class Tracking:
    """Tracks the process ("process"), the machine ("system"), or both, until close(). The
    constructor returns after the first measurement."""

    def __init__(self, tables: Sequence[str], dialect: str, interval: float, pid: int,
                 children: bool, upload: Mapping[str, Any] | None = None) -> None:
        """`upload`: the settings of an upload (src/compat/resource_tracker/program.h)."""
        folder, start_time = _make_folder(), time.time()
        self.rows: dict[str, RowFile] = {}
        self.agent: Agent | None = None
        self.is_uploading = upload is not None and bool(tables)
        self.warnings: list[str] = []  # set by stop(): warnings about missing rows
        words = [f"--interval={interval:.9f}".rstrip("0").rstrip(".")]
        if dialect != NEWEST:
            words.append(f"--dialect={dialect}")
        if "process" in tables:
            words += [f"--pid={pid}", *([] if children else ["--no-children"])]
        try:
            for table in tables:
                path = os.path.join(folder, f"{table}.f64")
                self.rows[table] = RowFile(path, table, dialect, start_time)
                words.append(f"--{table}-rows={path}")
            if upload is not None:
                words.append(f"--upload={_write_upload(folder, upload)}")
            if tables:
                self.agent = Agent(*words, name="resource-tracker")
        except Error as error:  # names parameters instead of options: "--interval" becomes "interval"
            self.close()
            raise make_error(error.code, str(error).removeprefix("--")) from None
        except BaseException:
            self.close()
            raise
        finally:
            _remove_folder(folder)

    def stop(self) -> dict[str, Any] | None:
        """Ends the tracking with a last row, and returns the totals of the process. The agent
        exits too, unless it is uploading."""
        if self.agent is None:
            return None
        try:
            answer = self.agent.ask("stop") if self.is_uploading else self.agent.stop()
        except Error:  # other exceptions come from signal handlers; then the call may be repeated
            self.end()
            raise
        if not self.is_uploading:
            self.end()
        self.warnings = [f"rows are missing: {reason}" for reason in answer["warnings"]]
        totals: dict[str, Any] | None = answer["figures"]
        return totals

    def finish_upload(self, exit_code: int, run_status: str) -> dict[str, Any] | None:
        """Ends the upload and the agent, after stop(). Returns the outcome of the upload; None
        if there was no upload."""
        if self.agent is None or not self.is_uploading:
            return None
        try:
            upload: dict[str, Any] = self.agent.ask("finish", str(exit_code), run_status)["upload"]
            self.agent.stop()
        except Error:
            self.end()
            raise
        self.end()
        return upload

    def end(self) -> None:
        """Ends the agent, unless it has exited. The rows can still be read."""
        if self.agent is not None:
            self.agent.close()
            self.agent = None

    def close(self) -> None:
        """Ends the agent and deletes the rows."""
        self.end()
        for rows in self.rows.values():
            rows.close()
        self.rows.clear()

    def __del__(self) -> None:
        for rows in getattr(self, "rows", {}).values():
            rows.close()
        if getattr(self, "agent", None) is not None:
            self.end()
