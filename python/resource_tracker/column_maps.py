# SPDX-License-Identifier: Apache-2.0
"""The columns of each generation of the API: their names, units and order, and the computation of a row from two
readings.

A dialect has the same name as in spoor's option --dialect. docs/DIALECTS.md describes the columns.
"""
from __future__ import annotations

import functools
import os
from typing import Any, Callable, Mapping

Reading = Mapping[str, Any]

_KIB, _MIB, _GIB, _GB = 1024, 1024 ** 2, 1024 ** 3, 10 ** 9

HUMAN_NAMES_MAPPING = {
    "timestamp": "Timestamp",
    "processes": "processes",
    "pid": "PID",
    "children": "children",
    "utime": "CPU time (user)",
    "stime": "CPU time (system)",
    "cpu_usage": "CPU usage",
    "memory_mib": "memory usage",
    "memory_free_mib": "free memory",
    "memory_used_mib": "used memory",
    "memory_buffers_mib": "memory buffers",
    "memory_cached_mib": "memory page/file cached",
    "memory_active_mib": "active memory",
    "memory_inactive_mib": "inactive memory",
    "disk_read_bytes": "disk read",
    "disk_write_bytes": "disk write",
    "disk_space_total_gb": "disk space total",
    "disk_space_used_gb": "disk space used",
    "disk_space_free_gb": "disk space free",
    "net_recv_bytes": "inbound network traffic",
    "net_sent_bytes": "outbound network traffic",
    "gpu_usage": "GPU usage",
    "gpu_vram_mib": "VRAM used",
    "gpu_utilized": "GPUs in use",
    # Names in older versions.
    "pss": "memory usage",
    "read_bytes": "disk read",
    "write_bytes": "disk write",
    "memory_active_anon": "active anonymous memory",
    "memory_inactive_anon": "inactive anonymous memory",
}
HUMAN_NAMES_MAPPING.update({name[:-len("_mib")]: title for name, title in HUMAN_NAMES_MAPPING.items()
                            if name.endswith("_mib")})

# Bytes per unit, for columns in units other than bytes.
BYTES_PER_UNIT = {name: _MIB for name in HUMAN_NAMES_MAPPING if name.endswith("_mib")}
BYTES_PER_UNIT.update((name, _GB) for name in HUMAN_NAMES_MAPPING if name.endswith("_gb"))
BYTES_PER_UNIT.update((name, _KIB) for name in HUMAN_NAMES_MAPPING
                      if name == "pss" or (name.startswith("memory") and not name.endswith("_mib")))
BYTES_PER_UNIT["gpu_vram"] = _MIB

# The server is shared if, on average, the whole machine uses more than the process, by this factor
# or by this amount: process column, system column, factor, amount.
SERVER_ALLOCATION_CHECKS = (
    ("cpu_usage", "cpu_usage", 1.25, 0.25),
    ("memory_mib", "memory_used_mib", 1.5, 512),
    ("gpu_usage", "gpu_usage", 1.25, 0.2),
    ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512),
)

NEWEST = "resource-tracker"
README = "resource-tracker-0.3"
OLDEST = "resource-tracker-0.1"
DIALECTS = (NEWEST, README, OLDEST)

# name, kind, decimals; "-" for values that are not rounded
_OLD_PROCESS = """
    timestamp now -, pid now 0, children now 0, utime delta 0, stime delta 0,
    cpu_usage cores 4, {memory} now 0, read_bytes delta 0, write_bytes delta 0,
    gpu_usage now -, gpu_vram now -, gpu_utilized now 0"""
_OLD_SYSTEM = """
    timestamp now -, processes now 0, utime delta 0, stime delta 0, cpu_usage cores 4,
    memory_free now 0, memory_used now 0, memory_buffers now 0, memory_cached now 0,
    memory_active{anon} now 0, memory_inactive{anon} now 0,
    disk_read_bytes disk 0, disk_write_bytes disk 0, disk_space_total_gb space 2,
    disk_space_used_gb space 2, disk_space_free_gb space 2, net_recv_bytes delta 0,
    net_sent_bytes delta 0, gpu_usage now -, gpu_vram now -, gpu_utilized now 0"""
_PROCESS = {
    NEWEST: """
        timestamp now 3, pid now 0, children some 0, utime delta 6, stime delta 6,
        cpu_usage cores 4, memory_mib now 4, disk_read_bytes delta 0, disk_write_bytes delta 0,
        gpu_usage now 4, gpu_vram_mib now 4, gpu_utilized now 0""",
    README: _OLD_PROCESS.format(memory="memory"), OLDEST: _OLD_PROCESS.format(memory="pss")}
_SYSTEM = {
    NEWEST: """
        timestamp now 3, processes now 0, utime delta 6, stime delta 6, cpu_usage cores 4,
        memory_free_mib now 4, memory_used_mib now 4, memory_buffers_mib now 4,
        memory_cached_mib now 4, memory_active_mib now 4, memory_inactive_mib now 4,
        disk_read_bytes disk 0, disk_write_bytes disk 0, disk_space_total_gb space 2,
        disk_space_used_gb space 2, disk_space_free_gb space 2, net_recv_bytes delta 0,
        net_sent_bytes delta 0, gpu_usage now 4, gpu_vram_mib now 4, gpu_utilized now 0""",
    README: _OLD_SYSTEM.format(anon=""), OLDEST: _OLD_SYSTEM.format(anon="_anon")}
_TABLES = {"process": _PROCESS, "system": _SYSTEM}


def check_dialect(dialect: str) -> str:
    if dialect not in DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}: expected one of {', '.join(DIALECTS)}")
    return dialect


@functools.lru_cache(None)
def columns_of(table: str, dialect: str) -> dict[str, tuple[str, int | None]]:
    """Returns the columns of the table "process" or "system": their kind, a key of _KINDS, and
    their number of decimals. 0: the values are ints; None: the values are not rounded."""
    columns = {}
    for text in _TABLES[table][check_dialect(dialect)].split(","):
        name, kind, decimals = text.split()
        columns[name] = (kind, None if decimals == "-" else int(decimals))
    return columns


def ticks_per_second(dialect: str) -> float:
    """Returns units of CPU time per second: older versions counted in clock ticks."""
    return 1 if dialect == NEWEST else os.sysconf("SC_CLK_TCK")


def bytes_per_unit(column: str, dialect: str) -> int | None:
    """Returns the bytes per unit of a column. None if the unit is a byte, or if the column does
    not count bytes."""
    if dialect != NEWEST and column.startswith("disk_space_"):
        return _GIB
    return BYTES_PER_UNIT.get(column)


def _delta(name: str, now: Reading, before: Reading, dialect: str) -> Any:
    """Returns the increase of a counter. A counter that has decreased was reset."""
    if now[name] is None or before[name] is None:
        return None
    return max(0, now[name] - before[name])


def _cores(name: str, now: Reading, before: Reading, dialect: str) -> Any:
    used = [_delta(name, now, before, dialect) for name in ("utime", "stime")]
    elapsed = now["timestamp"] - before["timestamp"]
    if None in used or elapsed <= 0:
        return None
    return sum(used) / elapsed / ticks_per_second(dialect)


def _disk(name: str, now: Reading, before: Reading, dialect: str) -> int:
    """Returns the sum over the disks that are in both readings, since disks may be added or
    removed in between."""
    way = name.split("_")[1]  # read, write

    def transferred(disk: Reading) -> int:
        sectors = disk.get(f"{way}_sectors")
        found: int = disk[f"{way}_bytes"] if sectors is None else 512 * sectors
        return found

    disks, disks_before = now["disk_stats"], before["disk_stats"]
    return sum(max(0, transferred(disks[disk]) - transferred(disks_before[disk]))
               for disk in disks if disk in disks_before)


def _space(name: str, now: Reading, before: Reading, dialect: str) -> float:
    part = name.split("_")[2]  # total, used, free
    unit = bytes_per_unit(name, dialect) or 1
    total: int = sum(mount[part] for mount in now["disk_spaces"].values())
    return total / unit


_KINDS: dict[str, Callable[[str, Reading, Reading, str], Any]] = {
    "now": lambda name, now, before, dialect: now[name],
    "some": lambda name, now, before, dialect: now[name] or None,
    "delta": _delta, "cores": _cores, "disk": _disk, "space": _space}


def make_row(table: str, dialect: str, now: Reading, before: Reading) -> dict[str, Any]:
    """Returns the row that covers the time between two readings."""
    row = {}
    for name, (kind, decimals) in columns_of(table, dialect).items():
        value = _KINDS[kind](name, now, before, dialect)
        if decimals == 0 and value is not None:
            value = int(value)
        elif decimals is not None and value is not None:
            value = round(value, decimals)
        row[name] = value
    return row
