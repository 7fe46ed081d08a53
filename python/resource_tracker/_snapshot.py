# SPDX-License-Identifier: Apache-2.0
"""Snapshots: a tracker as plain values, and back."""
from __future__ import annotations

import os
import time

from .tiny_data_frame import TinyDataFrame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from ._resource_tracker import ResourceTracker

_VERSION = 1
_PARAMETERS = ("pid", "children", "interval", "method", "track_processes", "track_system",
               "discover_server", "discover_cloud", "dialect")


def describe_process(pid: int) -> dict[str, Any]:
    """The command of a process, if it runs, and the name of this machine."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")[:-1]
    except OSError:
        words = []
    return {"command": words or None, "host": os.uname().nodename}


def get_metadata(tracker: ResourceTracker) -> dict[str, Any]:
    from ._version import __version__

    if tracker._process_facts is None:
        tracker._process_facts = describe_process(tracker.pid)
    start_time = tracker.start_time or time.time()
    stop_time = tracker.stop_time or time.time()
    return {
        "version": _VERSION,
        "resource_tracker": {"version": __version__, "implementation": "spoor"},
        **{name: getattr(tracker, name) for name in _PARAMETERS}, "autostart": tracker.autostart,
        "start_time": start_time, "stop_time": stop_time,
        "duration": round(stop_time - start_time, 2), **tracker._process_facts}


def take_snapshot(tracker: ResourceTracker) -> dict[str, Any]:
    return {"metadata": get_metadata(tracker), "server_info": tracker.server_info,
            "cloud_info": tracker.cloud_info, "process_metrics": tracker.process_metrics.to_dict(),
            "system_metrics": tracker.system_metrics.to_dict(), "run_totals": tracker.run_totals}


def restore_tracker(kind: type[ResourceTracker], snapshot: Mapping[str, Any]) -> ResourceTracker:
    metadata = snapshot["metadata"]
    tracker = kind(autostart=False,
                   **{name: metadata[name] for name in _PARAMETERS if name in metadata})
    tracker.autostart = metadata.get("autostart", False)
    tracker.start_time, tracker.stop_time = metadata["start_time"], metadata["stop_time"]
    tracker._server_info = snapshot.get("server_info")
    tracker.discover_server = tracker._server_info is not None  # not of this machine
    tracker._cloud_info = snapshot.get("cloud_info")
    tracker.discover_cloud = tracker._cloud_info is not None  # likewise
    tracker._totals = snapshot.get("run_totals")
    tracker._process_facts = {key: metadata.get(key) for key in ("command", "host")}
    for name in tracker.trackers:
        table = name.partition("_")[0]
        tracker._frames[table] = TinyDataFrame(snapshot[f"{table}_metrics"])
    return tracker
