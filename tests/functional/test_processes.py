# SPDX-License-Identifier: Apache-2.0
"""The processes of a job in the report. For every report, schema.check_processes() checks that
their CPU times add up to the job's."""
import os
import subprocess

import pytest

from conftest import cpu_time, eventually, load, read_line, rows_of, state_of, value, wait_for_samples
from gpus import GIB, Run, card

IS_ROOT = os.geteuid() == 0
MIB = 1 << 20
# Waits until the file exists.
WAIT_FOR = 'while [ ! -e "$GATE" ]; do sleep 0.01; done; '


def by_name(result, name):
    found = [process for process in result["processes"]["largest"] if process["name"] == name]
    assert len(found) == 1, f"{name} in {[p['name'] for p in result['processes']['largest']]}"
    return found[0]


def count(result):
    """Counts all processes, both listed and summed; None if the count is unknown."""
    counts = [other["count"] for other in result["processes"]["others"]]
    return None if None in counts else sum(counts) + len(result["processes"]["largest"])


@pytest.mark.threads
def test_each_process_is_listed_with_its_facts_and_usage(spoor, workload):
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-i", "0.02", "-o", path, "--", "sh", "-c",
                          '"$0" 0.5; "$1" 40; exit 5', workload("burn"), workload("hold"))
    burned = float(read_line(process.stdout))
    held_pid = int(read_line(process.stdout))
    wait_for_samples(process.pid)
    process.stdin.close()
    assert process.wait() == 5
    result = load(path)
    shell, burn, hold = (by_name(result, name) for name in ("sh", "burn", "hold"))
    assert shell["pid"] == result["run"]["pid"] and shell["parent_pid"] == process.pid
    assert burn["parent_pid"] == hold["parent_pid"] == shell["pid"]
    assert hold["pid"] == held_pid
    assert shell["started_seconds"] == 0
    assert shell["started_seconds"] <= burn["started_seconds"] < burn["ended_seconds"]
    assert burn["ended_seconds"] - 0.011 <= hold["started_seconds"] < hold["ended_seconds"]
    assert hold["ended_seconds"] <= shell["ended_seconds"] <= result["run"]["elapsed_seconds"]
    if IS_ROOT:
        assert burn["cpu_seconds"] == cpu_time(burned)
    else:  # without exit records, the last moments are estimated
        assert burned / 2 <= burn["cpu_seconds"] <= burned + 0.05
    assert 40 * MIB <= hold["peak_rss_bytes"] < 48 * MIB > burn["peak_rss_bytes"]
    assert burn["command"] == workload("burn") + " 0.5"
    assert hold["command"] == workload("hold") + " 40"
    assert shell["command"].startswith("sh -c ")
    assert (shell["exit_code"], shell["signal"]) == (5, None)
    assert (hold["exit_code"], hold["signal"]) in ([(0, None)] if IS_ROOT
                                                   else [(0, None), (None, None)])
    assert hold["gpu_memory_bytes"] is None


def test_exit_status_of_orphans_is_reported(spoor, tmp_path):
    """Spoor reaps orphans, so their status is known without privileges. Their parents are known
    if spoor saw the orphans before the parents exited."""
    gate, path = tmp_path / "gate", spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-i", "0.02", "--wait", "all", "-o", path, "--", "sh", "-c",
                          f"({WAIT_FOR} exit 4) & ({WAIT_FOR} exec sh -c 'kill -9 $$') & "
                          "echo $$; read x; exit 0", env={**os.environ, "GATE": str(gate)})
    pid = int(read_line(process.stdout))
    wait_for_samples(process.pid)
    process.stdin.close()
    eventually(lambda: state_of(pid) is None, "the end of the main process")
    gate.touch()
    assert process.wait() == 0
    ended = {(p["exit_code"], p["signal"]) for p in load(path)["processes"]["largest"]
             if p["parent_pid"] == pid}
    assert ended == {(4, None), (137, "SIGKILL")}


@pytest.mark.skipif(not IS_ROOT, reason="exit codes of all processes are reported to root alone")
def test_exit_status_of_every_process_is_reported(spoor, workload):
    _, result = spoor.result("sh", "-c", '(exit 3); "$0" 15; true', workload("die"))
    ended = {(p["exit_code"], p["signal"]) for p in result["processes"]["largest"]}
    assert ended == {(0, None), (3, None), (143, "SIGTERM")}


def test_many_short_processes_are_summed(spoor):
    _, result = spoor.result("sh", "-c",
                             "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done")
    others = {other["name"]: other for other in result["processes"]["others"]}
    started = result["processes"]["started"]
    assert started["exact"] or not IS_ROOT
    assert (count(result), started["value"]) == ((301, 301) if started["exact"] else (None, None))
    if IS_ROOT:
        assert set(others) == {"true"} and others["true"]["count"] >= 101
        assert 0 < others["true"]["peak_rss_bytes"] < 8 * MIB
    else:
        assert set(others) <= {"true", "sh", None}


def test_process_that_calls_exec_gets_the_name_of_the_new_program(spoor, workload):
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-i", "0.02", "-o", path, "--", "sh", "-c",
                          'sh -c \'exec "$0" 5\' "$0"; :', workload("hold"))
    read_line(process.stdout)
    wait_for_samples(process.pid)
    process.stdin.close()
    assert process.wait() == 0
    assert by_name(load(path), "hold")["command"] == workload("hold") + " 5"


def test_process_of_a_short_run_is_not_listed_as_spoor(spoor):
    """The process is forked from spoor and may exit before it is read again."""
    for _ in range(10):
        _, result = spoor.result("true")
        (process,) = result["processes"]["largest"]
        assert (process["name"], process["command"]) == ("true", "true")


def test_a_long_command_is_truncated(spoor, workload):
    _, result = spoor.result(workload("burn"), "0.1", "0", "x" * 300)
    command = by_name(result, "burn")["command"]
    assert len(command) == 256 and command.endswith("xxx...")


def test_start_time_of_an_attached_process_is_before_the_run(spoor, workload, held):
    path = spoor.new_path("result.json")
    done = spoor("attach", "-q", "-i", "0.02", "--duration", "0.2", "-o", path, str(held.pid))
    assert done.returncode == 0
    process = by_name(load(path), "hold")
    assert process["pid"] == held.pid and process["parent_pid"] == os.getpid()
    assert process["started_seconds"] < 0 and process["ended_seconds"] is None
    assert process["exit_code"] is None and process["cpu_seconds"] < 0.1
    assert process["peak_rss_bytes"] >= 50 * MIB
    assert process["command"] == workload("hold") + " 50"


def test_gpu_memory_of_a_process_is_summed_over_gpus(spoor, machine):
    machine.play(card(0), card(1))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"process 1 compute {run.pid} {2 * GIB}")
    machine.wait_for()
    result = run.end()
    main = next(p for p in result["processes"]["largest"] if p["pid"] == run.pid)
    assert main["gpu_memory_bytes"] == value(result, "gpu.memory.main_bytes") == 3 * GIB


def test_text_report_lists_the_largest_processes(spoor, workload):
    path = spoor.new_path("result.json")
    done = spoor("run", "-o", path, "--processes", "1", "--", workload("burn"), "0.2", "2")
    heading = "\nProcesses   PID    CPU time  peak memory        time  command\n"
    assert heading in done.stderr
    assert done.stderr.partition(heading)[2].split("\n")[1] in ("  and 2 more", "")
    for more, is_listed in (((), True), (("--processes", "0"), False)):
        text = spoor("report", "-f", "text", *more, path).stdout
        assert (heading in text) == is_listed


def test_the_summary_names_three_of_several_processes(spoor):
    samples = spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-i", "0.05", "--samples", samples, "--", "sh", "-c",
                          'for i in 1 2 3 4; do sleep 600 & all="$all $!"; done; read x; kill $all; wait')
    eventually(lambda: any(row["job_processes"] == 5 for row in rows_of(samples)), "five processes")
    text = process.communicate(b"\n")[1].decode()
    rows = text.partition("\nProcesses   PID ")[2].split("\n\n")[0].splitlines()[1:]
    assert len(rows) == 4 and rows[3] == "  and 2 more"
    assert "\nProcesses   PID " not in spoor("run", "--", "true").stderr


@pytest.mark.parametrize("number", ["-1", "201", "many", ""])
def test_invalid_number_of_processes_is_refused(spoor, number):
    done = spoor("run", f"--processes={number}", "--", "true")
    assert done.returncode == 125
    assert done.stderr == ("spoor: --processes: invalid number '" + number +
                           "': expected 0 to 200\n")


def test_processes_of_a_stored_report_are_written_unchanged(spoor):
    path = spoor.new_path("result.json")
    subprocess.run([spoor.binary, "run", "-q", "-o", path, "--", "sh", "-c", "true & wait"],
                   check=True, stdin=subprocess.DEVNULL)
    assert spoor("report", "-f", "json", path).stdout == path.read_text(encoding="utf-8")
