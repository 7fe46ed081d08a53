# SPDX-License-Identifier: Apache-2.0
"""A frame as a CSV file, for programs that want a path."""
from __future__ import annotations

import os

from .helpers import render_csv_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tiny_data_frame import TinyDataFrame


class CsvFile:
    """A file in memory, so that nothing is left behind however this process ends."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("resource_tracker.csv")

    def write(self, frame: TinyDataFrame) -> str:
        """Replaces the contents by a frame, and returns the path."""
        lines = [render_csv_row(value or 0 if isinstance(value, float) else value
                                for value in values) for values in zip(*frame._data)]
        if frame.columns:
            lines.insert(0, render_csv_row(frame.columns))
        os.truncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        with open(self._fd, "w", encoding="utf-8", newline="", closefd=False) as file:
            file.writelines(lines)
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)
