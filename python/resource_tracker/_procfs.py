# SPDX-License-Identifier: Apache-2.0
"""One process, as /proc shows it. A process that has ended has no children and uses nothing."""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

_GONE = (ProcessLookupError, FileNotFoundError)


def _children(pid: int) -> Iterator[int]:
    """Those of every thread: a child belongs to the thread that started it."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except _GONE:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                yield from map(int, file.read().split())
        except _GONE:
            pass


def get_pid_children(pid: int) -> set[int]:
    """The pids of all descendants."""
    found: set[int] = set()
    parents = [pid]
    while parents:
        for child in _children(parents.pop()):
            if child not in found:
                found.add(child)
                parents.append(child)
    return found


def _kilobytes(path: str, key: str) -> int:
    """The value of a line such as "VmRSS:   1234 kB"."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
    except _GONE:
        pass
    return 0


def get_pid_rss(pid: int) -> int:
    """The resident memory of a process, in kB."""
    return _kilobytes(f"/proc/{pid}/status", "VmRSS")


def get_pid_pss_rollup(pid: int) -> int:
    """The memory of a process with shared pages divided among those that share them, in kB."""
    return _kilobytes(f"/proc/{pid}/smaps_rollup", "Pss")


def get_pid_proc_times(pid: int, children: bool = True) -> dict[str, int]:
    """CPU time in clock ticks, {"utime": N, "stime": N}. With children, the time of those that
    have ended and were waited for is included."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # a name may contain anything
    except _GONE:
        return {"utime": 0, "stime": 0}
    utime, stime, cutime, cstime = map(int, fields[11:15])
    return {"utime": utime + (cutime if children else 0),
            "stime": stime + (cstime if children else 0)}


def get_pid_proc_io(pid: int) -> dict[str, int]:
    """The counters of /proc/PID/io. Without permission, only read_bytes and write_bytes, as 0."""
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return {name: int(value) for name, _, value in
                    (line.partition(": ") for line in file)}
    except (*_GONE, PermissionError):
        return {"read_bytes": 0, "write_bytes": 0}
