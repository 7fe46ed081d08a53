# SPDX-License-Identifier: Apache-2.0
"""The trackers that write a line of CSV per interval, in the thread that calls them."""
from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Iterable

from spoor._program import EndedError, Error, warn

from .column_maps import NEWEST, OLDEST, check_dialect, columns_of, make_row
from .helpers import render_csv_row
from .tracker_procfs import PROCESS_READERS, SYSTEM_READERS

if TYPE_CHECKING:
    from ._tracking import Tracking

_ROW_SECONDS = 0.005  # time needed to write a row, in seconds; rows are taken at multiples of the interval
_LOOK_SECONDS = 0.1   # the longest time between two checks for a late row


def _discard_output(file: Any) -> None:
    """Redirects the file to /dev/null, so that closing it does not fail when the rest of its
    buffer is flushed."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, file.fileno(), os.get_inheritable(file.fileno()))
    os.close(null)


class _ProcessEnd:
    """Waits until a process has exited."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = -1
        try:
            self._fd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # an old kernel, or the process has exited
            pass

    def wait(self, seconds: float) -> bool:
        """Returns True if the process has exited, False after a timeout."""
        if self._fd < 0:
            time.sleep(seconds if os.path.exists(f"/proc/{self._pid}") else 0)
            return not os.path.exists(f"/proc/{self._pid}")
        import select

        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class _Loop:
    """The common part of ProcessTracker and SystemTracker."""

    _table = ""

    def __init__(self, start_time: float | None, interval: float, autostart: bool,
                 output_file: str | None, dialect: str) -> None:
        if not interval > 0:
            raise ValueError(f"invalid interval {interval!r}: must be positive")
        self.status = "running"
        self.interval = interval
        self.cycle = 0
        self.dialect = check_dialect(dialect)
        self.start_time = time.time() if start_time is None else start_time
        self.stats: dict[str, Any] = {} if autostart else self._read()
        if autostart:
            self.start_tracking(output_file)

    def __call__(self) -> None:
        """Does nothing; kept for the predecessor's API."""

    def _read(self) -> dict[str, Any]:
        raise NotImplementedError

    def _track(self, pid: int = 0, children: bool = True) -> Tracking:
        from ._tracking import Tracking

        return Tracking([self._table], self.dialect, self.interval, pid, children)

    def _sleep(self, seconds: float) -> bool:
        """Sleeps until the next row. Returns True if nothing is left to track."""
        time.sleep(seconds)
        return False

    def diff_stats(self) -> dict[str, Any]:
        """Returns the usage since the last call, or since the tracker was created."""
        before, self.stats = self.stats, self._read()
        self.cycle += 1
        return make_row(self._table, self.dialect, self.stats, before or self.stats)

    def _write_lines(self, rows: Iterable[Iterable[Any]], file: Any) -> None:
        """Writes lines. Tracking ends if the reader has closed its pipe."""
        end = "\r\n" if self.dialect == OLDEST else "\n"
        try:
            for values in rows:
                line = render_csv_row(0 if value == 0 else value for value in values)
                file.write(line.replace("\n", end))
            file.flush()
        except BrokenPipeError:
            self.status = "exited"
            _discard_output(file)

    def _write(self, tracking: Tracking, file: Any) -> None:
        """Writes the new rows."""
        rows = tracking.rows[self._table].read_new()
        self._write_lines(rows, file)
        self.cycle += len(rows)

    def _write_rows(self, tracking: Tracking, file: Any) -> None:
        """Writes rows as they arrive, until nothing is left to track."""
        asked, pause = time.monotonic(), 0.0
        while self.status == "running":
            if self._sleep(pause):
                self.status = "exited"
            elif len(tracking.rows[self._table]) > 0:
                self._write(tracking, file)
                pause = self.interval - time.time() % self.interval + _ROW_SECONDS
            else:
                pause = min(self.interval / 10, _LOOK_SECONDS)
            if time.monotonic() - asked > self.interval + 1 and tracking.agent is not None:
                asked = time.monotonic()
                tracking.agent.ask("figures")  # fails if the agent was killed

    def _write_last_rows(self, tracking: Tracking, file: Any) -> None:
        try:
            tracking.stop()
        except Error as error:
            tracking.warnings.append(f"tracking has stopped: {error}")
        self._write(tracking, file)
        for message in tracking.warnings:
            warn(message)

    def start_tracking(self, output_file: str | None = None, print_header: bool = True) -> None:
        """Writes a row per interval to a file, or to standard output, until the tracked process
        exits or the reader closes its pipe. The last row, which may cover less than an interval,
        is written even after KeyboardInterrupt. If the process has exited before, nothing is
        written."""
        if self._sleep(max(0.0, self.start_time - time.time())):
            self.status = "exited"
            return
        tracking = self._track()
        file = None
        try:
            file = sys.stdout if output_file is None else open(
                output_file, "w", encoding="utf-8", newline="")
            try:
                if print_header:
                    self._write_lines([columns_of(self._table, self.dialect)], file)
                self._write_rows(tracking, file)
            except EndedError:
                pass  # stop() reports the error
            finally:
                self._write_last_rows(tracking, file)
        finally:
            tracking.close()
            if output_file is not None and file is not None:
                file.close()


class ProcessTracker(_Loop):
    """Writes the usage of a process, by default this one, and of its descendants, as CSV.

    With autostart, starts writing at once and returns when the process has exited. Otherwise
    call diff_stats() for a row as a dict, or start_tracking(). start_time is when
    start_tracking() begins, by default at once; rows are at multiples of the interval. Without
    children, only the process itself is tracked. output_file, or csv_file_path, is a file to
    write to instead of standard output. dialect is the generation of the column names:
    "resource-tracker", "resource-tracker-0.3" or "resource-tracker-0.1".
    """

    _table = "process"

    def __init__(self, pid: int | None = None, start_time: float | None = None,
                 interval: float = 1, children: bool = True, autostart: bool = True,
                 output_file: str | None = None, *, csv_file_path: str | None = None,
                 dialect: str = NEWEST) -> None:
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        self._end = _ProcessEnd(self.pid)
        super().__init__(start_time, interval, autostart, output_file or csv_file_path, dialect)

    def _read(self) -> dict[str, Any]:
        return PROCESS_READERS[self.dialect](self.pid, self.children)

    def _track(self, pid: int = 0, children: bool = True) -> Tracking:
        return super()._track(self.pid, self.children)

    def _sleep(self, seconds: float) -> bool:
        return self._end.wait(seconds)


class PidTracker(ProcessTracker):
    """ProcessTracker with the column names and units of version 0.1. Deprecated."""

    def __init__(self, pid: int | None = None, interval: float = 1, children: bool = True,
                 autostart: bool = True, output_file: str | None = None, *,
                 start_time: float | None = None, csv_file_path: str | None = None,
                 dialect: str = OLDEST) -> None:
        warn("PidTracker is deprecated: use ProcessTracker", DeprecationWarning)
        super().__init__(pid, start_time, interval, children, autostart, output_file,
                         csv_file_path=csv_file_path, dialect=dialect)


class SystemTracker(_Loop):
    """Writes the usage of the machine as CSV, until interrupted.

    The parameters are those of ProcessTracker.
    """

    _table = "system"

    def __init__(self, start_time: float | None = None, interval: float = 1,
                 autostart: bool = True, output_file: str | None = None, *,
                 csv_file_path: str | None = None, dialect: str = NEWEST) -> None:
        super().__init__(start_time, interval, autostart, output_file or csv_file_path, dialect)

    def _read(self) -> dict[str, Any]:
        return SYSTEM_READERS[self.dialect]()
