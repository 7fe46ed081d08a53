# SPDX-License-Identifier: Apache-2.0
"""Jobs that leave the cgroup that spoor created, as container runtimes do."""
import json
import os

import pytest

from conftest import cpu_time, eventually, load, read_line, value, warnings_of

MIB = 1 << 20
# In each hierarchy named by the first argument, moves itself to the parent of the cgroup that spoor
# created, then uses CPU time and memory until it reads a line.
LEAVE = """
import os, sys, time
for line in open("/proc/self/cgroup"):
    _, names, path = line.rstrip("\\n").split(":", 2)
    if "/spoor-" not in path or (sys.argv[1] != "all" and sys.argv[1] not in names.split(",")):
        continue
    for top in ("/sys/fs/cgroup/" + names, "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(top + path + "/cgroup.procs"):
            with open(top + os.path.dirname(path) + "/cgroup.procs", "w") as file:
                file.write("0")
            break
data = b"x" * (int(sys.argv[3]) << 20)
while time.process_time() < float(sys.argv[2]):
    pass
print("ready", flush=True)
sys.stdin.readline()
"""
# Ends and prints the CPU time. It lacks at most 1.1 ms, even on a busy machine: the memory is free
# and Python does not clean up, which takes 15 to 22 ms after 100 MB were used.
END = """
del data
print(time.process_time(), flush=True)
os._exit(0)
"""


def leave(spoor, which, seconds, megabytes):
    """Returns the CPU time printed by the job, and the report. Waits until the samples include
    all the job's memory."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.02", "-o", path, "--samples", samples, "--",
                          "/usr/bin/python3", "-c", LEAVE + END, which, str(seconds), str(megabytes))
    assert read_line(process.stdout) == "ready"
    before = samples.read_bytes().count(b"\n")
    eventually(lambda: samples.read_bytes().count(b"\n") > before + 2, "more samples")
    process.stdin.write(b"\n")
    process.stdin.close()
    used = float(read_line(process.stdout))
    assert process.wait() == 0
    return used, load(path)


def hierarchies():
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        return {name for line in file for name in line.split(":")[1].split(",")}


def test_cpu_time_of_a_job_that_leaves_its_cgroup_is_counted(spoor):
    used, result = leave(spoor, "all", 0.5, 0)
    total = result["cpu"]["total_seconds"]
    assert total["value"] == cpu_time(used)
    assert value(result, "cpu.user_seconds") + value(result, "cpu.system_seconds") == \
        pytest.approx(total["value"], rel=0.05, abs=0.03)
    if os.geteuid() == 0:
        for path in ("total_seconds", "user_seconds", "mean_cores"):
            assert not result["cpu"][path]["exact"], path
        assert "left-cgroup" in warnings_of(result)


def test_memory_of_a_job_that_leaves_its_cgroup_is_counted(spoor):
    _, result = leave(spoor, "all", 0, 100)
    if os.geteuid() != 0:
        assert value(result, "memory.combined.total_rss_bytes") >= 100 * MIB
        return
    peak = result["memory"]["job_peak_bytes"]
    assert peak["value"] >= 100 * MIB and not peak["exact"]
    for path in ("anon_peak_bytes", "page_cache_peak_bytes"):
        figure = result["memory"][path]  # None without a memory cgroup
        assert not figure["exact"] and figure.get("high") is None, path
    assert "left-cgroup" in warnings_of(result)


def test_job_that_leaves_only_its_memory_cgroup_is_detected(spoor):
    used, result = leave(spoor, "memory", 0.1, 100)
    if os.geteuid() != 0 or "memory" not in hierarchies():
        assert "left-cgroup" not in warnings_of(result)  # without such a cgroup, the job cannot leave it
        return
    peak = result["memory"]["job_peak_bytes"]
    assert peak["value"] >= 100 * MIB and not peak["exact"]
    assert "left-cgroup" in warnings_of(result)
    total = result["cpu"]["total_seconds"]
    assert total["value"] == cpu_time(used) and total["exact"]


def test_a_job_that_stays_in_its_cgroup_is_exact(spoor):
    _, result = leave(spoor, "none", 0.1, 100)
    if result["cpu"]["total_seconds"]["source"] == "cgroup.cpu.stat":
        assert result["cpu"]["total_seconds"]["exact"]
    if value(result, "memory.job_peak_bytes") is not None:
        assert result["memory"]["job_peak_bytes"]["exact"]
    assert "left-cgroup" not in warnings_of(result)


def test_processes_started_outside_the_cgroup_belong_to_the_job(spoor):
    """Without process events, spoor finds these processes through their parents."""
    script = LEAVE + "\nimport subprocess\n" \
        "child = subprocess.Popen(['/usr/bin/python3', '-c', " \
        "'x = b\"x\" * (60 << 20); print(flush=True); input()']," \
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n" \
        "child.stdout.readline(); print('child', flush=True); sys.stdin.readline();" \
        " child.communicate(b'\\n')"
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.02", "-o", path, "--samples", samples, "--",
                          "/usr/bin/python3", "-c", script, "all", "0", "0",
                          env={**os.environ, "SPOOR_DISABLE": "ring,connector"})
    read_line(process.stdout)
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert read_line(process.stdout) == "child"
    before = samples.read_bytes().count(b"\n")
    eventually(lambda: samples.read_bytes().count(b"\n") > before + 5, "more samples")
    process.communicate(b"\n")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert max(row["job_processes"] for row in rows) == 2
    assert max(row["descendants_rss_bytes"] or 0 for row in rows) >= 60 * MIB
