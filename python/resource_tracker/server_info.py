# SPDX-License-Identifier: Apache-2.0
"""Facts about this machine."""
from __future__ import annotations

import os
from typing import Any

from spoor._agent import Call

_MIB = 1 << 20


def get_server_info() -> dict[str, Any]:
    """Returns os, vcpus, memory_mib; gpu_count, gpu_names, gpu_name (the most common one) and
    gpu_memory_mib (of all GPUs). Also returns other facts found by spoor: cpu_model,
    architecture, sockets, cores, threads, numa_nodes, caches, disks, hypervisor, container, and
    vendor and model of the machine. None is unknown."""
    found = Call("resource-tracker", "server").result()["machine"]
    host = found["host"]
    names = [gpu["name"] or "" for gpu in host["gpus"]]
    gpu_bytes = sum(gpu["memory_bytes"] or 0 for gpu in host["gpus"])
    return {"os": os.uname().sysname, "vcpus": host["cpus"],
            "memory_mib": round(host["memory_bytes"] / _MIB, 2), "gpu_count": len(names),
            "gpu_names": names, "gpu_name": max(names, key=names.count, default=""),
            "gpu_memory_mib": round(gpu_bytes / _MIB, 2), "cpu_model": host["cpu_model"],
            **found["server"]}
