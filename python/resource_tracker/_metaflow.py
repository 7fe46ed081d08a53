# SPDX-License-Identifier: Apache-2.0
"""The artifact of the Metaflow extension, and the usage of earlier runs. This module does not import Metaflow; it
only uses Metaflow objects."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence

from .column_maps import NEWEST
from .helpers import aggregate_stats

if TYPE_CHECKING:
    from .tracker import ResourceTracker

Stats = dict[str, dict[str, Any]]

HISTORY_RUNS = 5
_HISTORY_SECONDS = 10.0


# ---- earlier runs ----

def _stats_of(artifact: Any) -> Stats | None:
    """Returns the usage of the task that stored the artifact; None if the usage is unknown or
    the task failed."""
    from .tracker import ResourceTracker

    if not isinstance(artifact, dict) or artifact.get("step_failed") or "tracker" not in artifact:
        return None
    try:
        return dict(ResourceTracker.from_snapshot(artifact["tracker"]).stats())
    except (KeyError, RuntimeError, TypeError, ValueError):
        return None


def merge_tasks(tasks: Sequence[Stats]) -> Stats:
    """Merges the tasks of a step into one run: takes the mean of means, and the largest maximum,
    also for run_totals."""
    if len(tasks) == 1:
        return tasks[0]
    merged: Stats = aggregate_stats(tasks)
    totals: dict[str, Any] = {}
    for task in tasks:
        for path, value in task.get("run_totals", {}).items():
            totals[path] = max(value, totals.get(path, value))
    if totals:
        merged["run_totals"] = totals
    return merged


def _read_tasks(run: Any, step: str, artifact_name: str) -> Iterator[Stats]:
    """Yields the usage of each task of the step in a run of the flow."""
    try:
        tasks: Iterable[Any] = list(run[step])
    except KeyError:
        return  # the flow did not have this step
    for task in tasks:
        try:
            stats = _stats_of(task[artifact_name].data)
        except KeyError:
            continue  # the task was not tracked
        if stats is not None:
            yield stats


def collect_history(runs: Iterable[Any], run_id: str, step: str, artifact_name: str,
                    seconds: float = _HISTORY_SECONDS,
                    clock: Callable[[], float] = time.monotonic) -> list[Stats]:
    """Returns stats() of the last five successful runs in which the step was tracked, newest
    first, excluding the run `run_id`. The result of a run covers all tasks of the step. Runs
    that cannot be read within `seconds` are left out."""
    deadline = clock() + seconds
    history: list[Stats] = []
    for run in runs:
        if len(history) == HISTORY_RUNS or clock() > deadline:
            break
        if str(run.id) == run_id or not run.successful:
            continue
        tasks: list[Stats] = []
        for stats in _read_tasks(run, step, artifact_name):
            tasks.append(stats)
            if clock() > deadline:
                return history  # a run without all of its tasks would be misleading
        if tasks:
            history.append(merge_tasks(tasks))
    return history


# ---- the artifact ----

def _mean(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _max(values: list[Any]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _first(stats: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    return next((stats[name] for name in names if name in stats), {})


_MEMORY = ("process_memory", "process_pss", "process_memory_mib")
_VRAM = ("process_gpu_vram", "process_gpu_vram_mib")


def _old_stats(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the figures in the format of version 0.3."""
    return {"cpu_usage": dict(_first(stats, ("process_cpu_usage",))),
            "memory_usage": dict(_first(stats, _MEMORY)),
            "gpu_usage": dict(_first(stats, ("process_gpu_usage",))),
            "gpu_vram": dict(_first(stats, _VRAM)),
            "gpu_utilized": dict(_first(stats, ("process_gpu_utilized",))),
            "disk_usage": dict(_first(stats, ("system_disk_space_used_gb",))),
            "traffic": {"inbound": _first(stats, ("system_net_recv_bytes",)).get("sum"),
                        "outbound": _first(stats, ("system_net_sent_bytes",)).get("sum")},
            "duration": _first(stats, ("timestamp",)).get("duration")}


def _old_history(history: Sequence[Stats]) -> dict[str, Any]:
    """Returns the earlier runs in the format of version 0.3."""
    if not history:
        return {"available": False}

    def values(names: Sequence[str], value: str) -> list[Any]:
        return [_first(stats, names).get(value) for stats in history]

    return {"available": True, "runs_analyzed": len(history),
            "avg_cpu_mean": _mean(values(("process_cpu_usage",), "mean")),
            "max_memory_max": _max(values(_MEMORY, "max")),
            "avg_gpu_mean": _mean(values(("process_gpu_usage",), "mean")),
            "max_vram_max": _max(values(_VRAM, "max")),
            "max_gpu_count": _max(values(("process_gpu_utilized",), "max")),
            "avg_duration": _mean(values(("timestamp",), "duration"))}


def _old_server(server: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the server in the format of version 0.3."""
    if server is None:
        return None
    names = {"vcpus": "vcpus", "memory_mb": "memory_mib", "gpu_count": "gpu_count",
             "gpu_names": "gpu_names", "gpu_memory_mb": "gpu_memory_mib"}
    return {name: server.get(key) for name, key in names.items()}


def build_artifact(tracker: ResourceTracker, step_failed: bool,
                   history: Sequence[Stats]) -> dict[str, Any]:
    """Returns the artifact of a task: the keys of versions 0.5 and 0.3. If the tracker uses
    columns of an older version, the values follow version 0.3, too."""
    snapshot, stats = tracker.snapshot(), tracker.stats()
    is_new = tracker.dialect == NEWEST
    server = snapshot["server_info"]
    return {"step_failed": step_failed, "tracker": snapshot,
            "process_metrics": tracker.process_metrics, "system_metrics": tracker.system_metrics,
            "cloud_info": snapshot["cloud_info"],
            "server_info": server if is_new else _old_server(server),
            "stats": dict(stats) if is_new else _old_stats(stats),
            "historical_stats": list(history) if is_new else _old_history(history),
            **({} if is_new else {"history": list(history)})}


def build_error(error: BaseException) -> dict[str, Any]:
    """Returns the artifact of a task that could not be tracked."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"error": {"error_type": type(error).__name__, "error_message": str(error),
                      "traceback": text}}


# ---- the card ----

def make_card(artifact: Mapping[str, Any], name: str, servers: int = 0) -> str:
    """Returns the page of a task, or a page with the reason why there is none."""
    from .tracker import ResourceTracker

    if "error" not in artifact:
        try:
            history = artifact.get("history", artifact["historical_stats"])
            return ResourceTracker.from_snapshot(artifact["tracker"]).report(
                "Metaflow", history, artifact["step_failed"], name=name, servers=servers)
        except Exception as error:  # a card that cannot be created must not hide the reason
            artifact = build_error(error)
    return make_error_card(artifact["error"])


def make_error_card(error: Mapping[str, str]) -> str:
    from html import escape

    return ('<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Resource usage</title>\n'
            '<body style="font-family: system-ui, sans-serif; max-width: 60em; margin: 2em auto">\n'
            "<h1>Resource usage</h1>\n<p>There is no report of this task: "
            f"{escape(error['error_message'])} ({escape(error['error_type'])})</p>\n"
            f"<pre>{escape(error['traceback'])}</pre>\n</body></html>\n")
