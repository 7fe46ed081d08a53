# SPDX-License-Identifier: Apache-2.0
"""What the page says beyond a JSON report: earlier runs, servers to rent, and the integration. It is
the object `context` of the report, in base units; what is not known is None."""
from __future__ import annotations

from math import ceil

from ._recommend import MEMORY, VRAM, peak_bytes
from .column_maps import BYTES_PER_UNIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    Stats = Mapping[str, Mapping[str, Any]]

_MIB = 1 << 20
_VALUES = (  # name here, column and value of stats()
    ("elapsed_seconds", "timestamp", "duration"),
    ("cpu_mean_cores", "process_cpu_usage", "mean"),
    ("cpu_max_cores", "process_cpu_usage", "max"),
    ("gpu_mean_gpus", "process_gpu_usage", "mean"),
    ("gpu_max_gpus", "process_gpu_usage", "max"),
    ("received_bytes", "system_net_recv_bytes", "sum"),
    ("sent_bytes", "system_net_sent_bytes", "sum"))


def describe_run(stats: Stats) -> dict[str, Any]:
    """A result of stats() in base units."""
    run = {name: stats.get(column, {}).get(value) for name, column, value in _VALUES}
    memory = None
    for name in MEMORY[0]:
        mean = stats.get(f"process_{name}", {}).get("mean")
        memory = memory if mean is None else mean * BYTES_PER_UNIT[name]
    return {**run, "memory_mean_bytes": memory, "memory_peak_bytes": peak_bytes([stats], MEMORY),
            "gpu_memory_peak_bytes": peak_bytes([stats], VRAM)}


def _forget_gpus(runs: Sequence[dict[str, Any]]) -> None:
    """Of a machine without GPUs, all runs have 0: that says nothing."""
    names = [name for name in runs[0] if name.startswith("gpu_")]
    if not any(run[name] for run in runs for name in names):
        for run in runs:
            run.update(dict.fromkeys(names))


def _need(value: float | None, why: str) -> dict[str, Any]:
    return {"value": value, "guess": False, "why": why}


def describe_needs(needs: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What recommend_resources() says, as the object `recommendation` of a report. runs are results of
    describe_run()."""
    of = "" if len(runs) == 1 else f" of {len(runs)} runs"
    seconds = max((run["elapsed_seconds"] for run in runs if run["elapsed_seconds"]), default=None)
    margin = "times 1.2, rounded up to the next step"
    return {
        "cpus": _need(needs["cpu"], f"used on average{of}, rounded; at least 1"),
        "memory_bytes": _need(needs["memory"] * _MIB, f"the peak{of}, {margin}"),
        "gpus": _need(needs["gpu"], f"the most in use{of}, rounded"),
        "vram_bytes": _need(needs["vram"] and needs["vram"] * _MIB, f"the peak{of}, {margin}"),
        "seconds": _need(seconds and 60 * ceil(seconds * 1.2 / 60),
                         f"the longest time{of}, times 1.2, rounded up to whole minutes")}


def describe_cloud(cloud: Mapping[str, Any] | None) -> dict[str, str] | None:
    """What is known of the result of get_cloud_info()."""
    known = {key: value for key, value in (cloud or {}).items()
             if key in ("vendor", "instance_type", "region") and value != "unknown"}
    return known or None


def describe_server(server: Mapping[str, Any]) -> dict[str, Any]:
    """A server of the keeper, see keeper.get_recommended_cloud_servers()."""
    memory = server.get("memory_amount")
    return {"vendor": server.get("vendor_id"),
            "name": server.get("api_reference") or server.get("server_id"),
            "cpus": server.get("vcpus"), "memory_bytes": memory and round(memory * _MIB),
            "gpus": server.get("gpu_count"), "usd_per_hour": server.get("min_price_ondemand")}


def build_context(integration: str, status_failed: bool, history: Sequence[Stats],
                  current: Stats, needs: Mapping[str, Any] | None,
                  servers: Sequence[Mapping[str, Any]], servers_reason: str | None,
                  usd_per_hour: float | None, allocation: str | None) -> dict[str, Any]:
    """needs are those of recommend_resources(), of this run and of the earlier ones."""
    this = describe_run(current)
    elapsed = this["elapsed_seconds"]
    cost = None if usd_per_hour is None or elapsed is None else usd_per_hour * elapsed / 3600
    earlier = [describe_run(run) for run in history]
    _forget_gpus([this, *earlier])
    return {"integration": None if integration == "standalone" else integration,
            "status_failed": status_failed, "allocation": allocation, "current": this,
            "historical": earlier,
            "recommendation": None if needs is None else describe_needs(needs, [this, *earlier]),
            "servers": [describe_server(server) for server in servers],
            "servers_reason": servers_reason, "usd_per_hour": usd_per_hour, "cost_usd": cost}
