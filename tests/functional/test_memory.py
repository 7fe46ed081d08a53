# SPDX-License-Identifier: Apache-2.0
"""Memory figures are consistent and assigned to the right processes."""
import os
import time

import pytest

from conftest import (DEADLINE_SECONDS, children_of, eventually, load, private_bytes, read_line, rows_of, state_of,
                      value, wait_for_samples)

MIB = 1 << 20
GROWS = "x = bytearray(300 << 20)"
FORKS = """
import os
x = bytearray(100 << 20)
pid = os.fork()
y = bytearray(50 << 20)
if pid:
    os.waitpid(pid, 0)
"""
MAPS_TWICE = """
import mmap, os, tempfile
with tempfile.TemporaryFile() as file:
    file.write(bytes(60 << 20))
    file.flush()
    maps = [mmap.mmap(file.fileno(), 60 << 20) for _ in range(2)]
    print(sum(sum(each[::4096]) for each in maps))
"""


def result_of_shell(spoor, script, *arguments, options):
    """Returns the report of a shell that runs the script once spoor has looked at it: the memory of
    a process that no look has seen is unknown."""
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-o", path, *options, "--", "sh", "-c", f"echo; read line; {script}", "sh",
                          *arguments)
    read_line(process.stdout)
    wait_for_samples(process.pid)
    process.communicate(b"\n", timeout=DEADLINE_SECONDS)
    assert process.returncode == 0
    return load(path)


@pytest.mark.parametrize("script", [GROWS, FORKS, MAPS_TWICE], ids=["grows", "forks", "maps-twice"])
def test_memory_figures_are_consistent(spoor, script):
    """load() checks every report; the jobs of this test are difficult cases."""
    result = result_of_shell(spoor, '/usr/bin/python3 -c "$1"; true', script, options=["-i", "0.01"])
    memory = result["memory"]["main"]["total_rss_bytes"]
    assert memory.get("low", memory["value"]) > memory["value"] / 2  # sh maps nothing twice
    spoor.result("/usr/bin/python3", "-c", script)


WITH_ALL_OR_NOTHING = pytest.mark.parametrize(
    "disabled", ["", "cgroup,perf,ring,connector,taskstats"], ids=["all", "bare"])


def descendants_of(pid):
    return [each for child in children_of(pid) for each in (child, *descendants_of(child))]


@WITH_ALL_OR_NOTHING
@pytest.mark.parametrize("how", ["vfork", "vfork-exit", "clone", "clone-exit"])
def test_memory_borrowed_by_a_vfork_child_belongs_to_the_parent(spoor, workload, monkeypatch, how, disabled):
    """Until it calls exec, a vfork child uses its parent's memory and has none of its own."""
    monkeypatch.setenv("SPOOR_DISABLE", disabled)
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.03", "-o", path, "--samples", samples, "--",
                          workload("borrow"), "100", how)

    def wait_for_samples():
        """A child that may call exec soon is counted after 50 ms, although its parent sleeps."""
        eventually(lambda: all(state_of(pid) in "SD" for pid in descendants_of(process.pid)), "all wait")
        late = time.time() + 0.1
        rows = eventually(lambda: [row for row in rows_of(samples) if row["timestamp"] > late][2:], "more samples")
        assert rows[0]["job_processes"] == processes

    is_executed = not how.endswith("-exit")
    steps = {"borrowing": 2, "executed": 2, "waited": 1}
    for line, processes in steps.items():
        if line == "executed" and not is_executed:
            continue
        assert read_line(process.stdout) == line
        wait_for_samples()
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert process.wait() == 0
    result = load(path)
    descendants = value(result, "memory.descendants.total_rss_bytes")
    # A child that exits without exec never has memory of its own.
    assert not is_executed if descendants is None else descendants < 20 * MIB
    assert value(result, "memory.combined.total_rss_bytes") == pytest.approx(101 * MIB, rel=0.03)
    assert value(result, "memory.main.total_rss_bytes") == pytest.approx(101 * MIB, rel=0.03)


@WITH_ALL_OR_NOTHING
def test_memory_growth_after_a_child_has_exited_belongs_to_main(spoor, workload, monkeypatch, disabled):
    """ru_maxrss may belong to the main process or to its child: page faults decide."""
    monkeypatch.setenv("SPOOR_DISABLE", disabled)
    _, result = spoor.result(workload("late"), "200", options=["-i", "10"])
    assert (value(result, "memory.descendants.total_rss_bytes") or 0) < 20 * MIB
    assert value(result, "memory.main.total_rss_bytes") == pytest.approx(201 * MIB, rel=0.03)


@WITH_ALL_OR_NOTHING
def test_memory_growth_of_a_child_belongs_to_the_child(spoor, workload, monkeypatch, disabled):
    monkeypatch.setenv("SPOOR_DISABLE", disabled)
    result = result_of_shell(spoor, '"$1" 200; true', workload("late"), options=["-i", "10"])
    assert value(result, "memory.main.total_rss_bytes") < 20 * MIB
    assert value(result, "memory.descendants.total_rss_bytes") == pytest.approx(201 * MIB, rel=0.03)


@WITH_ALL_OR_NOTHING
def test_memory_of_an_unseen_child_is_not_reported_as_0(spoor, monkeypatch, disabled):
    monkeypatch.setenv("SPOOR_DISABLE", disabled)
    _, result = spoor.result("sh", "-c", "/bin/true; true", options=["-i", "10"])
    figure = result["memory"]["descendants"]["total_rss_bytes"]
    if figure["value"] is None:
        assert figure["reason"]
    else:  # a look may find the child just after its exec, with few pages
        assert figure["value"] > 100_000 or (figure["value"] > 0 and not figure["exact"] and figure["high"] is None)


@pytest.mark.parametrize("disabled", ["cgroup", "cgroup,taskstats"])
def test_memory_bounds_are_computed_from_the_peak_of_each_process(spoor, workload, monkeypatch, disabled):
    """One process is large, the others are small. With exit records, the peak and the lifetime
    of each process are known; without, each of the eight may have been as large as the largest."""
    monkeypatch.setenv("SPOOR_DISABLE", disabled)
    script = 'for i in 1 2 3 4 5 6; do sleep 600 & all="$all $!"; done; "$0" 100; kill $all; wait'
    _, result = spoor.result("sh", "-c", script, workload("late"))
    total = result["memory"]["combined"]["total_rss_bytes"]
    low, high = (100, 130) if "used  taskstats" in spoor("doctor").stdout else (800, 1000)
    assert low * MIB <= total["high"] < high * MIB


def test_memory_of_many_forked_processes_is_counted(spoor):
    """Reading the page tables of so many processes costs too much. Regression test: 1.4 MB were
    reported for 86 MB."""
    count, path, pipe = 1500, spoor.new_path("result.json"), spoor.new_path("pipe")
    os.mkfifo(pipe)
    script = f"i=0; exec 3<>{pipe}; while [ $i -lt {count} ]; do (read x <&3) & i=$((i + 1)); done; echo; read x"
    tracker = spoor.start("run", "-q", "-i", "0.05", "-o", path, "--", "sh", "-c", script)
    read_line(tracker.stdout)
    shell = children_of(tracker.pid)[0]
    for _ in range(4):
        wait_for_samples(tracker.pid)
    truth = sum(private_bytes(pid) for pid in [shell, *children_of(shell)])
    pipe.write_text("x\n" * count)
    tracker.communicate(b"x\n", timeout=DEADLINE_SECONDS)
    result = load(path)
    private = result["memory"]["combined"]["private_rss_bytes"]
    assert 0.8 * truth <= private["value"] <= 1.1 * truth
    assert private["low"] <= 0.2 * truth  # most processes were not read
    assert value(result, "memory.combined.total_rss_bytes") >= 0.8 * truth
