# SPDX-License-Identifier: Apache-2.0
"""The trackers, and the functions of version 0.1 for one process at a time."""
from __future__ import annotations

from ._loop import PidTracker, ProcessTracker, SystemTracker
from ._procfs import (get_pid_children, get_pid_proc_io, get_pid_proc_times, get_pid_pss_rollup,
                      get_pid_rss)
from ._readings import old_process_stats, old_system_stats
from ._resource_tracker import ResourceTracker
from .helpers import is_partition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PidTracker", "ProcessTracker", "ResourceTracker", "SystemTracker", "get_pid_children",
           "get_pid_proc_io", "get_pid_proc_times", "get_pid_pss_rollup", "get_pid_rss",
           "get_pid_stats", "get_system_stats", "is_partition"]


def get_pid_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """What a process, and everything it started unless children is False, has used until now: in
    clock ticks and kB, as version 0.1. tracker_procfs.get_process_stats is the newer one."""
    return old_process_stats("pss", pid, children)


def get_system_stats() -> dict[str, Any]:
    """What the machine has used until now: in clock ticks, kB and sectors, as version 0.1.
    tracker_procfs.get_system_stats is the newer one."""
    return old_system_stats()
