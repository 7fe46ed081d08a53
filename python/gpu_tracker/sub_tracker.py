# SPDX-License-Identifier: Apache-2.0
"""Sub-tracking: records when blocks of code ran.

A sub-tracking file has a row for each start (position 0) and stop (1) of a block. This module writes the rows
itself, not through the program, because a block may be very short.

If a tracker can be reached, it adds a row to the tracking file just before a block starts and another when the block
stops. The second row contains the memory of the block and the block's CPU time since the first row. If the block
used more memory in between (a function has freed its memory when it returns), there is a third row. A tracker with a
tracking file writes these rows on request, received on the abstract Unix socket gpu-tracker-rows/NAMESPACE/PID,
where PID is the tracked process: this process or an ancestor. The tracker may be a Tracker in this program or in the
program that forked it, or the command gpu-tracker.
"""
from __future__ import annotations

import errno
import functools
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from spoor._run import ancestors, connect

if TYPE_CHECKING:
    from sqlite3 import Connection

    from .analysis import (CodeBlockResults, ComparisonResults, SubTrackingAnalyzer, SubTrackingResults,
                           TrackingComparison)

__all__ = ["CodeBlockResults", "ComparisonResults", "SubTracker", "SubTrackingAnalyzer", "SubTrackingResults",
           "TrackingComparison", "sub_track"]

Function = TypeVar("Function", bound=Callable[..., Any])

_TIMEOUT_SECONDS = 2.0      # timeout for a response; after a timeout, requests pause for a while
_LOOK_AGAIN_SECONDS = 1.0   # between two searches for new trackers
_LEAVE_ALONE_SECONDS = 30.0
_SHARE = 0.1                # at most this share of the time is spent waiting for rows ...
_ALLOWANCE_SECONDS = 0.5    # ... in addition to this many seconds and the start of a tracker

_begun: set[str] = set()  # files created by this process or the process that forked it
_databases: dict[tuple[int, str], Connection] = {}  # by process and file


def __getattr__(name: str) -> object:
    """Imports the classes of the analysis on first use, because their import takes long."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import analysis

    return getattr(analysis, name)


# ---- tracking and sub-tracking files ----

def check_extension(path: str) -> None:
    if not path.endswith((".csv", ".sqlite")):
        raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and '
                         '".sqlite".')


def check_absent(path: str) -> None:
    if os.path.isfile(path):
        raise FileExistsError(f"File {path} already exists. Set overwrite to True to overwrite "
                              "the existing file.")


def check_present(path: str) -> None:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def check_folder(path: str) -> None:
    """Checks that a file with this name can be created, without creating it."""
    folder = os.path.dirname(path) or "."
    code = errno.EISDIR if os.path.isdir(path) else \
        errno.ENOENT if not os.path.exists(folder) else \
        errno.ENOTDIR if not os.path.isdir(folder) else \
        errno.EACCES if not os.access(folder, os.W_OK | os.X_OK) else 0
    if code:
        raise OSError(code, os.strerror(code), path)


# ---- rows of the tracking file ----

class _Trackers:
    """The trackers that track one process."""

    def __init__(self) -> None:
        self.process_id = os.getpid()
        self.tracked: list[int] = []
        self.look_at = 0.0  # when to search again; all times are monotonic, in seconds
        self.began = time.monotonic()
        self.waited = 0.0


_trackers = _Trackers()


def forget_trackers() -> None:
    """Makes the next request search for trackers again. Called when a tracker has started."""
    _trackers.look_at = 0.0


def _ask(process_id: int, later_than: float) -> float | None:
    """Requests a row and returns its time; None if there is no tracker. Raises TimeoutError if
    the tracker does not respond."""
    import socket

    connection = None
    try:
        connection, _, uid = connect("gpu-tracker-rows", process_id, _TIMEOUT_SECONDS)
        if uid not in (0, os.geteuid()):
            return None
        connection.sendall(repr(later_than).encode())
        return float(connection.recv(64))
    except socket.timeout:
        raise TimeoutError from None
    except (OSError, ValueError):
        return None
    finally:
        if connection is not None:
            connection.close()


def request_row(later_than: float) -> float:
    """Makes every tracker of this process write a row, unless the tracker's last row is later
    than `later_than` and less than a millisecond old. Returns the time of the latest row; 0.0 if
    there is none."""
    global _trackers

    if _trackers.process_id != os.getpid():
        _trackers = _Trackers()
    trackers = _trackers
    start = time.monotonic()
    is_look = start >= trackers.look_at
    if not trackers.tracked and not is_look:
        return 0.0
    if trackers.waited > _ALLOWANCE_SECONDS + _SHARE * (start - trackers.began):
        return 0.0
    if is_look:
        trackers.look_at = start + _LOOK_AGAIN_SECONDS
    answers = {}
    try:
        for process_id in [os.getpid(), *ancestors()] if is_look else trackers.tracked:
            answer = _ask(process_id, later_than)
            if answer is not None:
                answers[process_id] = answer
    except TimeoutError:
        answers.clear()
        trackers.look_at = start + _LEAVE_ALONE_SECONDS
    if trackers.tracked or not answers:  # the first response waits for the start of the tracker
        trackers.waited += time.monotonic() - start
    trackers.tracked = list(answers)
    return max(answers.values(), default=0.0)


# ---- blocks ----

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
        connection.execute("PRAGMA synchronous = OFF")  # rows survive a crash of this process, but not of the machine
        _databases[key] = connection
    return _databases[key]


def _begin(path: str, overwrite: bool) -> None:
    """Creates the file. Replaces an existing file only if `overwrite` is set."""
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
    try:  # a single write, so that rows of several processes do not mix
        os.write(fd, text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)


class SubTracker:
    """A block of code whose start and stop become rows of a file.

    By default, code_block_name is FILE:LINE of the block; code_block_attribute replaces the
    line. By default, sub_tracking_file is PID.csv in the working directory.
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
              ) -> Callable[[Function], Function]:
    """Decorates a function so that each call is a block. By default, the name is FILE:FUNCTION."""
    def decorate(function: Function) -> Function:
        name = code_block_name
        if name is None:
            attribute = function.__name__ if code_block_attribute is None else \
                code_block_attribute
            name = f"{os.path.abspath(sys._getframe(1).f_code.co_filename)}:{attribute}"

        @functools.wraps(function)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            with SubTracker(name, sub_tracking_file=sub_tracking_file, overwrite=overwrite):
                return function(*arguments, **keywords)
        return wrapper  # type: ignore[return-value]
    return decorate
