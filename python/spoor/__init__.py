# SPDX-License-Identifier: Apache-2.0
"""spoor measures what a job uses: memory, CPU, GPU, I/O, processes and time.

    import spoor

    with spoor.Tracker(interval=0.1) as tracker:
        with spoor.phase("load"):
            load()
    result = tracker.result
    print(result)                                   # one screen of text
    result.peak_memory_bytes, result.cpu_seconds    # numbers with a source and bounds
    result.memory.main.private_rss_bytes.value      # every figure of the report
    result.curve.to_pandas()                        # the course of the run
    result.report().save("report.html")             # a page with plots

    spoor.run(["make", "-j8"]).peak_memory_bytes    # a command
    spoor.load("report.json")                       # a stored run
    spoor.snapshot().rss_bytes                      # this process, now

In a notebook, `%load_ext spoor` defines the magic `%%spoor`, which tracks a cell.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._command import run
from ._measure import Measure, UnknownError
from ._program import Error, find_program
from ._report import Report, Snapshot
from ._result import Page, Result, load
from ._table import Table
from ._tracker import PhaseBlock, Tracker, phase, snapshot

if TYPE_CHECKING:
    __version__: str

__all__ = ["Error", "Measure", "Page", "PhaseBlock", "Report", "Result", "Snapshot", "Table", "Tracker",
           "UnknownError", "__version__", "find_program", "load", "phase", "run", "snapshot"]


def __getattr__(name: str) -> object:
    """Loads the library on first use of its version."""
    if name == "__version__":
        from . import _library

        return _library.version()
    raise AttributeError(f"module 'spoor' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Registers the magic; called by `%load_ext spoor`."""
    from ._magic import register

    register(shell)
