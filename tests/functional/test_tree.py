# SPDX-License-Identifier: Apache-2.0
"""Many processes, deep trees, orphans, and misleading names."""
import csv
import os
import resource
import shutil
import signal
import subprocess

import pytest

from conftest import (DEADLINE_SECONDS, children_of, cpu_time, eventually, load, private_bytes, read_line, rows_of,
                      value, wait_for_samples, warnings_of)

HOSTILE = [
    "\x1b[31mred\x1b]0;title\x07",
    "line one\nline two\r\x00"[:-1],
    'quote " comma , semicolon ; tab \t back \\ slash',
    "=cmd|' /C calc'!A0",
    os.fsdecode(b"bad \xff\xfe utf-8 \xc0\xaf \xed\xa0\x80"),
    "right-to-left \u202e override",
    "\x9b31m C1",
]
NAMES = ["a) R 1 (b", "x\ny\nz", ") (", "((((((((", "))))))))))))))", "", " ", "S 1 1 1 1 1 1"]



@pytest.mark.threads
@pytest.mark.parametrize("shape, count", [("wide", 1000), ("deep", 100)])
def test_every_process_of_a_large_job_is_counted(spoor, workload, shape, count):
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.05", "-o", path, "--samples", samples, "--",
                          workload("forks"), str(count), shape)
    assert read_line(process.stdout) == "ready"
    eventually(lambda: any(row["job_processes"] == count + 1 for row in rows_of(samples)),
               f"a sample with {count + 1} processes")
    process.stdin.close()
    assert process.wait() == 0
    result = load(path)
    assert value(result, "processes.max_concurrent") == count + 1
    assert value(result, "processes.started") >= count + 1


def test_large_job_is_tracked_with_few_descriptors(spoor, workload):
    """If descriptors run out, spoor opens files for each read: nothing is lost."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start(
        "run", "-q", "-i", "0.05", "-o", path, "--samples", samples, "--", workload("forks"), "200",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert read_line(process.stdout) == "ready"
    eventually(lambda: any(row["job_processes"] == 201 for row in rows_of(samples)),
               "a sample with 201 processes")
    pids = next(pids for pids in ([pid, *children_of(pid)] for pid in children_of(process.pid)) if len(pids) == 201)
    truth = sum(map(private_bytes, pids))
    eventually(lambda: any((row["job_private_bytes"] or 0) >= 0.9 * truth for row in rows_of(samples)), "the memory is read")
    process.stdin.close()
    assert process.wait() == 0
    assert value(load(path), "memory.combined.private_rss_bytes") == pytest.approx(truth, rel=0.1)


def test_short_children_are_counted_in_cpu_time(spoor, workload):
    done, result = spoor.result(workload("burn"), "1", "50")
    assert value(result, "cpu.total_seconds") == cpu_time(float(done.stdout))


def test_wait_all_tracks_a_daemon_until_it_ends(spoor, workload):
    _, result = spoor.result(workload("daemon"), "burn", options=["--wait", "all"])
    assert value(result, "cpu.total_seconds") >= 0.29
    assert result["run"]["exit_code"] == 0


def test_surviving_daemon_causes_a_warning(spoor, workload):
    path = spoor.new_path("result.json")
    read, write = os.pipe()
    process = spoor.start("run", "-q", "-o", path, "--", workload("daemon"), "wait", stdin=read)
    os.close(read)
    read_line(process.stdout)
    assert process.wait() == 0
    assert "still-running" in warnings_of(load(path))
    os.close(write)
    assert process.stdout.read() == b""  # the daemon has exited too


def test_children_of_a_parent_that_ignores_sigchld_are_counted(spoor, workload):
    done, result = spoor.result(workload("ignore_children"), "5")
    assert done.returncode == 0
    assert value(result, "processes.started") == 6


THREADS = """
import threading
barrier = threading.Barrier(9)
threads = [threading.Thread(target=barrier.wait) for _ in range(8)]
for thread in threads:
    thread.start()
barrier.wait()
"""


@pytest.mark.parametrize("disabled", ["", "ring", "ring,connector"])
@pytest.mark.parametrize("cgroup", ["auto", "off"])
@pytest.mark.parametrize("command, main, descendants", [
    (["sh", "-c", "/bin/true; true"], 1, 1),
    (["/usr/bin/python3", "-c", THREADS], 9, 0),
], ids=["a child", "eight threads"])
def test_threads_of_main_and_descendants_add_up_to_the_threads_of_the_job(spoor, disabled, cgroup, command,
                                                                  main, descendants):
    """Threads between two samples are counted too: process events report every thread. Without
    events, bounds apply."""
    _, result = spoor.result(*command, options=["-i", "60", "--cgroup", cgroup],
                             env={**os.environ, "SPOOR_DISABLE": disabled})
    threads = result["cpu"]["threads"]
    found = {scope: measure["value"] for scope, measure in threads.items()}
    high = {scope: found[scope] if measure["exact"] else measure.get("high")
            for scope, measure in threads.items()}
    assert found["combined"] >= max(found["main"], found["descendants"],
                                    value(result, "processes.max_concurrent"))
    if threads["combined"]["exact"]:
        assert None not in high.values()
        assert found["combined"] <= high["main"] + high["descendants"]
    if threads["combined"]["source"] == "perf.fork-ring" and threads["combined"]["exact"]:
        assert found == {"main": main, "descendants": descendants, "combined": main + descendants}


MANY_THREADS = """
import os, signal, threading, time
tracker = os.getppid()
def act():
    barrier.wait()
    time.sleep(0.1)
os.kill(tracker, signal.SIGSTOP)
while open(f"/proc/{tracker}/stat").read().rpartition(")")[2].split()[0] != "T":
    pass
barrier = threading.Barrier(100)
threads = [threading.Thread(target=act) for _ in range(100)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os.kill(tracker, signal.SIGCONT)
"""


@pytest.mark.parametrize("disabled", ["cgroup", "cgroup,connector"])
def test_threads_that_end_between_readings_are_counted_from_events(spoor, disabled):
    """The tracker is stopped while the threads live, so it cannot find them in /proc."""
    _, result = spoor.result("/usr/bin/python3", "-c", MANY_THREADS,
                             env={**os.environ, "SPOOR_DISABLE": disabled})
    source = result["processes"]["started"]["source"]
    if source not in ("proc-connector", "perf.fork-ring"):
        pytest.skip("there are no process events")
    threads = result["cpu"]["threads"]
    assert {scope: measure["value"] for scope, measure in threads.items()} == {
        "main": 101, "descendants": 0, "combined": 101}
    assert threads["combined"]["source"] == source
    assert threads["combined"]["exact"] == (source == "perf.fork-ring")


def test_unwaited_children_cause_a_warning(spoor):
    """Samples saw most of the children's usage, but the usage at their exit is unknown."""
    script = ("import os, signal, sys, time\n"
              "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
              "if os.fork() == 0:\n"
              "    while time.process_time() < 0.3: pass\n"
              "    print(flush=True), sys.stdin.readline(), os._exit(0)\n"
              "try: os.wait()\n"
              "except ChildProcessError: print(flush=True), sys.stdin.readline()\n")
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", "-i", "0.01", "--cgroup", "off", "-o", path, "--samples",
                          samples, "--", "/usr/bin/python3", "-c", script)
    for _ in range(2):  # the child has used its CPU time; it has exited
        process.stdout.readline()
        before = len(rows_of(samples))
        eventually(lambda: len(rows_of(samples)) > before + 2, "more samples")
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert process.wait() == 0
    result = load(path)
    assert "unwaited-children" in warnings_of(result)
    assert not result["cpu"]["total_seconds"]["exact"]
    assert value(result, "cpu.total_seconds") >= 0.3


def test_concurrent_processes_between_two_samples_are_counted(spoor, workload):
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-i", "60", "-o", path, "--", workload("forks"), "6", "wide")
    assert read_line(process.stdout) == "ready"
    process.stdin.close()
    assert process.wait() == 0
    result = load(path)
    if result["processes"]["started"]["source"] not in ("proc-connector", "perf.fork-ring"):
        pytest.skip("there are no process events")
    assert value(result, "processes.max_concurrent") == 7
    threads = {scope: value(result, f"cpu.threads.{scope}") for scope in result["cpu"]["threads"]}
    assert threads["main"] + threads["descendants"] >= threads["combined"] >= 7


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_figures_do_not_depend_on_the_process_name(spoor, workload, name):
    done, result = spoor.result(workload("rename"), name, "0.2", options=["-i", "0.02"])
    assert value(result, "cpu.total_seconds") == cpu_time(float(done.stdout))
    assert value(result, "processes.max_concurrent") == 2


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_arguments_are_escaped_in_text(spoor, text):
    done = spoor("run", "--name", text, "--", "sh", "-c", "exit 0", text)
    assert done.returncode == 0
    printed = done.stderr.replace("\n", "")
    assert printed.isprintable() and "\u202e" not in printed, ascii(printed)
    printed.encode("utf-8")  # and the output is valid UTF-8


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_arguments_are_complete_in_json(spoor, text):
    done, result = spoor.result("sh", "-c", "exit 0", text, options=["--name", text,
                                                                     "--tag", f"key={text}"])
    assert done.returncode == 0
    found = result["run"]["command"][3]
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    # Decoders differ in the number of replacement characters for several invalid bytes.
    assert found.replace("\ufffd", "") == valid.replace("\ufffd", "")
    assert ("\ufffd" in found) == ("\ufffd" in valid)
    assert result["run"]["name"] == found and result["run"]["tags"]["key"] == found


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_arguments_stay_within_their_csv_cell(spoor, tmp_path, text):
    path = tmp_path / "r.csv"
    assert spoor("run", "-q", "-o", path, "--", "sh", "-c", "exit 0", text).returncode == 0
    content = path.read_text(encoding="utf-8")
    assert content.count("\n") == 2, "a header and one row, one line each"
    header, row = csv.reader(content.splitlines())
    assert len(header) == len(row) and row[header.index("exit_code")] == "0"


def test_very_long_command_line_is_truncated_in_text(spoor):
    arguments = ["x" * 100_000] * 10
    done, result = spoor.result("true", *arguments)
    assert done.returncode == 0
    assert len(result["run"]["command"]) >= 2
    done = subprocess.run([spoor.binary, "run", "--", "true", *arguments], check=False,
                          stderr=subprocess.PIPE, text=True)
    assert all(len(line) <= 200 for line in done.stderr.splitlines())


def cgroups_of(pid):
    """Lists the cgroups created by a tracker, in all trees."""
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(folder).startswith(f"spoor-{pid}-")]


def test_nested_spoor_that_is_killed_leaves_no_cgroup(spoor):
    """As root, both trackers create cgroups. The cgroup of the inner tracker, which contains the
    inner job, is inside the cgroup of the outer one."""
    script = '"$0" run -q -- sh -c "echo job \\$\\$; exec sleep 600" & echo inner $!; ' \
             "read line; kill -KILL $!; wait; exit 5"
    process = spoor.start("run", "-q", "--", "sh", "-c", script, spoor.binary)
    pids = {name: int(pid) for name, pid in (read_line(process.stdout).split() for _ in range(2))}
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.wait(DEADLINE_SECONDS) == 5
    left = cgroups_of(process.pid) + cgroups_of(pids["inner"])
    os.kill(pids["job"], signal.SIGKILL)
    assert left == []


def test_cgroup_left_by_the_job_is_removed(spoor):
    """The job creates a cgroup below its own, in each tree in which it has one."""
    script = "cd /sys/fs/cgroup; while IFS=: read -r _ tree path; do " \
             "case $path in */spoor-*) for own in unified$path $tree$path; do " \
             "[ -d $own ] && mkdir -p $own/left/below; done;; esac; " \
             "done </proc/self/cgroup 2>/dev/null; exit 5"
    process = spoor.start("run", "-q", "--", "sh", "-c", script)
    assert process.wait(DEADLINE_SECONDS) == 5
    assert cgroups_of(process.pid) == []


@pytest.mark.parametrize("name, words", [("srun", "slurmd"), ("docker", "Docker"), ("srunner", None)])
def test_command_that_leaves_its_work_to_a_daemon_causes_a_warning(spoor, tmp_path, name, words):
    """The tasks of srun are children of slurmd. Regression test: their usage was missing without
    a warning."""
    shutil.copy("/bin/cat", tmp_path / name)
    path = tmp_path / "result.json"
    process = spoor.start("run", "-q", "-i", "0.01", "-o", path, "--", "sh", "-c",
                          f"echo ready; {tmp_path}/{name}; true")
    read_line(process.stdout)
    process.stdin.write(b"echo\n")
    process.stdin.flush()
    read_line(process.stdout)  # the job runs
    wait_for_samples(process.pid)
    process.communicate()
    result = load(path)
    messages = [warning["message"] for warning in result["warnings"] if warning["code"] == "not-tracked"]
    # Regression test: the usage of srun itself was reported as the job's exact usage.
    assert not words or not result["cpu"]["total_seconds"]["exact"]
    assert [words in message for message in messages] == ([True] if words else [])
