# SPDX-License-Identifier: Apache-2.0
"""spoor measures what a job uses: memory, CPU, GPU, I/O, processes and time.

    import spoor

    with spoor.Tracker(interval=0.1) as tracker:
        with spoor.phase("load"):
            load()
    print(tracker.result)                                       # one screen of text
    print(tracker.result.memory.main.private_rss_bytes.value)   # data classes
    print(tracker.result["cpu"]["total_seconds"])               # the JSON of `spoor run`
    tracker.report().save("report.html")                        # a page with plots

    spoor.snapshot().rss_bytes                                  # this process, now
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ._program import Error, find_program
from ._result import Page, Result
from ._tracker import Tracker, phase, snapshot

if TYPE_CHECKING:
    from ._report import Measure, Report, Snapshot

    __version__: str

__all__ = ["Error", "Measure", "Page", "Report", "Result", "Snapshot", "Tracker",
           "__version__", "find_program", "phase", "snapshot"]


def __getattr__(name: str) -> object:
    """Imports names that take time to import when they are first used."""
    if name == "__version__":
        from . import _library

        return _library.version()
    if name in ("Measure", "Report", "Snapshot"):
        from . import _report

        return getattr(_report, name)
    raise AttributeError(f"module 'spoor' has no attribute {name!r}")
