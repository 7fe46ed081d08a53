# SPDX-License-Identifier: Apache-2.0
"""@track_resources: its own logic, tested with small fakes of Metaflow's objects."""
import pytest
from conftest import PACKAGES
from resource_tracker import ResourceTracker
from resource_tracker._metaflow import (build_artifact, build_error, collect_history, make_card,
                                        merge_tasks)

pytestmark = pytest.mark.any_user

EXTENSION = PACKAGES / "metaflow_extensions"
START = 1794700000.0
NAME = "resource_tracker_data"


def snapshot(memory=100.0, rows=3):
    metadata = {"pid": 77, "interval": 1, "start_time": START, "stop_time": START + rows,
                "track_system": False, "discover_server": False, "discover_cloud": False}
    return {"metadata": metadata, "system_metrics": [], "process_metrics": [
        {"timestamp": START + 1 + row, "cpu_usage": 0.5, "memory_mib": memory, "gpu_usage": 0.0}
        for row in range(rows)]}


class Data:
    def __init__(self, data):
        self.data = data


def task(memory=100.0, **more):
    return {NAME: Data({"step_failed": False, "tracker": snapshot(memory), **more})}


class Run:
    """A run of a flow, given by its steps; each step is a list of tasks."""

    def __init__(self, run_id, successful=True, **steps):
        self.id, self.successful, self._steps = str(run_id), successful, steps
        self.times_read = 0

    def __getitem__(self, step):
        self.times_read += 1
        return self._steps[step]


def peaks(runs, run_id="99", **options):
    """Returns the peak memory of the runs in the history."""
    history = collect_history(runs, run_id, "train", NAME, **options)
    return [stats["process_memory_mib"]["max"] for stats in history]


# ---- earlier runs ----

def test_history_has_the_last_five_successful_runs():
    """Bug W22 of the predecessor: the history had only the successful runs among the last five."""
    runs = [Run(number, successful=number % 2 == 0, train=[task(number)]) for number in range(20, 0, -1)]
    assert peaks(runs) == [20, 18, 16, 14, 12]
    assert [run.times_read for run in runs[:10]] == [1, 0] * 5
    assert not any(run.times_read for run in runs[10:])


def test_current_run_is_not_part_of_the_history():
    assert peaks([Run(3, train=[task(3)]), Run(2, train=[task(2)])], run_id="3") == [2]


def test_runs_without_the_step_or_the_artifact_are_skipped():
    runs = [Run(9), Run(8, train=[{}]), Run(7, train=[{NAME: Data({"error": {}})}]),
            Run(6, train=[{NAME: Data("not ours")}]), Run(5, train=[task(5, step_failed=True)]),
            Run(4, train=[task(4, tracker={"metadata": {}})]), Run(3, train=[task(3)])]
    assert peaks(runs) == [3]


def test_every_task_of_a_foreach_is_included():
    """Bug W22 of the predecessor: only the first task was counted."""
    assert peaks([Run(1, train=[task(10), task(500), {}, task(20)])]) == [500]


def test_slow_storage_ends_the_search():
    seconds = iter(range(100))
    runs = [Run(number, train=[task(number)] * 2) for number in range(5, 0, -1)]
    assert peaks(runs, seconds=8, clock=lambda: next(seconds)) == [5, 4]
    assert peaks(runs, seconds=0, clock=lambda: 0) == [5, 4, 3, 2, 1]


def test_tasks_of_a_step_are_merged_into_one_run():
    def stats(cpu, peak):
        return {"process_cpu_usage": {"mean": cpu, "max": cpu + 1}, "timestamp": {"duration": cpu},
                "run_totals": {"memory": peak} if peak else {}}

    assert merge_tasks([stats(1, 5)]) == stats(1, 5)
    assert merge_tasks([stats(1, 5), stats(3, 9), stats(2, None)]) == {
        "process_cpu_usage": {"mean": 2, "max": 4}, "timestamp": {"duration": 2},
        "run_totals": {"memory": 9}}


# ---- the artifact ----

HISTORY = [{"process_cpu_usage": {"mean": 1.0, "max": 2.0}, "timestamp": {"duration": 4.0},
            "process_gpu_utilized": {"mean": None, "max": None}}]


def test_artifact_contains_the_keys_of_all_versions():
    tracker = ResourceTracker.from_snapshot(snapshot())
    artifact = build_artifact(tracker, True, HISTORY)
    assert artifact["step_failed"] is True and artifact["tracker"] == tracker.snapshot()
    assert artifact["historical_stats"] == HISTORY and artifact["stats"] == tracker.stats()
    assert list(artifact["process_metrics"]) == snapshot()["process_metrics"]
    assert len(artifact["system_metrics"]) == 0
    assert artifact["server_info"] is None and artifact["cloud_info"] is None


def test_artifact_of_version_0_3_is_read():
    old = snapshot()
    old["metadata"].update(dialect="resource-tracker-0.3", track_system=True)
    old["server_info"] = {"vcpus": 2, "memory_mib": 3.0, "gpu_count": 0, "gpu_names": [],
                          "gpu_memory_mib": 0.0}
    old["process_metrics"] = [{"timestamp": START + 1, "cpu_usage": 0.5, "memory": 2048}]
    old["system_metrics"] = [{"timestamp": START + 1, "disk_space_used_gb": 7.5, "net_recv_bytes": 3,
                              "net_sent_bytes": 4}]
    tracker = ResourceTracker.from_snapshot(old)
    artifact = build_artifact(tracker, False, HISTORY)
    assert artifact["stats"] == {
        "cpu_usage": {"mean": 0.5, "max": 0.5}, "memory_usage": {"mean": 2048, "max": 2048},
        "gpu_usage": {}, "gpu_vram": {}, "gpu_utilized": {}, "disk_usage": {"max": 7.5},
        "traffic": {"inbound": 3, "outbound": 4}, "duration": 1}
    assert artifact["server_info"] == {"vcpus": 2, "memory_mb": 3.0, "gpu_count": 0, "gpu_names": [],
                                       "gpu_memory_mb": 0.0}
    assert artifact["historical_stats"] == {
        "available": True, "runs_analyzed": 1, "avg_cpu_mean": 1.0, "max_memory_max": None,
        "avg_gpu_mean": None, "max_vram_max": None, "max_gpu_count": None, "avg_duration": 4.0}
    assert artifact["history"] == HISTORY
    assert build_artifact(tracker, False, [])["historical_stats"] == {"available": False}


# ---- the card ----

def test_card_contains_the_report_page(stand_in_reporter):
    stand_in_reporter()
    history = HISTORY
    artifact = build_artifact(ResourceTracker.from_snapshot(snapshot()), False, history)
    card = make_card(artifact, "Flow/1/train/2")
    assert '"name": "Flow/1/train/2"' in card and '"integration":"Metaflow"' in card
    assert '"cpu_max_cores":2.0' in card and '"why":"the peak of 2 runs' in card
    assert '"servers_reason":null' in card  # the keeper was not queried
    assert '"servers_reason":"cannot reach http://127.0.0.1:1' in make_card(artifact, "x", servers=2)


def test_card_without_a_page_explains_the_reason(stand_in_reporter):
    try:
        raise ValueError("<b>&")
    except ValueError as error:
        card = make_card(build_error(error), "Flow/1/train/2")
    assert "There is no report of this task: &lt;b&gt;&amp; (ValueError)" in card
    assert "Traceback" in card and "<b>" not in card
    artifact = build_artifact(ResourceTracker.from_snapshot(snapshot()), False, [])
    path = stand_in_reporter()
    path.write_text("#!/bin/sh\nexit 3\n")
    assert "cannot make the page: status 3 (Error)" in make_card(artifact, "x")


@pytest.mark.parametrize("path", sorted(EXTENSION.rglob("*.py")), ids=lambda path: path.name)
def test_extension_is_a_namespace_package(path):
    """Metaflow refuses a package with __init__.py at the top level, and finds plugins by file
    names."""
    compile(path.read_text(encoding="utf-8"), str(path), "exec")
    assert path.parent.name not in ("metaflow_extensions", "resource_tracker")
