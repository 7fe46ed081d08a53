# SPDX-License-Identifier: Apache-2.0
"""spoor phase writes rows of a sub-tracking file, from any language and any number of processes."""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

import pytest

from conftest import IS_FULL, load, read_line, value
from sub_tracking import read_events

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"


def phase(spoor, *arguments, folder, **environment):
    return spoor("phase", *arguments, cwd=folder, env={**os.environ, **environment})


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_rows_contain_the_caller_the_phase_and_the_time(spoor, tmp_path, kind):
    path = tmp_path / f"p.{kind}"
    before = time.time()
    for word in ("start", "stop"):
        done = phase(spoor, word, 'say "x", é', "--file", path, folder=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = read_events(path)
    assert [row[:3] for row in rows] == [(os.getpid(), 'say "x", é', 0),
                                         (os.getpid(), 'say "x", é', 1)]
    assert before <= rows[0][3] <= rows[1][3] <= time.time()


def test_csv_rows_have_a_header_and_are_quoted(spoor, tmp_path):
    phase(spoor, "start", "a,b", "--file=p.csv", folder=tmp_path)
    header, row, end = (tmp_path / "p.csv").read_bytes().split(b"\r\n")
    assert header == b"process_id,code_block_name,position,timestamp" and end == b""
    assert row.startswith(b'%d,"a,b",0,' % os.getpid())


def test_option_overrides_the_variable_for_the_file(spoor, tmp_path):
    phase(spoor, "stop", "x", folder=tmp_path, SPOOR_PHASE_FILE="v.csv")
    assert len(read_events(tmp_path / "v.csv")) == 1
    phase(spoor, "--file", "o.csv", "stop", "x", folder=tmp_path, SPOOR_PHASE_FILE="v.csv")
    assert len(read_events(tmp_path / "o.csv")) == 1 and len(read_events(tmp_path / "v.csv")) == 1
    # Tests an empty file, which has no header.
    (tmp_path / "e.csv").touch()
    phase(spoor, "stop", "x", "--file=e.csv", folder=tmp_path, SPOOR_PHASE_FILE="")
    assert len(read_events(tmp_path / "e.csv")) == 1


@pytest.mark.parametrize("kind, writers, rounds", [("csv", 8, 20 if IS_FULL else 8), ("sqlite", 4, 5)])
def test_concurrent_writers_write_one_header(spoor, tmp_path, kind, writers, rounds):
    script = 'for i in $(seq "$2"); do "$1" phase start b; "$1" phase stop b; done'
    started = [subprocess.Popen(["sh", "-c", script, "sh", spoor.binary, str(rounds)],
                                cwd=tmp_path, env={**os.environ, "SPOOR_PHASE_FILE": f"p.{kind}"})
               for _ in range(writers)]
    assert [process.wait() for process in started] == [0] * writers
    rows = read_events(tmp_path / f"p.{kind}")
    assert len(rows) == 2 * writers * rounds
    for process in started:
        assert [row[2] for row in rows if row[0] == process.pid] == [0, 1] * rounds


BAD = {
    "nothing": [], "no name": ["start"], "no position": ["load", "x"], "empty name": ["start", ""],
    "three words": ["start", "two", "words"], "unknown option": ["start", "x", "--fil=p.csv"],
    "option of run": ["start", "x", "-o", "x"], "no kind of file": ["start", "x", "--file=p.txt"],
    "no file": ["start", "x", "--file"], "empty file": ["start", "x", "--file="],
    "no folder": ["start", "x", "--file=no/such/p.csv"],
    "no folder, sqlite": ["start", "x", "--file=no/such/p.sqlite"],
    "a folder": ["start", "x", "--file=folder.csv"],
    "no database": ["start", "x", "--file=text.sqlite"],
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_arguments_are_refused(spoor, tmp_path, case):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "text.sqlite").write_text("no database" * 100)
    before = sorted(tmp_path.iterdir())
    done = phase(spoor, *BAD[case], folder=tmp_path)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("spoor: ") and done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_help_and_version_are_shown(spoor, tmp_path):
    text = phase(spoor, "start", "--help", folder=tmp_path).stdout
    assert text.startswith("Usage: spoor phase [OPTIONS] start|stop NAME\n") and "--file" in text
    assert phase(spoor, "-V", folder=tmp_path).stdout.startswith("spoor ")


def test_a_full_disk_leaves_only_complete_rows(spoor, tmp_path):
    path = tmp_path / "p.csv"
    phase(spoor, "start", "x", "--file=p.csv", folder=tmp_path)
    whole = path.read_bytes()
    limited = subprocess.run(
        ["prlimit", f"--fsize={len(whole) + 5}", "--", spoor.binary, "phase", "stop", "x",
         "--file=p.csv"], cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    assert limited.returncode == 125 and "p.csv" in limited.stderr
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_the_example_script_works(spoor, gpu_tracker, kind):
    """Runs examples/phases.sh, tracked and analysed by the commands that it describes."""
    script = EXAMPLES / "phases.sh"
    track, analyze = (shlex.split(line.strip("#\n ").replace(".csv", f".{kind}"))[1:]
                      for line in script.read_text().splitlines() if "gpu-tracker" in line)
    (gpu_tracker.folder / "phases.sh").write_text(script.read_text())
    (gpu_tracker.folder / "spoor").symlink_to(spoor.binary)
    options = {"cwd": gpu_tracker.folder,
               "env": {**os.environ, "SPOOR_PHASE_FILE": f"phases.{kind}",
                       "PATH": f"{gpu_tracker.folder}:{os.environ['PATH']}"}}
    done = gpu_tracker(*track, **options)
    assert done.returncode == 0 and "status code: 0" in done.stdout
    done = gpu_tracker(*analyze, "-f", "json", **options)
    assert done.returncode == 0, done
    result = json.loads(done.stdout)
    assert result["static_data"]["ram_unit"] == "gigabytes"
    compute, load = result["code_block_results"]
    assert (compute["name"], compute["num_calls"]) == ("compute", 2)
    assert (load["name"], load["num_calls"], load["num_non_empty_calls"]) == ("load", 1, 1)
    assert load["compute_time"]["total"] >= 0.5 and load["num_timepoints"] >= 1
    assert load["resource_usage"]["combined_ram"]["max"] > 0.01  # tail, not only the shell
    assert len({row[0] for row in read_events(gpu_tracker.folder / f"phases.{kind}")}) == 1


def marked(spoor, script, *options, **popen):
    """Runs a shell script under `spoor run`. Returns its output, and the phases of the report by
    name. In the script, $spoor is the program."""
    path = spoor.new_path("r.json")
    environment = {**os.environ, "spoor": spoor.binary, **popen.pop("env", {})}
    done = spoor("run", "-q", "-o", path, *options, "--", "sh", "-c", script, env=environment,
                 **popen)
    phases = load(path)["phases"]
    return done, {phase["name"]: phase for phase in phases}


def test_report_of_a_run_contains_its_phases(spoor, workload, tmp_path):
    done, phases = marked(spoor, f"""
        $spoor phase start "load data"; {workload("burn")} 0.2; $spoor phase stop "load data"
        {workload("burn")} 1
        $spoor phase start open""", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(phases) == ["load data", "open"]
    load_phase = phases["load data"]
    # The phase includes the start of `spoor phase stop`, and excludes later usage.
    assert 0.18 <= value(load_phase, "cpu.total_seconds") < 1
    assert value(load_phase, "memory.combined.total_rss_bytes") > 0
    assert load_phase["elapsed_seconds"] >= 0.2
    assert [path.name for path in tmp_path.glob("*.csv")] == []  # no file was requested


def test_phase_belongs_to_every_enclosing_run_and_to_the_file(spoor, tmp_path):
    inner = spoor.new_path("inner.json")
    done, phases = marked(spoor, f"""
        $spoor phase start outer
        $spoor run -q -o {inner} -- sh -c '$spoor phase start a; $spoor phase stop a'
        $spoor phase stop outer""", env={"SPOOR_PHASE_FILE": str(tmp_path / "p.csv")})
    assert (done.returncode, done.stderr) == (0, "")
    assert list(phases) == ["outer", "a"]
    assert [phase["name"] for phase in load(inner)["phases"]] == ["a"]
    assert [row[1:3] for row in read_events(tmp_path / "p.csv")] == [
        ("outer", 0), ("a", 0), ("a", 1), ("outer", 1)]


def test_daemons_and_concurrent_processes_may_mark_phases(spoor, tmp_path):
    done, phases = marked(spoor, """
        (setsid sh -c '$spoor phase start d; $spoor phase stop d; : >done' &)
        for i in 1 2 3 4; do (for j in 1 2 3; do $spoor phase start $i; $spoor phase stop $i; done) & done
        wait
        while ! [ -e done ]; do sleep 0.01; done""", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(phases) == {"d", "1", "2", "3", "4"}


def test_mistakes_are_reported_but_do_not_make_the_job_fail(spoor, tmp_path):
    name = "x" * 1000
    done, phases = marked(spoor, f"""set -e
        $spoor phase stop never
        $spoor phase start {name}
        $spoor phase start ok""", cwd=tmp_path)
    assert done.returncode == 0 and list(phases) == ["ok"]
    first, second = done.stderr.splitlines()
    assert first == "spoor: phase 'never' is not open"
    assert second.startswith("spoor: a phase name must have 1 to ")


def test_job_continues_if_its_tracker_is_killed(spoor, tmp_path):
    process = spoor.start("run", "-q", "--", "sh", "-c", """
        $spoor phase start a; echo $$; read line
        $spoor phase stop a; $spoor phase start b; echo $?; read line""", cwd=tmp_path,
        env={**os.environ, "spoor": spoor.binary})
    job = int(read_line(process.stdout))
    process.kill()
    process.wait()
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert read_line(process.stdout) == "0"
    path, = tmp_path.glob("*.csv")  # without a tracker, rows go to a file
    assert [row[:3] for row in read_events(path)] == [(job, "a", 1), (job, "b", 0)]
    process.stdin.close()


def test_silent_tracker_does_not_block_the_job(spoor, tmp_path):
    process = spoor.start("run", "-q", "--", "sh", "-c", """
        echo $PPID; read line; $spoor phase start a; echo $?; $spoor phase stop a; read line""",
        cwd=tmp_path, env={**os.environ, "spoor": spoor.binary})
    tracker = int(read_line(process.stdout))
    os.kill(tracker, signal.SIGSTOP)
    try:
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert read_line(process.stdout) == "0"
        assert read_line(process.stderr) == \
            "spoor: the tracker does not respond: the phase may be recorded late"
    finally:
        os.kill(tracker, signal.SIGCONT)
        process.stdin.close()
    assert process.wait() == 1  # `read` reached end of file


def test_socket_of_another_program_is_not_used_as_the_tracker(spoor, tmp_path):
    """A process that listens on the socket name of another process's tracker receives no
    request."""
    code = """
import os, socket
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
    namespace = os.readlink("/proc/self/ns/pid")
    listener.bind(f"\\0spoor-phases/{namespace}/{os.getppid()}")
    listener.listen()
    print("ready", flush=True)
    connection, _ = listener.accept()
    print(connection.recv(100))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as poser:
        assert read_line(poser.stdout) == "ready"
        done = phase(spoor, "start", "x", folder=tmp_path)
        assert done.returncode == 0 and "not in a 'spoor run'" in done.stderr
        assert read_line(poser.stdout) == "b''"
    assert len(list(tmp_path.glob("*.csv"))) == 1


def test_default_file_name_identifies_one_process(spoor, tmp_path):
    """A process in another container may have the same PID."""
    ticks = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    other = tmp_path / f"{os.getpid()}.csv"
    other.write_text("of another process\n")
    assert phase(spoor, "start", "x", folder=tmp_path).returncode == 0
    assert len(read_events(tmp_path / f"{os.getpid()}-{ticks}.csv")) == 1
    assert other.read_text() == "of another process\n"


@pytest.mark.parametrize("kind", ["symlink", "fifo"])
def test_default_file_must_be_a_regular_file(spoor, tmp_path, kind):
    """Other users may be able to create files in the working directory."""
    ticks = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    path = tmp_path / f"{os.getpid()}-{ticks}.csv"
    target = tmp_path / "precious"
    target.write_text("data\n")
    if kind == "symlink":
        path.symlink_to(target)
    else:
        os.mkfifo(path)
    done = phase(spoor, "start", "x", folder=tmp_path)
    assert done.returncode == 125 and path.name in done.stderr
    assert target.read_text() == "data\n"


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_phase_commands_are_not_counted_as_processes_of_the_job(spoor, tmp_path, cgroup):
    """spoor gets the names of processes that exit within milliseconds from exit records, which
    only root may read."""
    path = tmp_path / "r.json"
    script = 'for i in 1 2 3; do "$0" phase start a; "$0" phase stop a; done; true'
    spoor("run", "-q", "--cgroup", cgroup, "-o", path, "--", "sh", "-c", script, spoor.binary)
    report = load(path)
    assert len(report["phases"]) == 3
    if os.geteuid() == 0:
        assert value(report, "processes.started") == 1
    assert [process["name"] for process in report["processes"]["largest"]] == ["sh"]


def test_a_phase_outside_a_run_prints_its_file(spoor, tmp_path):
    """Outside a run, phase commands succeed, so that scripts also work without spoor run."""
    done = phase(spoor, "stop", "x", folder=tmp_path)
    assert (done.returncode, done.stderr) == \
        (0, "spoor: phase 'x': not in a 'spoor run', and this process has not started it\n")
    (path,) = tmp_path.iterdir()
    done = phase(spoor, "start", "x", folder=tmp_path)
    assert (done.returncode, done.stderr) == \
        (0, f"spoor: phase 'x': not in a 'spoor run'; its start and stop are written to '{path.name}'\n")
    assert phase(spoor, "stop", "x", folder=tmp_path).stderr == ""
    assert phase(spoor, "-q", "start", "x", folder=tmp_path).stderr == ""
    assert [row[2] for row in read_events(path)] == [1, 0, 1, 0]


def test_stop_without_a_start_causes_a_warning(spoor):
    command = f"{shlex.quote(spoor.binary)} phase"
    done = spoor("run", "-q", "--", "sh", "-c", f"{command} stop x && {command} -q stop x && exit 3")
    assert done.returncode == 3
    assert done.stderr == "spoor: phase 'x' is not open\n"
