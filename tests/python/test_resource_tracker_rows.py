# SPDX-License-Identifier: Apache-2.0
"""resource_tracker: frames, figures and files computed from the rows of an agent."""
import copy
import gzip
import json
import logging
import os
import pickle
import threading
import time
from array import array

import pytest

from resource_tracker import ResourceTracker
from resource_tracker.column_maps import DIALECTS, NEWEST, OLDEST, README, columns_of
from resource_tracker._tracking import RowFile
from resource_tracker.tiny_data_frame import StatSpec

NAN = float("nan")
START = 1794700000.0


def process_row(second, cpu=0.5, memory=100.0, **cells):
    row = [START + second, 77, 3, cpu * 0.75, cpu * 0.25, cpu, memory, 4096, 8192, 0.25, 64.0, 1]
    for name, value in cells.items():
        row[list(columns_of("process", NEWEST)).index(name)] = value
    return row


def system_row(second, **cells):
    row = [START + second, 200, 1.0, 0.5, 1.5, 1000.0, 500.0, 10.0, 300.0, 400.0, 200.0, 1 << 20,
           1 << 21, 100.25, 60.5, 39.75, 1000, 2000, 0.5, 128.0, 1]
    for name, value in cells.items():
        row[list(columns_of("system", NEWEST)).index(name)] = value
    return row


def append(rows, cells):
    with open(rows.path, "ab") as file:
        file.write(array("d", [cell for row in cells for cell in row]).tobytes())


@pytest.fixture
def stored(tmp_path):
    """stored(process rows, system rows) returns a stopped tracker with these rows; None: not
    tracked."""
    def store(process, system, dialect=NEWEST):
        tracker = ResourceTracker(pid=77, autostart=False, track_processes=process is not None,
                                  track_system=system is not None, dialect=dialect)
        for table, rows in (("process", process), ("system", system)):
            if rows is not None:
                path = tmp_path / f"{table}-{time.monotonic_ns()}.f64"
                tracker._rows[table] = RowFile(str(path), table, dialect)
                append(tracker._rows[table], rows)
        tracker.start_time, tracker.stop_time = START, START + 3.5
        return tracker
    return store


@pytest.fixture
def tracker(stored):
    return stored([process_row(0.5, 1.0, 80), process_row(1.5, 2.0, 120), process_row(2.5, 0.0, 100)],
                  [system_row(0.5), system_row(1.5), system_row(2.5), system_row(3.5)])


def test_statistics_weight_rows_by_their_duration(stored):
    """The last row of a run covers only the time since the previous row."""
    rows = [process_row(1, 1.0, 100), process_row(2, 1.0, 100), process_row(2.01, 0.0, 400)]
    for tracker in (stored(rows, None), ResourceTracker.from_snapshot(stored(rows, None).snapshot())):
        stats = tracker.stats()
        assert stats["process_cpu_usage"]["mean"] == 1.0 and stats["process_memory_mib"]["mean"] == 101.49
        assert stats["process_memory_mib"]["max"] == 400
    assert stored([process_row(1, NAN, 100), process_row(3, 1.0, 100, gpu_usage=NAN), process_row(4, 4.0, 100)],
                  None).stats()["process_cpu_usage"]["mean"] == 2.0


def test_frames_contain_the_stored_rows(tracker):
    assert tracker.n_samples == 3 and not tracker.running
    assert len(tracker.process_metrics) == 3 and len(tracker.system_metrics) == 4
    assert tracker.process_metrics[0] == {
        "timestamp": START + 0.5, "pid": 77, "children": 3, "utime": 0.75, "stime": 0.25,
        "cpu_usage": 1.0, "memory_mib": 80.0, "disk_read_bytes": 4096, "disk_write_bytes": 8192,
        "gpu_usage": 0.25, "gpu_vram_mib": 64.0, "gpu_utilized": 1}
    for frame, ints in ((tracker.process_metrics, {"pid", "children", "disk_read_bytes",
                                                   "disk_write_bytes", "gpu_utilized"}),
                        (tracker.system_metrics, {"processes", "disk_read_bytes",
                                                  "disk_write_bytes", "net_recv_bytes",
                                                  "net_sent_bytes", "gpu_utilized"})):
        for name in frame.columns:
            assert {type(value) for value in frame[name]} == {int if name in ints else float}


def test_unknown_values_are_none(stored):
    """Bug W18 of the predecessor: missing children were read as an empty text."""
    tracker = stored([process_row(1, children=NAN, gpu_usage=NAN), process_row(2)], None)
    assert tracker.process_metrics["children"] == [None, 3]
    assert tracker.process_metrics["gpu_usage"] == [None, 0.25]
    assert tracker.stats()["process_gpu_usage"] == {"mean": 0.25, "max": 0.25}


def test_figures_without_known_values_are_left_out(stored):
    tracker = stored([process_row(1, gpu_usage=NAN, gpu_utilized=NAN)], None)
    assert not {"process_gpu_usage", "process_gpu_utilized"} & set(tracker.stats())


def test_only_complete_new_rows_are_read(stored, monkeypatch):
    tracker = stored([process_row(1)], None)
    rows, lengths = tracker._rows["process"], []
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, offset: lengths.append(
        memoryview(buffers[0]).nbytes) or preadv(fd, buffers, offset))
    row_bytes = 12 * 8
    first = tracker.process_metrics
    assert lengths == [row_bytes]
    with open(rows.path, "ab") as file:
        file.write(b"\0" * (row_bytes // 2))
    assert tracker.n_samples == 1 and len(tracker.process_metrics) == 1
    with open(rows.path, "ab") as file:
        file.write(b"\0" * (row_bytes // 2) + b"\0" * (2 * row_bytes))
    assert tracker.n_samples == 4 and len(tracker.process_metrics) == 4
    assert tracker.process_metrics["timestamp"] == [START + 1, 0, 0, 0]
    assert lengths == [row_bytes, 3 * row_bytes]
    assert len(first) == 1 and first["timestamp"] == [START + 1]  # a frame does not get later rows


def test_rows_that_were_read_are_not_kept(stored):
    tracker = stored([process_row(1), process_row(2, children=NAN)], None)
    rows = tracker._rows["process"]
    assert len(rows) == 2
    assert [row[:3] for row in rows.read_new()] == [[START + 1, 77, 3], [START + 2, 77, None]]
    assert len(rows) == 0 and rows.read_new() == []
    append(rows, [process_row(3)])
    assert len(rows) == 1 and [row[0] for row in rows.read_new()] == [START + 3]


@pytest.mark.parametrize("dialect, ticks", [(NEWEST, 1), (README, os.sysconf("SC_CLK_TCK"))])
def test_cpu_usage_of_short_rows_is_known(tmp_path, dialect, ticks):
    rows = RowFile(str(tmp_path / "rows.f64"), "process", dialect, START)

    def add(*added):
        usual = {"utime": ticks * 0.75, "stime": ticks * 0.25, "cpu_usage": NAN}
        append(rows, [process_row(second, **{**usual, **cells}) for second, cells in added])

    add((4, {}), (6, {}), (7, {"cpu_usage": 0.9}))
    assert rows.frame()["cpu_usage"] == [0.25, 0.5, 0.9]
    add((9.5, {}), (9.5, {}), (10, {"utime": NAN}))
    assert rows.frame()["cpu_usage"] == [0.25, 0.5, 0.9, 0.4, None, None]  # no time; unknown
    assert [row[5] for row in rows.read_new()] == [0.25, 0.5, 0.9, 0.4, None, None]
    add((12, {}))
    assert [row[5] for row in rows.read_new()] == [0.5]
    rows.close()


def test_rows_of_a_day_are_read_quickly(stored):
    """Bug W19 of the predecessor. Checks CPU times, with a large margin."""
    rows = 86400
    tracker = stored([process_row(second, cpu=second % 4) for second in range(rows)],
                     [system_row(second) for second in range(rows)])
    began = time.process_time()
    for _ in range(100):
        assert tracker.n_samples == rows
    assert time.process_time() - began < 0.1  # for 100 calls
    stats = tracker.stats()
    assert time.process_time() - began < 1
    assert stats["process_cpu_usage"] == {"mean": 1.5, "max": 3.0}
    assert stats["system_net_sent_bytes"]["sum"] == 2000 * rows
    assert stats["timestamp"]["duration"] == rows - 1
    assert tracker.get_combined_metrics(offset=rows - 1)[0]["process_cpu_usage"] == 3.0


def test_several_threads_may_read_rows(stored):
    tracker = stored([process_row(second) for second in range(5000)], None)
    found = []

    def read():
        found.append(sum(tracker.process_metrics["timestamp"]))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [sum(START + second for second in range(5000))] * 8


def test_combined_metrics_join_system_and_process(tracker):
    frame = tracker.get_combined_metrics()
    system = [f"system_{name}" for name in tracker.system_metrics.columns[1:]]
    process = [f"process_{name}" for name in tracker.process_metrics.columns[1:]]
    assert frame.columns == ["timestamp", *system, *process] and len(frame.columns) == 32
    assert len(frame) == 3 and frame["timestamp"] == [START + 0.5, START + 1.5, START + 2.5]
    assert frame[1]["process_memory_mib"] == 120.0 and frame[1]["system_memory_used_mib"] == 500.0


def test_combined_rows_have_matching_timestamps(stored):
    """Timestamps match even if a table has lost rows."""
    def seconds(rows, row):
        return [row(second, gpu_vram_mib=second) for second in rows]

    for process, system, both in (
            ([1, 3, 4], [1, 2, 3, 4], [1, 3, 4]), ([1, 2, 4, 5], [1, 3, 4], [1, 4]),
            ([2, 3], [1, 2, 3], [2, 3]), ([1, 2], [3, 4], []), ([], [1], []),
            ([1, 2], [1, 2, 3, 4], [1, 2]),              # the process has exited
            ([1.02, 2, 3.3], [1, 2.1, 3], [1, 2.1, 3]),  # the predecessor's tables had different times
            ([1, 2.6, 3], [1, 2, 3], [1, 3])):
        tracker = stored(seconds(process, process_row), seconds(system, system_row))
        frame = tracker.get_combined_metrics()
        assert (frame["timestamp"] if frame.columns else []) == [START + second for second in both]
        assert len(frame) == len(both) <= tracker.n_samples == min(len(process), len(system))
        for row in frame:
            assert abs(row["process_gpu_vram_mib"] - row["system_gpu_vram_mib"]) < 0.5
        if len(both) > 1:
            assert tracker.get_combined_metrics(offset=1)["timestamp"] == frame["timestamp"][1:]
            in_bytes = tracker.get_combined_metrics(bytes=True, offset=-1)
            assert in_bytes["process_gpu_vram_mib"] == [
                frame["process_gpu_vram_mib"][-1] * (1 << 20)]


def test_combined_metrics_can_be_in_bytes(tracker):
    frame = tracker.get_combined_metrics(bytes=True)
    assert frame["process_memory_mib"] == [80 << 20, 120 << 20, 100 << 20]
    assert frame["system_memory_free_mib"][0] == 1000 << 20
    assert frame["system_disk_space_used_gb"][0] == pytest.approx(60.5e9)
    assert frame["system_disk_read_bytes"][0] == 1 << 20 and frame["process_pid"][0] == 77


def test_combined_columns_can_have_human_readable_names(tracker):
    frame = tracker.get_combined_metrics(human_names=True)
    assert frame.columns[:4] == ["Timestamp", "System processes", "System CPU time (user)",
                                 "System CPU time (system)"]
    assert frame.columns[21:24] == ["Process PID", "Process children", "Process CPU time (user)"]
    assert len(set(frame.columns)) == 32
    assert frame["Process memory usage"] == [80.0, 120.0, 100.0]
    assert "System memory page/file cached" in frame.columns


def test_combined_columns_may_have_prefixes_and_an_offset(tracker):
    frame = tracker.get_combined_metrics(system_prefix="s.", process_prefix="", offset=1)
    assert len(frame) == 2 and frame["s.cpu_usage"] == [1.5, 1.5] and frame["cpu_usage"] == [2.0, 0.0]
    assert tracker.get_combined_metrics(offset=3).columns == []
    assert len(tracker.get_combined_metrics(offset=0)) == 3
    assert tracker.get_combined_metrics(offset=-1)["timestamp"] == [START + 2.5]


def test_frames_can_be_pickled_and_copied(tracker):
    again = ResourceTracker.loads(tracker.dumps())
    for frame in (tracker.process_metrics, tracker.system_metrics, tracker.get_combined_metrics(),
                  tracker.get_combined_metrics(bytes=True, offset=1), tracker.process_metrics[:],
                  tracker.process_metrics.head(2), again.process_metrics):
        for copied in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame), copy.copy(frame)):
            assert copied.to_dict() == frame.to_dict() and copied.columns == frame.columns
            assert len(copied) == len(frame) > 0 and copied[1:].to_dict() == frame[1:].to_dict()


def test_failure_to_combine_is_logged(tracker, caplog):
    with caplog.at_level(logging.ERROR, "resource_tracker"), pytest.raises(TypeError):
        tracker.get_combined_metrics(offset="x")
    assert "cannot be combined" in caplog.text


def test_stats_contain_mean_and_max(tracker):
    stats = tracker.stats()
    assert stats == {
        "process_cpu_usage": {"mean": 1.0, "max": 2.0},
        "process_memory_mib": {"mean": 104.0, "max": 120.0},
        "process_gpu_usage": {"mean": 0.25, "max": 0.25},
        "process_gpu_vram_mib": {"mean": 64.0, "max": 64.0},
        "process_gpu_utilized": {"mean": 1.0, "max": 1},
        "system_disk_space_used_gb": {"max": 60.5},
        "system_net_recv_bytes": {"sum": 3000}, "system_net_sent_bytes": {"sum": 6000},
        "timestamp": {"duration": 2.5}}
    assert type(stats["system_net_recv_bytes"]["sum"]) is int and stats["other"] == {}


def test_stats_of_given_columns_need_no_duration(tracker):
    """Bug W17 of the predecessor: without a duration, stats() failed."""
    assert tracker.stats([StatSpec("process_utime", sum, round=1)]) == \
        {"process_utime": {"sum": 2.2}}
    assert tracker.stats([StatSpec("timestamp", lambda values: values[-1] - values[0],
                                   "duration")]) == {"timestamp": {"duration": 2.5}}
    assert tracker.stats([StatSpec("process_pid", set, "pids")])["process_pid"]["pids"] == {77}
    assert tracker.stats([]) == {}
    assert tracker.stats([StatSpec("memory", max), StatSpec("process_pid", max)]) == \
        {"process_pid": {"max": 77}}


def test_without_rows_there_are_no_stats(stored):
    tracker = stored([], [])
    assert tracker.n_samples == 0 and len(tracker.get_combined_metrics()) == 0
    with pytest.raises(RuntimeError, match=r"^No metrics collected \(yet\)$"):
        tracker.stats()
    with pytest.raises(RuntimeError) as error:
        tracker.wait_for_samples(2)
    assert str(error.value) == ("Resource tracker has been already stopped with 0 sample(s), "
                                "cannot wait to collect the requested 2 sample(s).")
    assert tracker.process_metrics.columns[0] == "timestamp"


def test_either_tracker_works_alone(stored):
    """Bug W15 of the predecessor: nothing worked without the other tracker."""
    process = stored([process_row(1, 2.0), process_row(2, 1.0)], None)
    assert process.n_samples == 2 and process.wait_for_samples(2) is None
    assert process.trackers == ["process_tracker"] and not process.track_system
    assert len(process.system_metrics) == 0 and process.system_metrics.columns == []
    assert len(process.get_combined_metrics().columns) == 12
    assert process.stats()["process_cpu_usage"] == {"mean": 1.5, "max": 2.0}
    assert process.stats()["timestamp"] == {"duration": 2.0}
    assert process.server_info["allocation"] == "unknown"
    system = stored(None, [system_row(1)])
    assert system.n_samples == 1 and set(system.stats()) == {
        "system_disk_space_used_gb", "system_net_recv_bytes", "system_net_sent_bytes", "timestamp"}
    for tracker in (process, system):
        assert ResourceTracker.loads(tracker.dumps()).stats() == tracker.stats()


@pytest.mark.parametrize("dialect, memory, kib", [
    (NEWEST, "memory_mib", 1024), (README, "memory", 1), (OLDEST, "pss", 1)])
def test_each_dialect_has_its_own_units(stored, dialect, memory, kib):
    tracker = stored([process_row(1, memory=50.0)], [system_row(1)], dialect)
    assert tracker.dialect == dialect and memory in tracker.process_metrics.columns
    assert tracker.stats()[f"process_{memory}"]["max"] == 50
    assert tracker.get_combined_metrics(bytes=True)[f"process_{memory}"] == [50 * kib * 1024]
    assert len(tracker.get_combined_metrics(human_names=True).columns) == 32
    again = ResourceTracker.loads(tracker.dumps())
    assert again.dialect == dialect and again.stats() == tracker.stats()


def test_snapshot_has_the_documented_keys(tracker):
    tracker._totals = {"cpu.total_seconds": {"value": 9.0, "exact": True}}
    snapshot = tracker.snapshot()
    assert list(snapshot) == ["metadata", "server_info", "cloud_info", "process_metrics",
                              "system_metrics", "run_totals"]
    metadata = snapshot["metadata"]
    assert metadata["version"] == 1 and metadata["resource_tracker"]["implementation"] == "spoor"
    assert metadata["resource_tracker"]["version"].startswith("0.5.0")
    assert (metadata["pid"], metadata["interval"], metadata["method"]) == (77, 1, "fork")
    assert (metadata["start_time"], metadata["stop_time"], metadata["duration"]) == \
        (START, START + 3.5, 3.5)
    assert snapshot["process_metrics"] == tracker.process_metrics.to_dict()
    assert set(snapshot["cloud_info"]) == {"vendor", "instance_type", "region", "discovery_time"}
    assert snapshot["server_info"]["os"] == "Linux"
    assert json.loads(json.dumps(snapshot)) == snapshot


def test_snapshots_survive_a_round_trip(tracker, tmp_path):
    tracker._totals = {"cpu.total_seconds": {"value": 9.0, "exact": True}}
    path = tmp_path / "run.json.gz"
    assert tracker.dump(path) is None
    assert json.loads(gzip.decompress(path.read_bytes()))["metadata"]["pid"] == 77
    for again in (ResourceTracker.from_snapshot(tracker.snapshot()),
                  ResourceTracker.loads(tracker.dumps()), ResourceTracker.load(path)):
        assert again.snapshot() == tracker.snapshot() and again.stats() == tracker.stats()
        assert again.run_totals == tracker._totals and again.stats()["run_totals"] == {"cpu.total_seconds": 9.0}
        assert again.n_samples == 3 and not again.running and again.stop_time == START + 3.5
        assert again.get_combined_metrics().to_csv() == tracker.get_combined_metrics().to_csv()
        with pytest.raises(RuntimeError, match="already stopped"):
            again.start()
        again.process_metrics["pid"][0] = 0
        assert again.process_metrics["pid"][0] == 77
        again.cleanup()
        assert again.n_samples == 0


def test_snapshot_preserves_cloud_information(tracker):
    """The predecessor's snapshots contain cloud information, too."""
    cloud = {"vendor": "aws", "instance_type": "t3.micro", "region": "eu-west-1"}
    again = ResourceTracker.from_snapshot({**tracker.snapshot(), "cloud_info": cloud})
    assert again.cloud_info == cloud
    assert ResourceTracker.loads(again.dumps()).snapshot()["cloud_info"] == cloud


def test_snapshot_needs_no_server(stored):
    """Bug W4 of the predecessor: without a server, the snapshot failed."""
    tracker = stored([process_row(1)], [system_row(1)])
    tracker.discover_server = False
    assert tracker.server_info is None and tracker.snapshot()["server_info"] is None
    assert ResourceTracker.loads(tracker.dumps()).server_info is None


@pytest.mark.parametrize("system, allocation", [
    ({}, "shared"),  # the machine uses 1.5 cores, the process 0.5
    ({"cpu_usage": 0.55, "gpu_usage": 0.25, "gpu_vram_mib": 64}, "shared"),  # 500 MiB and 100 MiB
    ({"cpu_usage": 0.55, "gpu_usage": 0.25, "gpu_vram_mib": 64, "memory_used_mib": 149}, "dedicated"),
    ({"cpu_usage": 0.55, "gpu_usage": NAN, "gpu_vram_mib": NAN, "memory_used_mib": 149},
     "dedicated")])
def test_allocation_is_classified_as_shared_or_dedicated(stored, system, allocation):
    """Bug W4 of the predecessor: the allocation was never classified as dedicated."""
    tracker = stored([process_row(1)], [system_row(1, **system)])
    assert tracker.server_info["allocation"] == allocation


def test_every_dialect_defines_two_tables():
    for dialect in DIALECTS:
        assert len(columns_of("process", dialect)) == 12 and len(columns_of("system", dialect)) == 21
