# SPDX-License-Identifier: Apache-2.0
"""The report as an HTML page. The program makes it from a JSON report (schema spoor/1), which is built
here.

Everything is computed from the combined metrics, in bytes, and from run_totals, so that it works for a
tracker that was loaded from a file just as well. Figures that the tables do not have are left out: the
program reports them as unknown. The object `context` of the report has what a page shows beyond it:
earlier runs, servers to rent, and the integration.
"""
from __future__ import annotations

import os
from itertools import accumulate
from math import fsum
from operator import mul
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from spoor._program import Error
from spoor._result import Page, make_page

from .column_maps import BYTES_PER_UNIT, ticks_per_second
from .helpers import aggregate_stats

if TYPE_CHECKING:
    from .tracker import ResourceTracker

Cells = Sequence[Optional[float]]
Frame = Mapping[str, Cells]
Stats = Mapping[str, Mapping[str, Any]]

_INTEGRATIONS = ("standalone", "Metaflow", "R")
_MIB = 1 << 20
_SHORT_SECONDS = 10  # as in spoor's own reports
# Columns by the names of all versions, and the total of the run that is more exact.
_PEAK_MEMORY = (("memory_mib", "memory", "pss"), "memory.combined.total_rss_bytes")
_PEAK_VRAM = (("gpu_vram_mib", "gpu_vram"), "gpu.memory.combined_bytes")


class Report(Page):
    """The text of the page. save() writes it to a file, browse() opens it in a web browser, and a
    notebook shows it."""


class Track(NamedTuple):
    metric: str
    kind: str
    columns: tuple[str, ...]
    unit: str


_POINTS_MAX = 2000  # as a page
_SOURCE = "resource_tracker.rows"
_NO_GPU = "this machine has no GPU"
_MEMORY = ("process_memory_mib", "process_memory", "process_pss")
_READ = ("process_disk_read_bytes", "process_read_bytes")
_WRITTEN = ("process_disk_write_bytes", "process_write_bytes")
_VRAM = ("process_gpu_vram_mib", "process_gpu_vram")
_HOST_VRAM = ("system_gpu_vram_mib", "system_gpu_vram")
_HOST_MEMORY = ("system_memory_used_mib", "system_memory_used")

# The columns of the curve: metric, kind, the column by the names of all versions, and what a cell is:
# "value", "growth" during the row, "ticks" of CPU time during the row, or "children" of the process.
_CURVE = tuple(Track(*row) for row in (
    ("job_cpu_seconds", "rate", ("process_cpu_usage",), "value"),
    ("job_user_seconds", "rate", ("process_utime",), "ticks"),
    ("job_system_seconds", "rate", ("process_stime",), "ticks"),
    ("job_pss_bytes", "gauge", _MEMORY, "value"),
    ("job_processes", "gauge", ("process_children",), "children"),
    ("job_read_bytes", "rate", _READ, "growth"),
    ("job_written_bytes", "rate", _WRITTEN, "growth"),
    ("job_gpu_memory_bytes", "gauge", _VRAM, "value"),
    ("job_gpu_utilization_gpus", "gauge", ("process_gpu_usage",), "value"),
    ("host_cpu_seconds", "rate", ("system_cpu_usage",), "value"),
    ("host_cpu_user_seconds", "rate", ("system_utime",), "ticks"),
    ("host_cpu_system_seconds", "rate", ("system_stime",), "ticks"),
    ("host_memory_used_bytes", "gauge", _HOST_MEMORY, "value"),
    ("host_disk_read_bytes", "rate", ("system_disk_read_bytes",), "growth"),
    ("host_disk_written_bytes", "rate", ("system_disk_write_bytes",), "growth"),
    ("host_disk_space_used_bytes", "gauge", ("system_disk_space_used_gb",), "value"),
    ("host_disk_space_free_bytes", "gauge", ("system_disk_space_free_gb",), "value"),
    ("host_network_received_bytes", "rate", ("system_net_recv_bytes",), "growth"),
    ("host_network_sent_bytes", "rate", ("system_net_sent_bytes",), "growth"),
    ("host_gpu_memory_bytes", "gauge", _HOST_VRAM, "value"),
    ("host_gpu_utilization_gpus", "gauge", ("system_gpu_usage",), "value"),
))

# Figures: path, column, and how it is computed. run_totals replaces those that it has.
_FIGURES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("cpu.user_seconds", ("process_utime",), "cpu time"),
    ("cpu.system_seconds", ("process_stime",), "cpu time"),
    ("cpu.max_cores", ("process_cpu_usage",), "max"),
    ("cpu.system.mean_cores", ("system_cpu_usage",), "mean"),
    ("cpu.system.max_cores", ("system_cpu_usage",), "max"),
    ("memory.combined.total_rss_bytes", _MEMORY, "max"),
    ("memory.combined.pss_bytes", _MEMORY, "max"),
    ("memory.system_peak_bytes", _HOST_MEMORY, "max"),
    ("gpu.memory.combined_bytes", _VRAM, "max"),
    ("gpu.memory.system_bytes", _HOST_VRAM, "max"),
    ("gpu.utilization.mean_gpus", ("system_gpu_usage",), "mean"),
    ("gpu.utilization.max_gpus", ("system_gpu_usage",), "max"),
    ("gpu.job_utilization.mean_gpus", ("process_gpu_usage",), "mean"),
    ("gpu.job_utilization.max_gpus", ("process_gpu_usage",), "max"),
    ("io.read_bytes", _READ, "sum"),
    ("io.written_bytes", _WRITTEN, "sum"),
    ("network.received_bytes", ("system_net_recv_bytes",), "sum"),
    ("network.sent_bytes", ("system_net_sent_bytes",), "sum"),
)


def _find(frame: Frame, names: Sequence[str]) -> Cells | None:
    for name in names:
        if name in frame:
            return frame[name]
    return None


def _is_of_gpu(name: str) -> bool:
    return "gpu" in name


# ---- the curve ----

def _durations(times: Sequence[float], start: float) -> list[float]:
    """How long each row is."""
    return [max(0.0, now - before) for before, now in zip([start, *times], times)]


def _per_second(cells: Cells, durations: Sequence[float], unit: float = 1) -> list[float | None]:
    return [None if cell is None or duration <= 0 else cell / unit / duration
            for cell, duration in zip(cells, durations)]


def _convert(cells: Cells, unit: str, durations: Sequence[float], ticks: float) -> Cells:
    """The cells of a column as values of a metric."""
    if unit == "growth":
        return _per_second(cells, durations)
    if unit == "ticks":
        return _per_second(cells, durations, ticks)
    if unit == "children":
        return [1 + (cell or 0) for cell in cells]  # None: it has no children
    return cells


def _summarize(values: Cells, weights: Sequence[float]) -> tuple[float | None, ...]:
    """The highest, the lowest and the mean of some rows; the longer a row, the more it weighs."""
    if None in values:
        known = [(value, weight) for value, weight in zip(values, weights) if value is not None]
        if not known:
            return None, None, None
        values, weights = zip(*known)
    numbers: Sequence[float] = values  # type: ignore[assignment]
    total = fsum(weights)
    mean = fsum(map(mul, numbers, weights)) / total if total > 0 else fsum(numbers) / len(numbers)
    low, high = min(numbers), max(numbers)
    return high, low, min(max(mean, low), high)


def _reduce(values: Cells, weights: Sequence[float], step: int) -> dict[str, list[float | None]]:
    """A column of the curve: a point for each `step` rows."""
    if step == 1:
        return {"high": list(values)}
    points = [_summarize(values[row:row + step], weights[row:row + step])
              for row in range(0, len(values), step)]
    high, low, mean = (list(part) for part in zip(*points))
    return {"high": high} if low == high else {"high": high, "low": low, "mean": mean}


def _build_curve(frame: Frame, start: float, ticks: float, has_children: bool,
                 has_gpu: bool) -> dict[str, Any]:
    times: Sequence[float] = frame.get("timestamp", ())  # type: ignore[assignment]
    durations = _durations(times, start)
    step = max(1, -(-len(times) // _POINTS_MAX))
    columns: dict[str, dict[str, Any]] = {}
    for track in _CURVE:
        cells = _find(frame, track.columns)
        is_missing = _is_of_gpu(track.metric) and not has_gpu or (
            track.unit == "children" and not has_children)
        if cells is None or is_missing:
            continue
        values = _convert(cells, track.unit, durations, ticks)
        if any(value is not None for value in values):
            columns[track.metric] = {"kind": track.kind}
            columns[track.metric].update(_reduce(values, durations, step))
    # A clock may be set back.
    seconds = list(accumulate((max(0.0, round(now - start, 6)) for now in times), max))
    return {"samples": len(times), "columns": columns,
            "seconds": [seconds[min(row + step, len(times)) - 1] for row in range(0, len(times), step)]}


# ---- figures ----

def _measure(value: float | None, reason: str = "not tracked") -> dict[str, Any]:
    if value is None:
        return {"value": None, "source": None, "exact": False, "reason": reason}
    return {"value": value, "source": _SOURCE, "exact": False}


def _compute(how: str, values: Cells, durations: Sequence[float], ticks: float) -> float | None:
    known: list[float] = [value for value in values if value is not None]
    if not known:
        return None
    if how == "max":
        return max(known)
    if how == "mean":
        return _summarize(values, durations)[2]
    return fsum(known) / ticks if how == "cpu time" else fsum(known)


def _compute_figures(frame: Frame, durations: Sequence[float], elapsed: float, ticks: float,
                     totals: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path with its measure."""
    figures = {}
    for path, names, how in _FIGURES:
        cells = _find(frame, names)
        figures[path] = _measure(None if cells is None else _compute(how, cells, durations, ticks))
    parts = [figures[f"cpu.{part}_seconds"]["value"] for part in ("user", "system")]
    figures["cpu.total_seconds"] = _measure(None if None in parts else fsum(parts))
    children = _find(frame, ("process_children",))
    if children:
        figures["processes.max_concurrent"] = _measure(1 + max(cell or 0 for cell in children))
    figures.update((path, dict(measure)) for path, measure in totals.items())
    total = figures["cpu.total_seconds"]
    if total["value"] is not None and elapsed > 0:
        figures["cpu.mean_cores"] = {**total, "value": total["value"] / elapsed}
    yield from figures.items()


def _place(report: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        report = report.setdefault(section, {})
    report[key] = value


# ---- facts ----

def _date(seconds: float) -> str:
    """As in 2026-03-14T09:26:53.589Z."""
    from datetime import datetime, timezone

    text = datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _build_run(facts: Mapping[str, Any], rows: int) -> dict[str, Any]:
    from hashlib import sha256

    start, stop = facts["start_time"], facts["stop_time"]
    exit_code = facts.get("exit_code")
    ending: dict[str, Any] = {"exit_code": exit_code, "signal": None, "attached": True}
    if exit_code is None:
        ending["still_running"] = True
    name = f"{facts.get('host')} {facts['pid']} {start!r}"
    return {"id": sha256(name.encode(errors="replace")).hexdigest()[:32], "name": facts.get("name"),
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


def build_report(facts: Mapping[str, Any], frame: Frame, server: Mapping[str, Any] | None,
                 cloud: Mapping[str, Any] | None, totals: Mapping[str, Any],
                 context: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON report of a tracker.

    facts are the metadata of a snapshot, with `name`, `exit_code` and `spoor_version`; frame is
    get_combined_metrics(bytes=True); context is what an integration adds (_report_context.py).
    """
    times: Sequence[float] = frame.get("timestamp", ())  # type: ignore[assignment]
    ticks = ticks_per_second(facts["dialect"])
    server = server or {}
    has_gpu = server.get("gpu_count") != 0
    run = _build_run(facts, len(times))
    report: dict[str, Any] = {"schema": "spoor/1", "run": run, "host": _build_host(server, cloud)}
    for path, measure in _compute_figures(frame, _durations(times, facts["start_time"]),
                                          run["elapsed_seconds"], ticks, totals):
        is_missing = _is_of_gpu(path) and not has_gpu
        _place(report, path, _measure(None, _NO_GPU) if is_missing else measure)
    _place(report, "gpu.count", server.get("gpu_count"))
    report["curve"] = _build_curve(frame, facts["start_time"], ticks, facts["children"], has_gpu)
    report["phases"] = report["warnings"] = []
    report["context"] = dict(context)
    return report


# ---- recommendations ----

def _peak_bytes(runs: Sequence[Stats], source: tuple[tuple[str, ...], str]) -> float | None:
    """The largest one of all runs, between two rows too if that is known."""
    names, path = source
    peaks = []
    for run in runs:
        exact = (run.get("run_totals", {}).get(path) or {}).get("value")
        peaks += [] if exact is None else [exact]
        for name in names:
            value = run.get(f"process_{name}", {}).get("max")
            peaks += [] if value is None else [value * BYTES_PER_UNIT[name]]
    return max(peaks, default=None)


def _is_long_enough(runs: Sequence[Stats]) -> bool:
    """Are these runs long enough to recommend by? Short ones are no guide to the next."""
    durations = (run.get("timestamp", {}).get("duration") for run in runs)
    return any((duration or 0) >= _SHORT_SECONDS for duration in durations)


def recommend(runs: Sequence[Stats]) -> dict[str, Any]:
    """The object `recommendation` of a report, from results of stats() of one run or several. The program
    computes it, by the formulas of resource-tracker."""
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
    """{"cpu": N, "memory": MiB, "gpu": N, "vram": MiB}; None is unknown."""
    return {name: None if recommendation[key]["value"] is None else
            round(recommendation[key]["value"] / unit)
            for name, key, unit in (("cpu", "cpus", 1), ("memory", "memory_bytes", _MIB),
                                    ("gpu", "gpus", 1), ("vram", "vram_bytes", _MIB))}


# ---- context ----

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
    for name in _PEAK_MEMORY[0]:
        mean = stats.get(f"process_{name}", {}).get("mean")
        memory = memory if mean is None else mean * BYTES_PER_UNIT[name]
    return {**run, "memory_mean_bytes": memory, "memory_peak_bytes": _peak_bytes([stats], _PEAK_MEMORY),
            "gpu_memory_peak_bytes": _peak_bytes([stats], _PEAK_VRAM)}


def _forget_gpus(runs: Sequence[dict[str, Any]]) -> None:
    """Removes GPU figures that are 0 in all runs, as on a machine without GPUs."""
    names = [name for name in runs[0] if name.startswith("gpu_")]
    if not any(run[name] for run in runs for name in names):
        for run in runs:
            run.update(dict.fromkeys(names))


def describe_cloud(cloud: Mapping[str, Any] | None) -> dict[str, str] | None:
    """The known facts of get_cloud_info()."""
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
                  current: Stats, recommendation: Mapping[str, Any] | None,
                  servers: Sequence[Mapping[str, Any]], servers_reason: str | None,
                  usd_per_hour: float | None, allocation: str | None) -> dict[str, Any]:
    """recommendation is from this run and the earlier ones."""
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
    """Servers for the next run, or why there are none."""
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
    """The price of this server in US dollars per hour."""
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
    recommendation = recommend(runs) if tracker.track_processes and _is_long_enough(runs) else None
    servers, reason = _find_servers(recommendation, server_count, catalog)
    context = build_context(integration, status_failed, history, current, recommendation, servers, reason,
                            _find_price(cloud, catalog) if server_count else None,
                            (server or {}).get("allocation"))
    context.update(integration_version=integration_version, cloud=describe_cloud(cloud))
    frame = tracker.get_combined_metrics(bytes=True)
    exit_code = int(status_failed) if integration == "Metaflow" else None  # that of the task
    facts = {**tracker._metadata(), "name": name, "exit_code": exit_code,
             "spoor_version": spoor.__version__}
    return Report(make_page(build_report(facts, {column: frame[column] for column in frame.columns},
                                         server, cloud, tracker.run_totals, context)))
