# SPDX-License-Identifier: Apache-2.0
"""Readings of the usage of a process or the machine so far, in the units of each generation of the API.

The figures come from an agent of resource-tracker, which is started for the first reading and exits with this
process. The functions of version 0.1 for a single process read /proc themselves: for a process that has exited, they
return no children and no usage.
"""
from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Iterator

from spoor._program import NoProcessError
from spoor._run import stat_fields

from .column_maps import NEWEST, OLDEST, README

__all__ = ["get_process_stats", "get_system_stats"]

_GONE = (ProcessLookupError, FileNotFoundError)
_GPU_KEYS = ("gpu_usage", "gpu_vram_mib", "gpu_utilized")


def _ask(op: str, *arguments: str) -> dict[str, Any]:
    from ._tracking import ask_agent

    return ask_agent(op, *arguments)


def _may_have_gpus() -> bool:
    from spoor import _library

    return _library.may_have_gpus()


def _with_gpus(stats: dict[str, Any]) -> dict[str, Any]:
    """Sets GPU figures to 0 if there is no GPU; otherwise, None means unknown."""
    unknown = None if _may_have_gpus() else 0
    for key in _GPU_KEYS:
        if stats.get(key) is None:
            stats[key] = unknown
    return stats


def get_process_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """The usage of a process so far, with its descendants unless children is False.

    timestamp; pid; children: the number of descendants; utime, stime: CPU seconds; memory_mib:
    memory in use, shared pages divided among the processes that share them; disk_read_bytes,
    disk_write_bytes; gpu_usage: between 0 and the number of GPUs; gpu_vram_mib; gpu_utilized:
    the number of GPUs in use; gpu_utilized_indexes. A process that has ended uses nothing.
    """
    try:
        stats = _ask("process-stats", str(pid), "true" if children else "false")["stats"]
    except NoProcessError:
        import time

        stats = dict.fromkeys(("utime", "stime", "memory_mib", "disk_read_bytes",
                               "disk_write_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"), 0)
        stats = {"timestamp": time.time(), "pid": pid, "children": 0 if children else None, **stats}
    indexes = stats.pop("gpu_utilized_indexes", None)
    return {**_with_gpus(stats), "gpu_utilized_indexes": set(indexes or ())}


def get_system_stats() -> dict[str, Any]:
    """The usage of the machine since it was started, and the memory and disk space in use.

    timestamp; processes; utime, stime: CPU seconds; memory_free_mib, memory_used_mib,
    memory_buffers_mib, memory_cached_mib, memory_active_mib, memory_inactive_mib; disk_stats:
    {disk: {read_bytes, write_bytes}} of whole disks; disk_spaces: {mount point: {total, used,
    free}} in bytes; net_recv_bytes, net_sent_bytes: without the loopback device; gpu_usage,
    gpu_vram_mib, gpu_utilized.
    """
    answer = _ask("system-stats")
    stats = {**answer["stats"], **answer.get("gpus", {})}
    stats.pop("gpu_utilized_indexes", None)
    return _with_gpus(stats)


def _sum_known(values: list[Any]) -> Any:
    return None if None in values else sum(values)


def get_gpu_stats(pids: Iterable[int] | None) -> dict[str, Any]:
    """Returns the GPU usage of these processes, without their children; None: of all processes."""
    if not _may_have_gpus():
        return {**dict.fromkeys(_GPU_KEYS, 0), "gpu_utilized_indexes": set()}
    if pids is None:
        stats = _ask("system-stats").get("gpus", {})
        parts = [{**_with_gpus(stats),
                  "gpu_utilized_indexes": set(stats.get("gpu_utilized_indexes") or ())}]
    else:
        parts = [get_process_stats(pid, children=False) for pid in pids]
    total = {key: _sum_known([part[key] for part in parts]) for key in _GPU_KEYS}
    indexes: set[int] = set().union(*(part["gpu_utilized_indexes"] for part in parts))
    if total["gpu_utilized"] is not None:
        total["gpu_utilized"] = len(indexes)  # processes may share a GPU
    return {**total, "gpu_utilized_indexes": indexes}


# ---- older units ----

def _scaled(value: float | None, factor: float) -> int | None:
    return None if value is None else int(value * factor + 0.5)


def _ticks(seconds: float | None) -> int | None:
    return _scaled(seconds, os.sysconf("SC_CLK_TCK"))


def old_process_stats(memory: str, pid: int, children: bool) -> dict[str, Any]:
    """Returns get_process_stats() in clock ticks and kB; `memory` is the key for the memory."""
    stats = get_process_stats(pid, children)
    return {"timestamp": stats["timestamp"], "pid": pid, "children": stats["children"],
            "utime": _ticks(stats["utime"]), "stime": _ticks(stats["stime"]),
            memory: _scaled(stats["memory_mib"], 1024),
            "read_bytes": stats["disk_read_bytes"], "write_bytes": stats["disk_write_bytes"],
            "gpu_usage": stats["gpu_usage"], "gpu_vram": stats["gpu_vram_mib"],
            "gpu_utilized": stats["gpu_utilized"],
            "gpu_utilized_indexes": stats["gpu_utilized_indexes"]}


def _meminfo() -> dict[str, int]:
    """Returns /proc/meminfo, in kB."""
    found = {}
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            found[name] = int(value.split()[0])
    return found


def _old_system_stats(active: str, inactive: str) -> dict[str, Any]:
    """Returns get_system_stats() in clock ticks and kB. Used memory is all memory except free
    memory, buffers and page cache. The arguments are names in /proc/meminfo."""
    stats, memory = get_system_stats(), _meminfo()
    parts = {name: memory.get(name, 0) for name in ("MemFree", "Buffers", "Cached")}
    old = {"timestamp": stats["timestamp"], "processes": stats["processes"],
           "utime": _ticks(stats["utime"]), "stime": _ticks(stats["stime"]),
           "memory_free": parts["MemFree"],
           "memory_used": max(0, memory["MemTotal"] - sum(parts.values())),
           "memory_buffers": parts["Buffers"], "memory_cached": parts["Cached"]}
    for name in (active, inactive):
        old["memory_" + name.lower().replace("(", "_").rstrip(")")] = memory.get(name)
    for name in ("disk_stats", "disk_spaces", "net_recv_bytes", "net_sent_bytes", "gpu_usage"):
        old[name] = stats[name]
    return {**old, "gpu_vram": stats["gpu_vram_mib"], "gpu_utilized": stats["gpu_utilized"]}


def _readme_system_stats() -> dict[str, Any]:
    return _old_system_stats("Active", "Inactive")


def old_system_stats() -> dict[str, Any]:
    """Returns the usage of the machine so far in clock ticks, kB and sectors of 512 bytes, as version 0.1
    did. get_system_stats() is the newer function."""
    old = _old_system_stats("Active(anon)", "Inactive(anon)")
    old["disk_stats"] = {disk: {"read_sectors": total["read_bytes"] // 512,
                                "write_sectors": total["write_bytes"] // 512}
                         for disk, total in old["disk_stats"].items()}
    return old


PROCESS_READERS: dict[str, Callable[[int, bool], dict[str, Any]]] = {
    NEWEST: get_process_stats,
    README: lambda pid, children: old_process_stats("memory", pid, children),
    OLDEST: lambda pid, children: old_process_stats("pss", pid, children)}
SYSTEM_READERS: dict[str, Callable[[], dict[str, Any]]] = {
    NEWEST: get_system_stats, README: _readme_system_stats, OLDEST: old_system_stats}


# ---- one process, from /proc ----

def _children(pid: int) -> Iterator[int]:
    """Yields the children of every thread: the kernel lists a child under the thread that
    started the child."""
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
    """Returns the PIDs of all descendants."""
    found: set[int] = set()
    parents = [pid]
    while parents:
        for child in _children(parents.pop()):
            if child not in found:
                found.add(child)
                parents.append(child)
    return found


def _kilobytes(path: str, key: str) -> int:
    """Returns the number in a line such as "VmRSS:   1234 kB"."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
    except _GONE:
        pass
    return 0


def get_pid_rss(pid: int) -> int:
    """Returns the resident memory of a process, in kB."""
    return _kilobytes(f"/proc/{pid}/status", "VmRSS")


def get_pid_pss_rollup(pid: int) -> int:
    """Returns the memory of a process in kB, with shared pages divided among the processes that
    share them."""
    return _kilobytes(f"/proc/{pid}/smaps_rollup", "Pss")


def get_pid_proc_times(pid: int, children: bool = True) -> dict[str, int]:
    """Returns CPU time in clock ticks, {"utime": N, "stime": N}. With children, includes the
    time of children that have exited and were waited for."""
    try:
        utime, stime, cutime, cstime = map(int, stat_fields(pid)[11:15])
    except _GONE:
        return {"utime": 0, "stime": 0}
    return {"utime": utime + (cutime if children else 0),
            "stime": stime + (cstime if children else 0)}


def get_pid_proc_io(pid: int) -> dict[str, int]:
    """Returns the counters of /proc/PID/io. Without permission, returns only read_bytes and
    write_bytes, as 0."""
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return {name: int(value) for name, _, value in
                    (line.partition(": ") for line in file)}
    except (*_GONE, PermissionError):
        return {"read_bytes": 0, "write_bytes": 0}
