# SPDX-License-Identifier: Apache-2.0
"""Parts of resource_tracker that do not measure anything."""
import importlib
import io
import os
import subprocess
import sys

import pytest

import resource_tracker
from resource_tracker import column_maps, helpers
from resource_tracker.column_maps import (DIALECTS, NEWEST, OLDEST, README, bytes_per_unit,
                                       columns_of, make_row)

pytestmark = pytest.mark.any_user


def names(table, dialect):
    return list(columns_of(table, dialect))


def test_public_names_are_exported():
    assert sorted(resource_tracker.__all__) == [
        "ProcessTracker", "ResourceTracker", "SystemTracker", "get_cloud_info", "get_server_info"]
    from resource_tracker import tracker, tracker_procfs, tracker_psutil
    from resource_tracker._version import __version__

    assert tracker.ResourceTracker is resource_tracker.ResourceTracker
    assert tracker_procfs.get_process_stats is tracker_psutil.get_process_stats
    assert helpers.get_tracker_implementation() == (
        tracker_procfs.get_process_stats, tracker_procfs.get_system_stats)
    assert helpers.is_procfs_available()
    assert __version__.startswith("0.5.0+spoor.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        resource_tracker.nothing


def test_import_is_quick():
    """Importing dataclasses, subprocess, ctypes and other modules takes 1 to 10 ms each."""
    program = "import sys; before = set(sys.modules); import resource_tracker; " \
        "print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    assert "resource_tracker.tracker" in loaded
    assert not {"json", "socket", "threading", "dataclasses", "subprocess", "csv", "logging",
                "tempfile", "multiprocessing", "ctypes", "inspect"} & set(loaded)
    assert not {f"resource_tracker.{name}" for name in (
        "cloud_info", "server_info", "keeper", "report", "_tracking")} & set(loaded)


@pytest.mark.parametrize("program", [
    "import logging, resource_tracker",
    "from resource_tracker.tiny_data_frame import *; TinyDataFrame({}).stats([StatSpec('a', max)])"])
def test_logger_is_silent_by_default(program):
    """The logger has a NullHandler before anything could be printed without one."""
    program += "; import logging; print(logging.getLogger('resource_tracker').handlers)"
    done = subprocess.run([sys.executable, "-c", program], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdout.count("NullHandler") == 1 and done.stderr == ""


@pytest.mark.parametrize("mib, rounded", [
    (0, 128), (128, 128), (129, 256), (512, 512), (513, 1024), (2048, 2048), (2049, 3072),
    (50 * 1024 + 1, 51 * 1024)])
def test_memory_is_rounded_up_to_a_step(mib, rounded):
    assert helpers.round_memory(mib) == rounded


@pytest.mark.parametrize("name", ["sda1", "sdaa12", "vda1", "xvda1", "hda2", "nvme0n1p1",
                                  "mmcblk0p2", "nbd0p1", "loop77p1", "md9p1"])
def test_partitions_are_recognized(name):
    """These disks do not exist on this machine. Bug W9 of the predecessor: vda1 was counted as a disk."""
    assert helpers.is_partition(name) != on_this_machine(name)


@pytest.mark.parametrize("name", ["sda", "vda", "xvda", "nvme0n1", "nvme10n2", "mmcblk0", "dm-3",
                                  "md127", "loop7", "zram0", "sr0", ""])
def test_whole_disks_are_not_partitions(name):
    assert not helpers.is_partition(name)


def on_this_machine(name):
    """A name such as xvda1 may be a whole disk; sysfs then decides."""
    return os.path.exists(f"/sys/block/{name}")


def test_psutil_is_detected(monkeypatch, tmp_path):
    helpers.is_psutil_available.cache_clear()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "psutil", raising=False)
    assert not helpers.is_psutil_available()
    (tmp_path / "psutil.py").touch()
    importlib.invalidate_caches()
    helpers.is_psutil_available.cache_clear()
    assert helpers.is_psutil_available()
    helpers.is_psutil_available.cache_clear()


def test_stats_of_several_runs_are_aggregated():
    runs = [{"cpu": {"mean": 1, "max": 4}, "net": {"sum": 10}, "timestamp": {"duration": 2}},
            {"cpu": {"mean": 2, "max": 3}, "net": {"sum": 5}, "timestamp": {"duration": 4},
             "run_totals": {"cpu.total_seconds": 1.5}},
            {"cpu": {"mean": None, "max": None}}]
    assert helpers.aggregate_stats(runs) == {
        "cpu": {"mean": 1.5, "max": 4}, "net": {"sum": 10}, "timestamp": {"duration": 3}}
    assert helpers.aggregate_stats([]) == {}
    assert helpers.aggregate_stats([{"a": {"max": None}}]) == {"a": {"max": None}}
    with pytest.raises(ValueError, match="^Unsupported aggregation type: median$"):
        helpers.aggregate_stats([{"cpu": {"median": 1}}])


def test_csv_rows_equal_those_of_the_csv_module():
    import csv

    row = ["text", 'with "quotes", and comma', 1, 0, 2.5, 1e-7, 1794702881.5, None, True]
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(row)
    assert helpers.render_csv_row(row) == file.getvalue()
    assert helpers.render_csv_row(["a", 1, None]) == '"a",1,""\n'


def test_each_dialect_has_its_own_columns():
    assert names("process", NEWEST) == [
        "timestamp", "pid", "children", "utime", "stime", "cpu_usage", "memory_mib",
        "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram_mib", "gpu_utilized"]
    assert names("process", README) == [
        "timestamp", "pid", "children", "utime", "stime", "cpu_usage", "memory", "read_bytes",
        "write_bytes", "gpu_usage", "gpu_vram", "gpu_utilized"]
    assert names("process", OLDEST) == [
        "timestamp", "pid", "children", "utime", "stime", "cpu_usage", "pss", "read_bytes",
        "write_bytes", "gpu_usage", "gpu_vram", "gpu_utilized"]
    assert names("system", NEWEST) == [
        "timestamp", "processes", "utime", "stime", "cpu_usage", "memory_free_mib",
        "memory_used_mib", "memory_buffers_mib", "memory_cached_mib", "memory_active_mib",
        "memory_inactive_mib", "disk_read_bytes", "disk_write_bytes", "disk_space_total_gb",
        "disk_space_used_gb", "disk_space_free_gb", "net_recv_bytes", "net_sent_bytes",
        "gpu_usage", "gpu_vram_mib", "gpu_utilized"]
    # The header of the sample in the README.
    assert ",".join(f'"{name}"' for name in names("system", README)) == (
        '"timestamp","processes","utime","stime","cpu_usage","memory_free","memory_used",'
        '"memory_buffers","memory_cached","memory_active","memory_inactive","disk_read_bytes",'
        '"disk_write_bytes","disk_space_total_gb","disk_space_used_gb","disk_space_free_gb",'
        '"net_recv_bytes","net_sent_bytes","gpu_usage","gpu_vram","gpu_utilized"')
    assert names("system", OLDEST) == [
        name.replace("active", "active_anon") for name in names("system", README)]


def test_every_column_has_a_human_readable_name():
    for dialect in DIALECTS:
        for table in ("process", "system"):
            assert set(names(table, dialect)) <= set(column_maps.HUMAN_NAMES_MAPPING)


def test_units_of_rows_depend_on_the_dialect():
    assert bytes_per_unit("memory_mib", NEWEST) == 1024 ** 2
    assert bytes_per_unit("disk_space_total_gb", NEWEST) == 10 ** 9
    assert bytes_per_unit("disk_space_total_gb", README) == 2 ** 30
    assert bytes_per_unit("memory", README) == bytes_per_unit("pss", OLDEST) == 1024
    assert bytes_per_unit("net_recv_bytes", NEWEST) is None


PROCESS = {"timestamp": 100.0, "pid": 7, "children": 2, "utime": 1.0, "stime": 0.5,
           "memory_mib": 29.45912, "disk_read_bytes": 4096, "disk_write_bytes": 0,
           "gpu_usage": 0.123456, "gpu_vram_mib": 10, "gpu_utilized": 1}


def test_rows_contain_the_growth_of_counters():
    now = {**PROCESS, "timestamp": 102.00049, "utime": 2.0000004, "stime": 0.75,
           "disk_read_bytes": 5000, "disk_write_bytes": 77}
    row = make_row("process", NEWEST, now, PROCESS)
    assert row == {"timestamp": 102.0, "pid": 7, "children": 2, "utime": 1.0, "stime": 0.25,
                   "cpu_usage": 0.6248, "memory_mib": 29.4591, "disk_read_bytes": 904,
                   "disk_write_bytes": 77, "gpu_usage": 0.1235, "gpu_vram_mib": 10,
                   "gpu_utilized": 1}
    assert list(row) == names("process", NEWEST)


def test_a_counter_that_decreases_causes_no_spike():
    now = {**PROCESS, "timestamp": 101.0, "utime": 0.0, "disk_read_bytes": 0, "stime": 0.75}
    row = make_row("process", NEWEST, now, PROCESS)
    assert row["utime"] == row["disk_read_bytes"] == 0 and row["cpu_usage"] == 0.25


def test_unknown_values_and_rates_are_none():
    now = {**PROCESS, "gpu_usage": None, "disk_read_bytes": None, "children": None}
    row = make_row("process", NEWEST, now, PROCESS)
    assert row["gpu_usage"] is row["disk_read_bytes"] is row["children"] is None
    assert row["cpu_usage"] is None  # both readings have the same time


def test_absence_of_children_is_none_or_0_depending_on_the_dialect():
    """The value is None in version 0.5, and 0 before."""
    lonely = {**PROCESS, "children": 0}
    assert make_row("process", NEWEST, lonely, PROCESS)["children"] is None
    for dialect, memory in ((README, "memory"), (OLDEST, "pss")):
        old = {**lonely, memory: 1, "read_bytes": 0, "write_bytes": 0, "gpu_vram": 0}
        assert make_row("process", dialect, old, old)["children"] == 0
        assert make_row("process", dialect, {**old, "children": None}, old)["children"] is None


def system_reading(timestamp, disks, spaces):
    reading = dict.fromkeys(names("system", NEWEST), 0)
    return {**reading, "timestamp": timestamp, "disk_stats": disks, "disk_spaces": spaces}


def test_disks_may_be_added_and_removed():
    before = system_reading(1, {"sda": {"read_bytes": 1000, "write_bytes": 10},
                                "sdb": {"read_bytes": 7, "write_bytes": 7}}, {})
    now = system_reading(2, {"sda": {"read_bytes": 1500, "write_bytes": 5},
                             "sdc": {"read_bytes": 10 ** 9, "write_bytes": 10 ** 9}},
                         {"/": {"total": 3 * 10 ** 9, "used": 10 ** 9, "free": 2 * 10 ** 9},
                          "/data": {"total": 5 * 10 ** 6, "used": 0, "free": 5 * 10 ** 6}})
    row = make_row("system", NEWEST, now, before)
    assert (row["disk_read_bytes"], row["disk_write_bytes"]) == (500, 0)
    assert (row["disk_space_total_gb"], row["disk_space_used_gb"]) == (3.0, 1.0)


def test_oldest_dialect_counts_disk_sectors():
    zero = dict.fromkeys(names("system", OLDEST), 0)
    before = {**zero, "timestamp": 1, "disk_spaces": {},
              "disk_stats": {"sda": {"read_sectors": 1, "write_sectors": 2}}}
    now = {**zero, "timestamp": 2, "utime": 50, "stime": 25,
           "disk_spaces": {"/": {"total": 2 ** 31, "used": 2 ** 30, "free": 2 ** 30}},
           "disk_stats": {"sda": {"read_sectors": 5, "write_sectors": 2}}}
    row = make_row("system", OLDEST, now, before)
    assert (row["disk_read_bytes"], row["disk_write_bytes"]) == (2048, 0)
    assert row["disk_space_total_gb"] == 2.0 and (row["utime"], row["cpu_usage"]) == (50, 0.75)


def test_unknown_dialect_is_refused():
    with pytest.raises(ValueError, match="unknown dialect 'x': expected one of resource-tracker"):
        columns_of("process", "x")
