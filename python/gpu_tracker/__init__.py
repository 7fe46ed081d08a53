# SPDX-License-Identifier: Apache-2.0
"""gpu_tracker: what a part of a Python program uses, under the names of gpu_tracker 5.

    import gpu_tracker as gput

    with gput.Tracker(ram_unit="megabytes") as tracker:
        work()
    print(tracker)

The tracking itself is spoor's: a process of its own, beside the tracked one.
"""
from .sub_tracker import SubTracker, SubTrackingAnalyzer, TrackingComparison, sub_track
from .tracker import (ComputeTime, CPUUtilization, GPUUtilization, MaxGPURAM, MaxRAM,
                      ProcessingUnitPercentages, ResourceUsage, RSSValues, State, Tracker)

__version__ = "0.1.0"
__all__ = ["ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM",
           "ProcessingUnitPercentages", "ResourceUsage", "RSSValues", "State", "SubTracker",
           "SubTrackingAnalyzer", "Tracker", "TrackingComparison", "sub_track"]
