# SPDX-License-Identifier: Apache-2.0
"""The trackers that write a line of CSV per interval, in the thread that has started them."""
from __future__ import annotations

import os
import sys
import time

from ._dialect import NEWEST, OLDEST, check_dialect, make_row
from ._readings import PROCESS_READERS, SYSTEM_READERS
from .helpers import render_csv_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _ProcessEnd:
    """Waits for the end of a process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = -1
        try:
            self._fd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # an old kernel, or the process has ended
            pass

    def wait(self, seconds: float) -> bool:
        """True: it has ended; False: the time has passed."""
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
    """What ProcessTracker and SystemTracker have in common."""

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
        self.stats = self._read()
        if autostart:
            self.start_tracking(output_file)

    def __call__(self) -> None:
        """Does nothing."""

    def _read(self) -> dict[str, Any]:
        raise NotImplementedError

    def _sleep(self, seconds: float) -> bool:
        """True: there is nothing left to track."""
        time.sleep(seconds)
        return False

    def diff_stats(self) -> dict[str, Any]:
        """What was used since the last call, or since the tracker was made."""
        before, self.stats = self.stats, self._read()
        self.cycle += 1
        return make_row(self._table, self.dialect, self.stats, before)

    def _seconds_left(self) -> float:
        """Until the next row. Rows are at start_time and every interval after it."""
        now = time.time()
        if now < self.start_time:
            return self.start_time - now
        return self.interval - (now - self.start_time) % self.interval

    def start_tracking(self, output_file: str | None = None, print_header: bool = True) -> None:
        """Writes a row per interval to a file, or to the standard output, until the process that
        is tracked ends. The last row, which may be of less than an interval, is written before
        KeyboardInterrupt leaves too."""
        file = sys.stdout if output_file is None else open(output_file, "w", encoding="utf-8")
        try:
            if print_header:
                file.write(render_csv_row(make_row(self._table, self.dialect, self.stats,
                                                   self.stats)))
                file.flush()
            while self.status == "running":
                try:
                    if self._sleep(self._seconds_left()):
                        self.status = "exited"
                finally:
                    file.write(render_csv_row(self.diff_stats().values()))
                    file.flush()
        finally:
            if output_file is not None:
                file.close()


class ProcessTracker(_Loop):
    """Writes what a process, by default this one, and everything it started use, as CSV.

    With autostart it does so at once, and returns when the process has ended. Otherwise call
    diff_stats() for a row as a dict, or start_tracking(). start_time is when the first row is
    written, by default an interval from now. Without children only the process itself is
    tracked. output_file, or csv_file_path, is a file to write to instead of the standard output.
    dialect is the generation of the column names: "resource-tracker", "resource-tracker-0.3" or
    "resource-tracker-0.1".
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

    def _sleep(self, seconds: float) -> bool:
        return self._end.wait(seconds)


class PidTracker(ProcessTracker):
    """ProcessTracker with the column names and units of version 0.1. Deprecated."""

    def __init__(self, pid: int | None = None, interval: float = 1, children: bool = True,
                 autostart: bool = True, output_file: str | None = None, *,
                 start_time: float | None = None, csv_file_path: str | None = None,
                 dialect: str = OLDEST) -> None:
        from ._log import warn

        warn("PidTracker is deprecated: use ProcessTracker", DeprecationWarning)
        super().__init__(pid, start_time, interval, children, autostart, output_file,
                         csv_file_path=csv_file_path, dialect=dialect)


class SystemTracker(_Loop):
    """Writes what the machine uses, as CSV, until it is interrupted.

    The parameters are those of ProcessTracker.
    """

    _table = "system"

    def __init__(self, start_time: float | None = None, interval: float = 1,
                 autostart: bool = True, output_file: str | None = None, *,
                 csv_file_path: str | None = None, dialect: str = NEWEST) -> None:
        super().__init__(start_time, interval, autostart, output_file or csv_file_path, dialect)

    def _read(self) -> dict[str, Any]:
        return SYSTEM_READERS[self.dialect]()
