# SPDX-License-Identifier: Apache-2.0
"""spoor measures what a job uses: memory, CPU, GPU, I/O, processes and time.

    import spoor

    with spoor.Tracker(interval=0.1) as tracker:
        with spoor.phase("load"):
            load()
    print(tracker.result)                                       # one screen of text
    print(tracker.result.memory.main.private_rss_bytes.value)   # data classes
    print(tracker.result["cpu"]["total_seconds"])               # the JSON of `spoor run`

    spoor.snapshot().rss_bytes                                  # now, of this process
"""
from ._agent import Error, find_program
from ._result import Measure, Report, Result, Snapshot
from ._tracker import Tracker, phase, snapshot

__version__ = "0.1.0"
__all__ = ["Error", "Measure", "Report", "Result", "Snapshot", "Tracker", "find_program", "phase",
           "snapshot"]
