# SPDX-License-Identifier: Apache-2.0
"""Tracks everything in an existing cgroup."""
import csv
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from cgroups import HIERARCHIES
from conftest import DEADLINE_SECONDS, cpu_time, eventually, load, read_line, rows_of, value
from gpus import card


def wait_for_processes(samples, count):
    eventually(lambda: any(float(row["job_processes"]) == count for row in rows_of(samples)[-2:]),
               f"{count} processes in the latest samples")


@pytest.mark.threads
def test_everything_in_a_cgroup_is_tracked(spoor, group, workload):
    """Tracks two unrelated processes, one of them in a child cgroup."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group()
    held = group.start(job, workload("hold"), "50")
    worker = group.start(job, "sh", "-c", f"echo ready; read line; {workload('burn')} 0.5", below="sub")
    assert read_line(held.stdout) and read_line(worker.stdout) == "ready"
    tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          "--cgroup", job.path())
    wait_for_processes(samples, 2)
    worker.stdin.write(b"\n")
    worker.stdin.flush()
    seconds = float(read_line(worker.stdout))
    worker.stdin.close()
    worker.wait()
    held.stdin.close()
    held.wait()
    assert tracker.wait() == 0
    result = load(path)
    assert result["run"]["name"] == str(job.path())
    assert result["run"]["pid"] is None and not result["run"]["command"]
    assert result["run"]["exit_code"] is None and "still_running" not in result["run"]
    assert value(result, "cpu.total_seconds") == cpu_time(seconds)
    assert result["cpu"]["total_seconds"]["exact"] is True
    # Version 1 counts user and system time in ticks: they were up to 3 % above the total.
    parts = [result["cpu"][part] for part in ("user_seconds", "system_seconds")]
    assert sum(part["value"] for part in parts) == pytest.approx(value(result, "cpu.total_seconds"), rel=1e-6)
    assert "cpuacct" not in HIERARCHIES or not any(part["exact"] for part in parts)
    assert value(result, "memory.combined.total_rss_bytes") == pytest.approx(52 << 20, rel=0.06)
    if "memory" in HIERARCHIES:
        assert value(result, "memory.job_peak_bytes") >= 50 << 20
    assert value(result, "processes.max_concurrent") in (2, 3)
    for scope in ("main", "descendants"):
        figure = result["memory"][scope]["total_rss_bytes"]
        assert figure["value"] is None and figure["reason"] == "a cgroup has no main process"


@pytest.mark.parametrize("dialect", ["resource-tracker", "resource-tracker-rs"])
def test_rows_of_a_cgroup_add_up_to_its_total(spoor, group, workload, dialect):
    """The table of processes has no main process, and its rows add up to the total."""
    path = spoor.new_path("result.json")
    prefix = "process_" if dialect.endswith("rs") else ""
    job = group()
    held = group.start(job, workload("hold"), "50")
    worker = group.start(job, "sh", "-c", f"echo ready; read line; {workload('burn')} 0.3", below="sub")
    assert read_line(held.stdout) and read_line(worker.stdout) == "ready"
    tracker = spoor.start("attach", "-q", "-i", "0.05", "-o", path, "--stream", "--dialect", dialect,
                          "--cgroup", job.path())
    lines = [read_line(tracker.stdout), read_line(tracker.stdout)]
    worker.stdin.write(b"\n")
    worker.stdin.flush()
    seconds = float(read_line(worker.stdout))
    for process in (worker, held):
        process.stdin.close()
        process.wait()
    lines += tracker.stdout.read().decode().splitlines()
    assert tracker.wait() == 0
    rows = list(csv.DictReader(lines))
    used = sum(float(row[prefix + "utime"]) + float(row[prefix + "stime"]) for row in rows)
    assert used == cpu_time(seconds)
    assert used == pytest.approx(value(load(path), "cpu.total_seconds"), abs=0.002)
    assert {row[prefix + "pid"] for row in rows} == {""}
    assert float(rows[0][prefix + "memory_mib"]) == pytest.approx(52, rel=0.06)
    assert int(rows[0][prefix + "children"]) == 2


def test_attach_moves_no_process_and_removes_no_cgroup(spoor, group, workload):
    job = group()
    held = group.start(job, workload("hold"), "1")
    assert read_line(held.stdout)
    before = pathlib.Path(f"/proc/{held.pid}/cgroup").read_text(encoding="ascii")
    assert spoor("attach", "-q", "--duration", "50ms", "--cgroup", job.path()).returncode == 0
    assert pathlib.Path(f"/proc/{held.pid}/cgroup").read_text(encoding="ascii") == before
    for tree in job.trees:
        assert [entry.name for entry in job.path(tree).iterdir() if entry.is_dir()] == []


@pytest.mark.parametrize("tree", HIERARCHIES)
def test_tracking_ends_when_the_last_process_exits(spoor, group, workload, tree):
    """Tests each hierarchy alone: its own counters are used, and the other figures come from the
    processes."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group(tree)
    held = group.start(job, workload("hold"), "20", below="sub")
    assert read_line(held.stdout)
    tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          "--cgroup", job.path())
    wait_for_processes(samples, 1)
    held.stdin.close()
    held.wait()
    assert tracker.wait() == 0
    result = load(path)
    assert value(result, "memory.combined.total_rss_bytes") == pytest.approx(21 << 20, rel=0.1)
    assert value(result, "cpu.total_seconds") is not None
    assert "still_running" not in result["run"]


def test_tracking_ends_when_the_cgroup_is_removed(spoor, group, workload):
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group()
    held = group.start(job, workload("hold"), "1")
    assert read_line(held.stdout)
    tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          "--cgroup", job.path())
    wait_for_processes(samples, 1)
    held.kill()
    held.wait()
    job.close()  # at once, as container runtimes do
    assert tracker.wait() == 0
    assert value(load(path), "cpu.total_seconds") is not None


@pytest.mark.parametrize("tree", HIERARCHIES)
def test_spoor_in_the_cgroup_does_not_keep_it_populated(spoor, group, workload, tree):
    """The samples writer of spoor does not keep the cgroup populated either."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group(tree)
    held = group.start(job, workload("hold"), "1", below="sub")
    assert read_line(held.stdout)
    tracker = group.start(job, spoor.binary, "attach", "-q", "-i", "0.02", "-o", path,
                          "--samples", samples, "--cgroup", job.path())
    wait_for_processes(samples, 1)
    assert tracker.poll() is None
    held.stdin.close()
    held.wait()
    assert tracker.wait(DEADLINE_SECONDS) == 0
    result = load(path)
    assert value(result, "processes.max_concurrent") == 1 and "still_running" not in result["run"]


def test_cgroup_that_contains_only_spoor_is_refused(spoor, group):
    job = group()
    tracker = group.start(job, "sh", "-c", 'exec "$@" 2>&1', "sh", spoor.binary, "attach",
                          "--cgroup", job.path())
    assert read_line(tracker.stdout) == f"spoor: there is no process in cgroup '{job.path()}' except spoor"
    assert tracker.wait(DEADLINE_SECONDS) == 125


@pytest.mark.threads
def test_signal_ends_the_tracking_but_not_the_processes(spoor, group, workload):
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group()
    held = group.start(job, workload("hold"), "1")
    assert read_line(held.stdout)
    tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples,
                          "--cgroup", job.path())
    wait_for_processes(samples, 1)
    tracker.send_signal(signal.SIGINT)
    assert tracker.wait() == 0 and held.poll() is None
    assert load(path)["run"]["still_running"] is True


def test_processes_may_be_moved_in_and_out(spoor, group, workload, held):
    samples = spoor.new_path("s.csv")
    job = group()
    first = group.start(job, workload("hold"), "1")
    assert read_line(first.stdout)
    tracker = spoor.start("attach", "-q", "-i", "0.02", "--samples", samples, "--cgroup", job.path())
    wait_for_processes(samples, 1)
    job.add(held.pid)
    wait_for_processes(samples, 2)
    assert float(rows_of(samples)[-1]["job_rss_bytes"]) > 50 << 20
    job.remove(held.pid)
    wait_for_processes(samples, 1)
    first.stdin.close()
    first.wait()
    assert tracker.wait() == 0 and held.poll() is None


BURNS_AND_WAITS = "import time\nwhile time.process_time() < 1: pass\nprint('burnt', flush=True); input()"


def test_earlier_usage_of_a_process_that_is_moved_in_is_not_counted(spoor, group, workload):
    """load() checks that the CPU times of the processes add up to the job's."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("s.csv")
    job = group()
    held = group.start(job, workload("hold"), "1")
    worker = subprocess.Popen([sys.executable, "-c", BURNS_AND_WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert read_line(held.stdout) and read_line(worker.stdout) == "burnt"
    try:
        tracker = spoor.start("attach", "-q", "-i", "0.02", "-o", path, "--samples", samples, "--cgroup", job.path())
        wait_for_processes(samples, 1)
        job.add(worker.pid)
        wait_for_processes(samples, 2)
        for process in (worker, held):
            process.communicate(b"\n")
        assert tracker.wait() == 0
    finally:
        worker.kill()
        worker.wait()
    largest = load(path)["processes"]["largest"]
    assert {process["pid"] for process in largest} == {held.pid, worker.pid}
    assert sum(process["cpu_seconds"] for process in largest) < 0.5


@pytest.mark.parametrize("lists, selected", [([None, "1"], [1]), (["", "2", "0"], [0, 2]), ([None], [0, 1, 2])])
def test_gpus_are_selected_by_the_environment_of_the_processes(spoor, group, machine, monkeypatch, lists, selected):
    machine.play(*map(card, range(3)))
    path, job = spoor.new_path("result.json"), group()
    for each in lists:
        if each is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", each)
        assert read_line(group.start(job, "sh", "-c", "echo ready; read line").stdout) == "ready"
    tracker = spoor.start("attach", "-q", "-o", path, "--cgroup", job.path(),
                          env={**machine.environment, "CUDA_VISIBLE_DEVICES": "1,2"})
    machine.wait_for(times=3)
    tracker.send_signal(signal.SIGINT)
    assert tracker.wait() == 0
    assert load(path)["gpu"]["selected"] == [f"GPU-{i}000-aaaa" for i in selected]


def test_report_names_the_cgroup(spoor, group, workload):
    job = group()
    held = group.start(job, workload("hold"), "1")
    assert read_line(held.stdout)
    done = spoor("attach", "--duration", "50ms", "--cgroup", job.path())
    assert done.returncode == 0
    assert done.stderr.lstrip().startswith(f"{job.path()}\nstill running, tracked from ")
    done = spoor("attach", "--duration", "50ms", "--name", "my job", "--cgroup", job.path())
    assert done.stderr.lstrip().startswith("my job\n")


def test_empty_cgroup_is_refused(spoor, group):
    job = group()
    done = spoor("attach", "--cgroup", job.path())
    assert done.returncode == 125
    assert done.stderr == f"spoor: there is no process in cgroup '{job.path()}'\n"


@pytest.mark.parametrize("arguments, message", [
    (["--cgroup", "/sys/fs/cgroup/no-such"], "no such cgroup: '/sys/fs/cgroup/no-such'"),
    (["--cgroup", "/tmp"], "'/tmp' is not a cgroup: name a directory below /sys/fs/cgroup"),
    (["--cgroup", "/tmp", "1"], "a PID and --cgroup cannot be combined"),
    (["--cgroup", "/tmp", "-p", "1"], "a PID and --cgroup cannot be combined"),
    (["--cgroup", ""], "--cgroup: "),
    ([], "missing process: spoor attach [OPTIONS] PID|NAME"),
])
def test_an_untrackable_cgroup_is_refused(spoor, arguments, message):
    done = spoor("attach", *arguments)
    assert done.returncode == 125 and done.stderr.startswith(f"spoor: {message}")
    assert done.stderr.count("\n") == 1


def test_attach_ignores_variables_that_apply_only_to_run(spoor, held):
    done = spoor("attach", "-q", "--duration", "50ms", str(held.pid),
                 env={**os.environ, "SPOOR_CGROUP": "off"})
    assert done.returncode == 0, done.stderr


def test_unprivileged_user_may_track_any_cgroup(spoor):
    """Tracks the cgroup of the tests, which contains at least this process and its children."""
    text = pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii")
    tree = "memory" if "memory" in HIERARCHIES else "unified"
    found = re.search(r"^\d+:([^:]*\b)?memory\b[^:]*:(.*)$" if tree == "memory" else r"^0::(.*)$", text, re.M)
    path = spoor.new_path("result.json")
    done = spoor("attach", "-q", "--duration", "50ms", "-o", path, "--cgroup",
                 HIERARCHIES[tree] / found[found.lastindex].lstrip("/"))
    assert done.returncode == 0, done.stderr
    assert value(load(path), "processes.max_concurrent") >= 1
