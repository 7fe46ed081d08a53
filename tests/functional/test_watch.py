# SPDX-License-Identifier: Apache-2.0
"""spoor watch lists the runs of this user, and attach finds processes by name."""
import json
import os
import signal
import subprocess
import uuid

import pytest

from conftest import children_of, eventually, load, read_line, state_of
from gpus import GIB, Run, card

STRANGER = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups"]
WAITING = ("--", "sh", "-c", "echo ready; read x; : end")


@pytest.fixture
def started(spoor):
    """Returns a function that starts a run, with these options, that waits for input."""
    def start(*options, prefix=(), command=WAITING):
        process = subprocess.Popen([*prefix, spoor.binary, "run", "-q", *options, *command],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        spoor.started.append(process)
        read_line(process.stdout)
        return process
    return start


def watch(spoor, *trackers):
    """Returns the listed runs by the PIDs of their trackers, when the given trackers have responded: spoor
    watch waits only 100 ms for each."""
    def listed():
        done = spoor("watch", "-f", "json")
        assert (done.returncode, done.stderr) == (0, "")
        runs = {run["tracker_pid"]: run for run in json.loads(done.stdout)["runs"]}
        return (runs,) if all(runs[tracker.pid]["pid"] for tracker in trackers) else None
    return eventually(listed, "all trackers respond")[0]


def table_of(spoor, trackers):
    """Returns the lines that spoor watch prints, when the given trackers have responded."""
    pids = {str(children_of(tracker.pid)[0]) for tracker in trackers}

    def listed():
        lines = spoor("watch").stdout.splitlines()
        return lines if pids <= {line.split()[0] for line in lines} else None
    return eventually(listed, "all trackers respond")


def test_watch_lists_runs_with_their_figures(spoor, started):
    processes = [started("-i", "0.02", "--name", f"first {uuid.uuid4()}"), started("-i", "0.02")]
    eventually(lambda: all(watch(spoor, process)[process.pid][name] for process in processes
                           for name in ("job_rss_bytes", "job_cpu_seconds")), "figures of all")
    runs = watch(spoor, *processes)
    for process in processes:
        run = runs[process.pid]
        assert run["pid"] == children_of(process.pid)[0] and run["job_processes"] >= 1
        assert run["command"] == "sh -c 'echo ready; read x; : end'"
        assert 0 < run["sampled_seconds"] and 0 < run["elapsed_seconds"]
    assert runs[processes[0].pid]["name"].startswith("first ") and runs[processes[1].pid]["name"] is None
    heading, *lines = table_of(spoor, processes)
    assert heading.replace("GPU MEM", "").split() == ["PID", "ELAPSED", "CPU", "MEMORY", "COMMAND"]
    # A run of another test may use a GPU, and may have begun since the list above.
    assert "GPU MEM" not in heading or any(line[:heading.index("COMMAND")].split()[-1] != "-" for line in lines)
    row = next(line for line in lines if line.split()[0] == str(runs[processes[0].pid]["pid"]))
    assert row.endswith(f"{runs[processes[0].pid]['name']}  sh -c 'echo ready; read x; : end'")
    for process in processes:
        process.communicate(b"\n")
    assert not {process.pid for process in processes} & watch(spoor).keys()


def test_watch_shows_gpu_memory_if_a_run_has_a_gpu(spoor, started, machine):
    machine.play(card(0))
    with_gpu = Run(spoor, machine)
    machine.play(f"process 0 compute {with_gpu.pid} {GIB}")
    without = started("--gpus", "none")
    eventually(lambda: watch(spoor, with_gpu.process)[with_gpu.process.pid]["job_gpu_memory_bytes"] == GIB, "GPU memory")
    heading, *lines = table_of(spoor, [with_gpu.process, without])
    rows = {int(line.split()[0]): line[:heading.index("COMMAND")].split() for line in lines}
    assert "GPU MEM" in heading and rows[with_gpu.pid][-2:] == ["1.07", "GB"]
    assert rows[children_of(without.pid)[0]][-1] == "-"
    with_gpu.end()


def test_watch_takes_no_samples_of_a_run(spoor, started):
    samples = spoor.new_path("s.csv")
    process = started("-i", "1h", "--samples", samples)
    eventually(lambda: watch(spoor, process)[process.pid]["sampled_seconds"], "the sample that follows the first")
    eventually(lambda: samples.read_bytes().count(b"\n") >= 3, "rows of both")
    before = samples.read_bytes()
    runs = [watch(spoor, process)[process.pid] for _ in range(5)]
    assert runs[-1]["elapsed_seconds"] > runs[0]["elapsed_seconds"] > 0
    assert len({run["sampled_seconds"] for run in runs}) == 1 and samples.read_bytes() == before


def test_watch_lists_a_run_that_is_stopped(spoor, started):
    process = started("-i", "0.02")
    process.send_signal(signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T", "the tracker is stopped")
    assert watch(spoor)[process.pid] == {"tracker_pid": process.pid, "pid": None}
    assert any(line.split()[0] == str(process.pid) and line.endswith("n/a  (stopped, or not responding)")
               for line in spoor("watch").stdout.splitlines())
    process.send_signal(signal.SIGCONT)
    eventually(lambda: watch(spoor)[process.pid].get("job_cpu_seconds"), "figures again")


def test_watch_prints_a_message_if_there_are_no_runs(spoor):
    """In a new network namespace, no sockets of other runs are visible."""
    prefix = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    done = subprocess.run([*prefix, spoor.binary, "watch"], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no runs\n", "")
    done = subprocess.run([*prefix, spoor.binary, "watch", "-f", "json"], text=True, capture_output=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["runs"] == []


def test_watch_does_not_list_runs_of_other_users(spoor, started):
    if os.geteuid() != 0:
        pytest.skip("only root can run as another user")
    theirs, ours = started(prefix=STRANGER), started()
    runs = watch(spoor)
    assert ours.pid in runs and theirs.pid not in runs
    done = subprocess.run([*STRANGER, spoor.binary, "watch", "-f", "json"], text=True, capture_output=True, check=True)
    assert theirs.pid in (listed := {run["tracker_pid"] for run in json.loads(done.stdout)["runs"]})
    assert ours.pid not in listed


def test_hostile_name_of_a_run_is_escaped_and_truncated(spoor, started):
    process = started("--name", "\033[2J\n\"\u2603" * 40, command=("--", "sh", "-c", "echo ready; read x", "\001" * 4000))
    run = watch(spoor, process)[process.pid]
    assert run["name"].startswith(r"\x1b[2J\n") and len(run["name"].encode()) <= 100
    assert run["command"].startswith("sh -c 'echo ready; read x' $'") and len(run["command"].encode()) <= 500
    assert "\033" not in spoor("watch").stdout


# ---- attach by name ------------------------------------------------------------


@pytest.fixture
def named(tmp_path):
    """Yields a unique name, and a function that starts processes with this name."""
    name = "n" + uuid.uuid4().hex[:12]
    path = tmp_path / name
    path.symlink_to("/bin/bash")
    started = []

    def start(script):
        process = subprocess.Popen([path, "-c", f"echo ready; {script}"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        started.append(process)
        read_line(process.stdout)
        return process
    yield name, start
    for process in started:
        process.communicate()


def attached_pid(spoor, *operands):
    path = spoor.new_path("result.json")
    # A run is found by its name only if its tracker responds within 100 ms.
    done = eventually(lambda: (done := spoor("attach", "-q", "--duration", "20ms", "-o", path, *operands))
                      .returncode == 0 and done, "the process is found")
    assert (done.returncode, done.stderr) == (0, "")
    return load(path)["run"]["pid"]


def test_attach_finds_a_process_by_its_name(spoor, named):
    name, start = named
    done = spoor("attach", name)
    assert done.returncode == 125 and done.stderr == f"spoor: no process is called '{name}'\n"
    first = start("( read x; : ) <&0 & wait")  # the child has the same name
    eventually(lambda: children_of(first.pid), "its child")
    assert attached_pid(spoor, name) == first.pid
    second = start("read x; :")
    done = spoor("attach", name)
    assert done.returncode == 125
    assert done.stderr == (f"spoor: 2 processes are called '{name}', such as {min(first.pid, second.pid)} and "
                           f"{max(first.pid, second.pid)}: give a PID\n")


def test_attach_finds_a_run_by_its_name(spoor, started):
    name = f"run {uuid.uuid4()}"
    process = started("--name", name)
    assert attached_pid(spoor, name) == children_of(process.pid)[0]
    started("--name", name)
    message = f"spoor: 2 runs are called '{name}': give the PID ('spoor watch' lists it)\n"
    done = eventually(lambda: (done := spoor("attach", "-q", "--duration", "20ms", name)).stderr == message and done, "both respond")
    assert done.returncode == 125


def test_attach_accepts_only_one_target(spoor):
    done = spoor("attach", "--cgroup", "/sys/fs/cgroup", "name")
    assert done.returncode == 125 and "a PID and --cgroup cannot be combined" in done.stderr
