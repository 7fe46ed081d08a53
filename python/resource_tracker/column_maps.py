# SPDX-License-Identifier: Apache-2.0
"""Names and units of columns, of every generation of the API."""
from __future__ import annotations

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
    # the names of older versions
    "memory": "memory usage",
    "pss": "memory usage",
    "read_bytes": "disk read",
    "write_bytes": "disk write",
    "memory_free": "free memory",
    "memory_used": "used memory",
    "memory_buffers": "memory buffers",
    "memory_cached": "memory page/file cached",
    "memory_active": "active memory",
    "memory_inactive": "inactive memory",
    "memory_active_anon": "active anonymous memory",
    "memory_inactive_anon": "inactive anonymous memory",
    "gpu_vram": "VRAM used",
}

# Bytes per unit of the columns whose unit is not a byte.
BYTES_PER_UNIT = {name: _MIB for name in HUMAN_NAMES_MAPPING if name.endswith("_mib")}
BYTES_PER_UNIT.update((name, _GB) for name in HUMAN_NAMES_MAPPING if name.endswith("_gb"))
BYTES_PER_UNIT.update((name, _KIB) for name in (
    "memory", "pss", "memory_free", "memory_used", "memory_buffers", "memory_cached",
    "memory_active", "memory_inactive", "memory_active_anon", "memory_inactive_anon"))
BYTES_PER_UNIT["gpu_vram"] = _MIB

# The server is shared with others if on average the whole machine uses more than the process, by
# this factor or by this amount: process column, system column, factor, amount.
SERVER_ALLOCATION_CHECKS = (
    ("cpu_usage", "cpu_usage", 1.25, 0.25),
    ("memory_mib", "memory_used_mib", 1.5, 512),
    ("gpu_usage", "gpu_usage", 1.25, 0.2),
    ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512),
)
