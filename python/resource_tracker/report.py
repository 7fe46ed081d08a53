# SPDX-License-Identifier: Apache-2.0
"""The report as an HTML page. The program creates the page from the facts of the run, which are a JSON report
(schema spoor/1) without curves and with few figures, and from the rows of the combined metrics.

Facts and rows are also available in a tracker that was loaded from a file. The object `context` of the report
contains further data for the page: earlier runs, servers to rent, and the integration.
"""
from __future__ import annotations

import os
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence

from spoor._program import Error
from spoor._result import Page, make_page

from .column_maps import BYTES_PER_UNIT
from .helpers import aggregate_stats

if TYPE_CHECKING:
    from .tracker import ResourceTracker

Cells = Sequence[Optional[float]]
Frame = Mapping[str, Cells]
Stats = Mapping[str, Mapping[str, Any]]

_INTEGRATIONS = ("standalone", "Metaflow", "R")
_MIB = 1 << 20
# The names of a column in all versions, and the path of the more accurate total of the run.
_PEAK_MEMORY = (("memory_mib", "memory", "pss"), "memory.combined.total_rss_bytes")
_PEAK_VRAM = (("gpu_vram_mib", "gpu_vram"), "gpu.memory.combined_bytes")


class Report(Page):
    """The text of the page. save() writes it to a file, browse() opens it in a web browser, and a
    notebook shows it."""


# GPU figures, which are 0 in the rows of a machine without GPUs.
_GPU_FIGURES = ("memory.combined_bytes", "memory.system_bytes", "utilization.mean_gpus",
                "utilization.max_gpus", "job_utilization.mean_gpus", "job_utilization.max_gpus")
_NO_GPU = {"value": None, "source": None, "exact": False, "reason": "this machine has no GPU"}


# ---- the rows ----

def build_rows(facts: Mapping[str, Any], frame: Frame, has_gpu: bool) -> str:
    """Returns the combined metrics as CSV, with the time since the start of the run, which never
    decreases, and without columns that are meaningless here."""
    import csv
    import io

    times: Sequence[float] = frame.get("timestamp", ())  # type: ignore[assignment]
    elapsed = accumulate((max(0.0, round(now - facts["start_time"], 6)) for now in times), max)
    columns: dict[str, Iterable[Any]] = {"run_id": [_run_id(facts)] * len(times), "elapsed_seconds": elapsed}
    for name in ("process_pid", "system_processes"):  # the program recognizes the tables by these columns
        columns[name] = [None] * len(times)
    columns.update((name, cells) for name, cells in frame.items() if has_gpu or "gpu" not in name)
    children = columns.pop("process_children", None)
    if children is not None and facts["children"]:
        columns["process_children"] = [cell or 0 for cell in children]  # None means no children
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))
    return file.getvalue()


# ---- facts ----

def _place(report: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        report = report.setdefault(section, {})
    report[key] = value


def _date(seconds: float) -> str:
    """Formats a time as 2026-03-14T09:26:53.589Z."""
    from datetime import datetime, timezone

    text = datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _run_id(facts: Mapping[str, Any]) -> str:
    from hashlib import sha256

    name = f"{facts.get('host')} {facts['pid']} {facts['start_time']!r}"
    return sha256(name.encode(errors="replace")).hexdigest()[:32]


def _build_run(facts: Mapping[str, Any], rows: int) -> dict[str, Any]:
    start, stop = facts["start_time"], facts["stop_time"]
    ending: dict[str, Any] = {"exit_code": facts.get("exit_code"), "signal": None, "attached": True}
    if facts.get("is_running"):
        ending["still_running"] = True
    return {"id": _run_id(facts), "name": facts.get("name"),
            "tags": {}, "command": facts.get("command"), "pid": facts["pid"],
            "host": facts.get("host"), "user": None, "cwd": None, "started_at": _date(start),
            "ended_at": _date(stop), "elapsed_seconds": max(0.0, stop - start), **ending,
            "interval_seconds": facts["interval"], "samples": rows,
            "spoor_version": facts.get("spoor_version")}


def _build_host(server: Mapping[str, Any], cloud: Mapping[str, Any] | None) -> dict[str, Any]:
    memory = server.get("memory_mib")
    names = server.get("gpu_names") or []
    gpu_memory = server.get("gpu_memory_mib")
    gpu_bytes = round(gpu_memory * _MIB) if gpu_memory and len(names) == 1 else None
    gpus = [{"index": index, "part": None, "uuid": None, "name": name, "vendor": None,
             "pci_address": None, "memory_bytes": gpu_bytes, "is_part": False}
            for index, name in enumerate(names)]
    return {"os": server.get("os"), "kernel": None, "cpu_model": server.get("cpu_model"),
            "cpus": server.get("vcpus"), "memory_bytes": memory and round(memory * _MIB),
            "gpus": gpus, "cloud": dict(cloud or {})}


def build_report(facts: Mapping[str, Any], rows: int, server: Mapping[str, Any],
                 cloud: Mapping[str, Any] | None, totals: Mapping[str, Any],
                 context: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of a run as a JSON report.

    facts are the metadata of a snapshot, with `name`, `is_running` and `spoor_version`. totals
    replace figures from the rows. context comes from an integration.
    """
    report: dict[str, Any] = {"schema": "spoor/1", "run": _build_run(facts, rows),
                              "host": _build_host(server, cloud), "context": dict(context)}
    for path, measure in totals.items():
        _place(report, path, measure)
    for path in _GPU_FIGURES if server.get("gpu_count") == 0 else ():
        _place(report, f"gpu.{path}", _NO_GPU)
    _place(report, "gpu.count", server.get("gpu_count"))
    return report


# ---- recommendations ----

def _peak_bytes(runs: Sequence[Stats], source: tuple[tuple[str, ...], str]) -> float | None:
    """Returns the largest value of all runs, including peaks between two rows if they are known."""
    names, path = source
    peaks = []
    for run in runs:
        exact = run.get("run_totals", {}).get(path)
        peaks += [] if exact is None else [exact]
        for name in names:
            value = run.get(f"process_{name}", {}).get("max")
            peaks += [] if value is None else [value * BYTES_PER_UNIT[name]]
    return max(peaks, default=None)


def recommend(runs: Sequence[Stats]) -> dict[str, Any]:
    """Returns the object `recommendation` of a report for stats() of one or more runs. The
    program computes it with the formulas of resource-tracker."""
    from ._tracking import ask_agent

    stats, memory = aggregate_stats(runs), _peak_bytes(runs, _PEAK_MEMORY)
    if memory is None:
        raise RuntimeError("the memory of the process is not known")
    gpus = stats.get("process_gpu_usage", {})
    durations = [run.get("timestamp", {}).get("duration") for run in runs]
    used = (stats.get("process_cpu_usage", {}).get("mean"), memory, gpus.get("mean"), gpus.get("max"),
            _peak_bytes(runs, _PEAK_VRAM), max(filter(None, durations), default=None), len(runs))
    answer: dict[str, Any] = ask_agent(
        "recommend", *("" if number is None else repr(float(number)) for number in used))
    return dict(answer["recommendation"])


def get_needs(recommendation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns {"cpu": N, "memory": MiB, "gpu": N, "vram": MiB}; None is unknown."""
    return {name: None if recommendation[key]["value"] is None else
            round(recommendation[key]["value"] / unit)
            for name, key, unit in (("cpu", "cpus", 1), ("memory", "memory_bytes", _MIB),
                                    ("gpu", "gpus", 1), ("vram", "vram_bytes", _MIB))}


# ---- context ----

_VALUES = (  # name of the value here, and its column and name in stats()
    ("elapsed_seconds", "timestamp", "duration"),
    ("cpu_mean_cores", "process_cpu_usage", "mean"),
    ("cpu_max_cores", "process_cpu_usage", "max"),
    ("gpu_mean_gpus", "process_gpu_usage", "mean"),
    ("gpu_max_gpus", "process_gpu_usage", "max"),
    ("received_bytes", "system_net_recv_bytes", "sum"),
    ("sent_bytes", "system_net_sent_bytes", "sum"))


def describe_run(stats: Stats) -> dict[str, Any]:
    """Converts a result of stats() to base units."""
    run = {name: stats.get(column, {}).get(value) for name, column, value in _VALUES}
    memory = None
    for name in _PEAK_MEMORY[0]:
        mean = stats.get(f"process_{name}", {}).get("mean")
        memory = memory if mean is None else mean * BYTES_PER_UNIT[name]
    return {**run, "memory_mean_bytes": memory, "memory_peak_bytes": _peak_bytes([stats], _PEAK_MEMORY),
            "gpu_memory_peak_bytes": _peak_bytes([stats], _PEAK_VRAM)}


def _forget_gpus(runs: Sequence[dict[str, Any]]) -> None:
    """Removes GPU figures that are 0 in all runs, as on machines without GPUs."""
    names = [name for name in runs[0] if name.startswith("gpu_")]
    if not any(run[name] for run in runs for name in names):
        for run in runs:
            run.update(dict.fromkeys(names))


def describe_cloud(cloud: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Returns the known facts of get_cloud_info()."""
    known = {key: value for key, value in (cloud or {}).items()
             if key in ("vendor", "instance_type", "region") and value != "unknown"}
    return known or None


def describe_server(server: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a server of the keeper: see keeper.get_recommended_cloud_servers()."""
    memory = server.get("memory_amount")
    return {"vendor": server.get("vendor_id"),
            "name": server.get("api_reference") or server.get("server_id"),
            "cpus": server.get("vcpus"), "memory_bytes": memory and round(memory * _MIB),
            "gpus": server.get("gpu_count"), "usd_per_hour": server.get("min_price_ondemand")}


def build_context(integration: str, status_failed: bool, history: Sequence[Stats],
                  current: Stats, recommendation: Mapping[str, Any] | None,
                  servers: Sequence[Mapping[str, Any]], servers_reason: str | None,
                  usd_per_hour: float | None, allocation: str | None) -> dict[str, Any]:
    """Returns the context of a report. recommendation is based on this run and the earlier runs."""
    this = describe_run(current)
    elapsed = this["elapsed_seconds"]
    cost = None if usd_per_hour is None or elapsed is None else usd_per_hour * elapsed / 3600
    earlier = [describe_run(run) for run in history]
    _forget_gpus([this, *earlier])
    return {"integration": None if integration == "standalone" else integration,
            "status_failed": status_failed, "allocation": allocation, "current": this,
            "historical": earlier, "recommendation": recommendation,
            "servers": [describe_server(server) for server in servers],
            "servers_reason": servers_reason, "usd_per_hour": usd_per_hour, "cost_usd": cost}


# ---- the page ----

def _find_servers(recommendation: Mapping[str, Any] | None, count: int,
                  catalog: str | os.PathLike[str] | None) -> tuple[list[dict[str, Any]], str | None]:
    """Returns servers for the next run, or the reason why there are none."""
    from .keeper import get_recommended_cloud_servers

    if recommendation is None or count == 0:
        return [], None
    try:
        servers = get_recommended_cloud_servers(n=count, catalog=catalog,
                                                **get_needs(recommendation))
    except Error as error:
        return [], str(error)
    return servers, None if servers else "no server is large enough"


def _find_price(cloud: Mapping[str, Any] | None,
                catalog: str | os.PathLike[str] | None) -> float | None:
    """Returns the price of this server in US dollars per hour."""
    from .keeper import get_instance_price

    words = [(cloud or {}).get(key, "unknown") for key in ("vendor", "region", "instance_type")]
    return None if "unknown" in words else get_instance_price(*words, catalog=catalog)


def make_report(tracker: ResourceTracker, integration: str, history: Sequence[Mapping[str, Any]],
                status_failed: bool, integration_version: str | None, name: str | None,
                server_count: int, catalog: str | os.PathLike[str] | None) -> Report:
    """See ResourceTracker.report()."""
    if integration not in _INTEGRATIONS:
        raise ValueError(f"invalid integration {integration!r}: expected 'standalone', 'Metaflow' or "
                         "'R'")
    if tracker.running:
        tracker.wait_for_samples(1, timeout=max(5, 5 * tracker.interval))
    import spoor

    current, server, cloud = tracker.stats(), tracker.server_info, tracker.cloud_info
    runs = [current, *history]
    has_memory = tracker.track_processes and _peak_bytes(runs, _PEAK_MEMORY) is not None
    recommendation = recommend(runs) if has_memory else None
    servers, reason = _find_servers(recommendation, server_count, catalog)
    context = build_context(integration, status_failed, history, current, recommendation, servers, reason,
                            _find_price(cloud, catalog) if server_count else None,
                            (server or {}).get("allocation"))
    context.update(integration_version=integration_version, cloud=describe_cloud(cloud))
    facts: dict[str, Any] = {**tracker._metadata(), "name": name, "is_running": tracker.running,
             "spoor_version": spoor.__version__}
    if integration == "Metaflow":
        facts["exit_code"] = int(status_failed)  # the exit code of the task
    table = tracker.get_combined_metrics()
    frame = {column: table[column] for column in table.columns}
    server = server or {}
    report = build_report(facts, len(table), server, cloud, tracker.run_totals, context)
    return Report(make_page(report, build_rows(facts, frame, server.get("gpu_count") != 0)))
