# SPDX-License-Identifier: Apache-2.0
"""gpu_tracker: measures the usage of a part of a Python program, with the API of gpu_tracker 5.

    import gpu_tracker as gput

    with gput.Tracker(ram_unit="megabytes") as tracker:
        work()
    print(tracker)

spoor does the tracking, in a separate process.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .sub_tracker import SubTracker, sub_track
from .tracker import State, Tracker

if TYPE_CHECKING:
    __version__: str

    from .analysis import SubTrackingAnalyzer, TrackingComparison
    from .usage import (ComputeTime, CPUUtilization, GPUUtilization, MaxGPURAM, MaxRAM,
                        ProcessingUnitPercentages, ResourceUsage, RSSValues)

__all__ = ["ComputeTime", "CPUUtilization", "GPUUtilization", "MaxGPURAM", "MaxRAM",
           "ProcessingUnitPercentages", "ResourceUsage", "RSSValues", "State", "SubTracker",
           "SubTrackingAnalyzer", "Tracker", "TrackingComparison", "__version__", "sub_track"]

_INTERFACE_VERSION = "5.0.1"  # version of gpu_tracker with this API


def __getattr__(name: str) -> object:
    """Imports a name on first use, if its import takes long."""
    if name == "__version__":
        import spoor

        return f"{_INTERFACE_VERSION}+spoor.{spoor.__version__}"
    if name in ("SubTrackingAnalyzer", "TrackingComparison"):
        from . import analysis

        return getattr(analysis, name)
    if name in __all__:
        from . import usage

        return getattr(usage, name)
    raise AttributeError(f"module 'gpu_tracker' has no attribute {name!r}")
