# SPDX-License-Identifier: Apache-2.0
"""Sub-tracking: when blocks of code ran.

A sub-tracking file has a row for each start (position 0) and stop (1) of a block. Its rows are
written here rather than by the program because a block may be very short.

The tracking file gets a row just before a block starts and one as it stops, if a tracker can be
reached: the second tells what the block holds and the CPU time it took since the first. If it
has held more meanwhile (a function has freed its memory when it returns), there is a third.
"""
from __future__ import annotations

import functools
import os
import sys
import time

from ._file import check_absent, check_extension
from ._row_request import request_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Callable, TypeVar

    from typing_extensions import ParamSpec

    P = ParamSpec("P")
    R = TypeVar("R")

_begun: set[str] = set()  # files that this process, or the one it was forked from, has created
_databases: dict[tuple[int, str], Connection] = {}  # by process and file


def _cell(text: str) -> str:
    if any(letter in text for letter in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _database(path: str) -> Connection:
    key = (os.getpid(), os.path.abspath(path))
    if key not in _databases:
        import sqlite3

        connection = sqlite3.connect(path, timeout=60, isolation_level=None,
                                     check_same_thread=False)
        connection.execute("PRAGMA synchronous = OFF")  # survives our end, not the machine's
        _databases[key] = connection
    return _databases[key]


def _begin(path: str, overwrite: bool) -> None:
    """Creates the file. One that was there before needs `overwrite`."""
    if not overwrite:
        check_absent(path)
    if os.path.isfile(path):
        os.remove(path)
        _databases.pop((os.getpid(), os.path.abspath(path)), None)
    if path.endswith(".csv"):
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write("process_id,code_block_name,position,timestamp\r\n")
    else:
        _database(path).execute("CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
                                "position INTEGER, timestamp FLOAT)")
    _begun.add(os.path.abspath(path))


def _append(path: str, row: tuple[int, str, int, float]) -> None:
    removed = FileNotFoundError(f"The file {path} was removed in the middle of writing data to it.")
    if path.endswith(".sqlite"):
        if not os.path.isfile(path):
            raise removed
        _database(path).execute("INSERT INTO data VALUES (?, ?, ?, ?)", row)
        return
    process_id, name, position, timestamp = row
    text = f"{process_id},{_cell(name)},{position},{timestamp!r}\r\n"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        raise removed from None
    try:  # in one piece, so that rows of several processes do not mix
        os.write(fd, text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)


class SubTracker:
    """A block of code whose start and stop become rows of a file.

    code_block_name is by default FILE:LINE of the block; code_block_attribute replaces the line.
    sub_tracking_file is by default PID.csv in the working directory.
    """

    def __init__(self, code_block_name: str | None = None,
                 code_block_attribute: str | None = None,
                 sub_tracking_file: str | None = None, overwrite: bool = False) -> None:
        if code_block_name is None:
            frame = sys._getframe(1)
            attribute = frame.f_lineno if code_block_attribute is None else code_block_attribute
            code_block_name = f"{os.path.relpath(frame.f_code.co_filename)}:{attribute}"
        self.code_block_name = code_block_name
        self.process_id = os.getpid()
        self.sub_tracking_file = f"{self.process_id}.csv" if sub_tracking_file is None else \
            sub_tracking_file
        check_extension(self.sub_tracking_file)
        self._overwrite = overwrite
        self._start = 0.0
        self._is_sampled = False

    def _log(self, position: int, now: float) -> None:
        if os.path.abspath(self.sub_tracking_file) not in _begun:
            _begin(self.sub_tracking_file, self._overwrite)
        _append(self.sub_tracking_file, (self.process_id, self.code_block_name, position, now))

    def __enter__(self) -> SubTracker:
        self._is_sampled = request_row(0.0) > 0
        self._start = time.time()
        self._log(0, self._start)
        return self

    def __exit__(self, *exception: object) -> None:
        now = time.time()
        if self._is_sampled:
            now = max(now, request_row(self._start))
        self._log(1, now)


def sub_track(code_block_name: str | None = None, code_block_attribute: str | None = None,
              sub_tracking_file: str | None = None, overwrite: bool = False
              ) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function: each call is a block. The name is by default FILE:FUNCTION."""
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = code_block_name
        if name is None:
            attribute = function.__name__ if code_block_attribute is None else \
                code_block_attribute
            name = f"{os.path.abspath(sys._getframe(1).f_code.co_filename)}:{attribute}"

        @functools.wraps(function)
        def wrapper(*arguments: P.args, **keywords: P.kwargs) -> R:
            with SubTracker(name, sub_tracking_file=sub_tracking_file, overwrite=overwrite):
                return function(*arguments, **keywords)
        return wrapper
    return decorate
