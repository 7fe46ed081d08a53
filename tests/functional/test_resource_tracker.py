# SPDX-License-Identifier: Apache-2.0
"""resource-tracker: the predecessor's command line and samples, without its bugs."""
import csv
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import sys

import pytest

from conftest import DEADLINE_SECONDS, cpu_time, eventually, read_line, state_of, \
    wait_for_samples
from gpus import card

COLUMNS = ["timestamp"] + ["system_" + name for name in """processes utime stime cpu_usage
    memory_free_mib memory_used_mib memory_buffers_mib memory_cached_mib memory_active_mib
    memory_inactive_mib disk_read_bytes disk_write_bytes disk_space_total_gb disk_space_used_gb
    disk_space_free_gb net_recv_bytes net_sent_bytes gpu_usage gpu_vram_mib gpu_utilized""".split()
    ] + ["process_" + name for name in """pid children utime stime cpu_usage memory_mib
    disk_read_bytes disk_write_bytes gpu_usage gpu_vram_mib gpu_utilized""".split()]


def samples(text):
    return [json.loads(line) for line in text.splitlines()]


def table(text):
    rows = list(csv.DictReader(text.splitlines()))
    assert all(list(row) == COLUMNS for row in rows)
    return rows


def used_seconds(rows):
    return sum(float(row["process_utime"]) + float(row["process_stime"]) for row in rows)


def assert_sorted(value):
    if isinstance(value, dict):
        assert list(value) == sorted(value)
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            assert_sorted(each)


# ---- samples ------------------------------------------------------------------

@pytest.mark.threads
def test_json_samples_go_to_stderr(resource_tracker):
    process = resource_tracker.start("-i", "0.1", "-n", "a\"b", "--", "sh", "-c", "echo out; read x; :")
    first = [read_line(process.stderr) for _ in range(2)]
    out, rest = process.communicate(b"\n")
    assert (process.returncode, out) == (0, b"out\n")
    rows = samples("\n".join(first) + "\n" + rest.decode())
    for number, row in enumerate(rows):
        assert_sorted(row)
        assert ("actual_interval_ms" in row) == (number > 0)
        assert row["job_name"] == "a\"b"
        assert row["tracked_pid"] == rows[0]["tracked_pid"] > 1
        assert len(row["cpu"]["per_core_pct"]) == len(re.findall(r"^cpu\d", pathlib.Path("/proc/stat").read_text(), re.M))
        assert row["memory"]["total_mib"] > row["memory"]["used_mib"] > 0
        assert row["cpu"]["process_count"] > 1
        assert "lo" not in [device["interface"] for device in row["network"]]
    assert rows[0]["cpu"]["process_child_count"] <= 1


def test_csv_has_the_same_columns_as_the_predecessor(resource_tracker):
    process = resource_tracker.start("-i", "0.1", "-f", "csv", "--", "cat")
    first = [read_line(process.stderr) for _ in range(3)]  # the header and two rows
    text = "\n".join(first) + "\n" + process.communicate()[1].decode()
    rows = table(text)
    assert all(row["timestamp"].isdigit() for row in rows)
    assert all(row["process_gpu_usage"] == "" for row in rows)
    assert text.count("timestamp") == 1


def test_samples_are_written_to_a_file_and_replace_it(resource_tracker):
    path = resource_tracker.new_path("samples")  # the name does not matter
    path.write_text("old")
    for option in ("-o", "--output"):
        done = resource_tracker("-i", "60", "-f", "csv", option, path, "true")
        assert (done.returncode, done.stderr) == (0, "")
        assert table(path.read_text())  # at least a row for the last partial interval


def test_quiet_writes_no_samples(resource_tracker):
    done = resource_tracker("--quiet", "-i", "0.01", "--", "sleep", "0.1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_unwritable_output_is_refused(resource_tracker):
    done = resource_tracker("-o", "missing/samples", "--", "touch", "started")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write to 'missing/samples': ")
    assert not pathlib.Path("started").exists()


# ---- tracked processes ---------------------------------------------------------

def test_children_are_counted_in_full(resource_tracker, workload):
    """R1: the predecessor counted only 3.7 to 6.1 of 9 seconds."""
    done = resource_tracker("-i", "0.2", "-f", "csv", "--", workload("burn"), "1.2", "6")
    assert used_seconds(table(done.stderr)) == cpu_time(float(done.stdout))


def test_daemons_and_unwaited_children_are_counted(resource_tracker, workload):
    """R5: the predecessor did not count these processes."""
    command = f"{workload('daemon')} burn | cat; {workload('ignore_children')} 20"
    done = resource_tracker("-i", "0.1", "-f", "csv", "--", "sh", "-c", command)
    assert used_seconds(table(done.stderr)) >= 0.29 + 0.19


@pytest.mark.threads
def test_attached_process_is_tracked_until_it_ends(resource_tracker, held):
    process = resource_tracker.start("-i", "0.05", "-f", "csv", "-p", str(held.pid))
    assert read_line(process.stderr).startswith("timestamp,")
    assert read_line(process.stderr).split(",")[21] == str(held.pid)
    held.stdin.close()
    rest = process.stderr.read().decode()
    assert process.wait() == 0
    memory = [int(line.split(",")[26]) for line in rest.splitlines()]
    assert memory and all(each == pytest.approx(50, abs=3) for each in memory)


def test_cgroup_figures_come_from_the_jobs_own_cgroup(resource_tracker, held):
    process = resource_tracker.start("-i", "0.05", "-p", str(held.pid))
    row = json.loads(read_line(process.stderr))
    assert not [key for key in row["cpu"] if key.startswith("cgroup")]
    done = resource_tracker("-i", "0.1", sys.executable, "-c",
                            "import time\nwhile time.process_time() < 0.3: pass")
    cpus = [row["cpu"] for row in samples(done.stderr)]
    used = sum(cpu["process_utime_secs"] + cpu["process_stime_secs"] for cpu in cpus)
    assert used >= 0.25
    for cpu in cpus:
        assert ("cgroup_usage_secs" in cpu) == ("cgroup_usage_secs" in cpus[0])
        assert ("cgroup_utilization_pct" in cpu) == ("cgroup_usage_secs" in cpu)
    if "cgroup_usage_secs" in cpus[0]:
        assert sum(cpu["cgroup_usage_secs"] for cpu in cpus) == pytest.approx(used, rel=0.3)


def test_without_a_job_gpu_columns_cover_all_processes(resource_tracker, machine):
    machine.play("driver 550.54.15", card(0), "stream 0 gpu 20 40")
    process = resource_tracker.start("-i", "0.05", env=machine.environment)
    for _ in range(400):  # until the driver has responded
        row = json.loads(read_line(process.stderr))
        if "process_gpu_usage" in row["cpu"]:
            break
    gpu = row["gpu"][0]
    assert gpu["detail"] == {"driver_version": "550.54.15", "pci_bus_id": "0000:3b:00.0"}
    assert row["cpu"]["process_gpu_usage"] == pytest.approx(0.4, abs=0.02)
    assert row["cpu"]["process_gpu_utilized"] == 1
    assert row["cpu"]["process_gpu_vram_mib"] == pytest.approx(gpu["vram_used_bytes"] / 2**20)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0


def test_rate_of_a_short_last_sample_is_plausible(resource_tracker):
    for _ in range(5):
        rows = samples(resource_tracker("-i", "0.5", "true").stderr)
        assert rows
        for row in rows:
            assert max(row["cpu"]["per_core_pct"]) <= 100
            assert row["cpu"]["utilization_pct"] <= os.cpu_count()
            assert row["cpu"]["process_cores_used"] <= os.cpu_count()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_tracking_of_the_machine(resource_tracker, number):
    process = resource_tracker.start("-i", "0.05", "-f", "csv")
    for _ in range(3):
        line = read_line(process.stderr)
    assert line.endswith(",0" + 11 * ",")
    process.send_signal(number)
    assert process.stderr.read().endswith(b"\n")
    assert process.wait() == 0


def test_a_process_that_does_not_exist_is_refused(resource_tracker):
    done = resource_tracker("-p", "4194304")
    assert (done.returncode, done.stderr) == (1, "error: no such process: 4194304\n")


# ---- the command --------------------------------------------------------------

def test_command_starts_at_once_and_its_end_is_detected(resource_tracker):
    """R2: even with an interval of an hour, neither is delayed."""
    done = resource_tracker("-i", "3600", "-f", "csv", "--", "echo", "x")
    assert (done.returncode, done.stdout) == (0, "x\n")
    assert 1 <= len(table(done.stderr)) <= 2  # two if the machine starts the command slowly


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_of_the_command_is_passed_on(resource_tracker, code):
    assert resource_tracker("--quiet", "sh", "-c", f"exit {code}").returncode == code


def test_commands_that_cannot_run_end_with_126_or_127(resource_tracker, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # folders that every user may read
    done = resource_tracker("--", "no-such-command")
    assert (done.returncode, done.stderr) == (127, "error: 'no-such-command': command not found\n")
    pathlib.Path("file").touch()
    assert resource_tracker("--", "./file").returncode == 126


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_resource_tracker_is_killed_by_the_signal_that_killed_the_command(resource_tracker, workload, number):
    """R3: resource-tracker is killed by the same signal."""
    done = resource_tracker("--quiet", "--", workload("die"), str(int(number)))
    assert done.returncode == -number


def test_signals_are_forwarded(resource_tracker, workload):
    """R3: the predecessor did not stop the command."""
    process = resource_tracker.start("--quiet", "-i", "3600", "--", workload("signals"))
    pid = int(read_line(process.stdout).split()[1])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        process.send_signal(number)
        assert read_line(process.stdout) == str(int(number))
    process.stdin.close()
    assert process.wait() == 0
    assert state_of(pid) is None


def test_options_after_the_command_belong_to_it(resource_tracker):
    done = resource_tracker("--quiet", "echo", "-i", "--pid", "x")
    assert done.stdout == "-i --pid x\n"
    assert resource_tracker("--quiet", "--", "echo", "agent").stdout == "agent\n"


# ---- settings -----------------------------------------------------------------

def test_version_and_help_are_shown(resource_tracker):
    assert resource_tracker("-V").stdout.startswith("resource-tracker 0.1.14+spoor.")
    done = resource_tracker("--help")
    assert done.returncode == 0
    for option in """pid interval config format output quiet job-name project-name stage-name
            task-name team env language orchestrator executor external-run-id container-image
            tag""".split():
        assert f"--{option}" in done.stdout
    assert "agent" not in done.stdout


@pytest.mark.parametrize("options, message", [
    (["-i", "0"], "-i: '0' is out of range: expected 0.001 to 3600 seconds"),
    (["--interval", "x"], "--interval: invalid value 'x': expected a number of seconds"),
    (["-i", "nan"], "-i: invalid value 'nan': expected a number of seconds"),
    (["-f", "xml"], "-f: invalid value 'xml': expected json|csv"),
    (["-p", "0"], "-p: invalid process ID '0'"),
    (["--tag", "x"], "--tag: invalid tag 'x': expected KEY=VALUE"),
    (["--intervall", "1"], "unknown option --intervall; did you mean --interval?"),
    (["--zzzzzz"], "unknown option --zzzzzz; see 'resource-tracker --help'"),
    (["-Z"], "unknown option -Z; see 'resource-tracker --help'"),
])
def test_bad_options_are_refused(resource_tracker, options, message):
    done = resource_tracker(*options, "--", "touch", "started")
    assert (done.returncode, done.stderr) == (1, f"error: {message}\n")
    assert not pathlib.Path("started").exists()


def test_variables_set_options(resource_tracker, monkeypatch):
    monkeypatch.setenv("TRACKER_OUTPUT", "from-variable")
    monkeypatch.setenv("TRACKER_JOB_NAME", "variable")
    monkeypatch.setenv("TRACKER_TEAM", "blue")
    monkeypatch.setenv("TRACKER_INTERVAL", "nonsense")  # this variable is not supported
    resource_tracker("--", "true")
    assert {row["job_name"] for row in samples(pathlib.Path("from-variable").read_text())} == \
        {"variable"}
    done = resource_tracker("-o", "other", "-n", "option", "--", "true")
    assert done.stderr == ""
    assert {row["job_name"] for row in samples(pathlib.Path("other").read_text())} == {"option"}
    monkeypatch.setenv("TRACKER_QUIET", "true")
    monkeypatch.delenv("TRACKER_OUTPUT")
    assert resource_tracker("--", "true").stderr == ""
    monkeypatch.setenv("TRACKER_QUIET", "maybe")
    assert resource_tracker("--", "true").stderr.startswith("error: TRACKER_QUIET: invalid value")


def test_the_config_file_is_overridden_by_variables_and_options(resource_tracker, monkeypatch,
                                                                held):
    pathlib.Path("resource-tracker.toml").write_text(
        f"[job]\nname = 'file'\npid = {held.pid}\n[tracker]\ninterval_secs = 3600\n"
        "[sentinel]\nkeys = ['of', 'others']\n")
    row = samples(resource_tracker("true").stderr)[-1]
    assert row["job_name"] == "file"
    assert row["tracked_pid"] != held.pid  # but the PID of the command
    monkeypatch.setenv("TRACKER_JOB_NAME", "variable")
    row = samples(resource_tracker("true").stderr)[-1]
    assert row["job_name"] == "variable"
    row = samples(resource_tracker("-n", "option", "true").stderr)[-1]
    assert row["job_name"] == "option"
    process = resource_tracker.start("-i", "0.05", "cat")
    for _ in range(2):
        assert json.loads(read_line(process.stderr))["tracked_pid"] != held.pid
    process.communicate()
    process = resource_tracker.start("-i", "0.05")
    assert json.loads(read_line(process.stderr))["tracked_pid"] == held.pid


def test_a_missing_config_file_does_not_stop_the_job(resource_tracker):
    done = resource_tracker("--quiet", "-c", "missing.toml", "sh", "-c", "echo ran; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == \
        (3, "ran\n", "warn: config file 'missing.toml': No such file or directory; ignored\n")


def test_config_file_named_by_an_option_must_be_valid(resource_tracker):
    pathlib.Path("bad.toml").write_text("[job]\nname = 5\n")
    done = resource_tracker("--config", "bad.toml", "true")
    assert (done.returncode, done.stderr) == (1, "error: bad.toml:2: job.name: expected a string\n")
    pathlib.Path("bad.toml").write_text("[tracker]\n\ninterval_secs = 0\n")
    done = resource_tracker("--config", "bad.toml", "true")
    assert done.stderr == ("error: bad.toml:3: tracker.interval_secs: '0' is out of range: "
                           "expected 0.001 to 3600 seconds\n")


def test_unknown_toml_values_do_not_stop_the_job(resource_tracker):
    pathlib.Path("all.toml").write_text(
        'title = "\\u00e9"\nabout = """\nseveral\nlines"""\nraw = \'\'\'a\nb\'\'\'\n'
        'owner = { name = "x", born = 1979-05-27 07:32:00Z }\nlist = [{ a = [1, inf] }]\n'
        '"dotted.key" = 1\n[job]\nname = "own line"\n')
    done = resource_tracker("-c", "all.toml", "-o", "rows", "true")
    assert (done.returncode, done.stderr) == (0, "")
    assert {row["job_name"] for row in samples(pathlib.Path("rows").read_text())} == {"own line"}


def test_an_invalid_default_config_file_is_ignored(resource_tracker):
    pathlib.Path("resource-tracker.toml").write_text("[job]\npid = {\n")
    done = resource_tracker("--quiet", "true")
    assert (done.returncode, done.stderr) == \
        (0, "warn: resource-tracker.toml:2: job.pid: invalid process ID '{'; ignored\n")


def test_an_empty_token_counts_as_unset(resource_tracker, monkeypatch):
    monkeypatch.setenv("SENTINEL_API_TOKEN", "")
    monkeypatch.setenv("SENTINEL_API_URL", "http://127.0.0.1:1")
    assert resource_tracker("--quiet", "--team", "a", "--tag", "k=v", "true").stderr == ""


def test_a_stalled_reader_delays_nothing(resource_tracker):
    """The test does not read the pipe of stderr while the command runs."""
    process = resource_tracker.start("-i", "0.001", "--", "sh", "-c", "echo started; sleep 0.5")
    assert read_line(process.stdout) == "started"
    eventually(lambda: process.poll() is not None, "the end of the command")
    assert process.returncode == 0


@pytest.mark.parametrize("options", [[], ["--pid"]], ids=["command", "process"])
def test_lost_samples_are_counted_in_a_warning(resource_tracker, held, options):
    """The test never reads the pipe of stdout, which has room for only a few samples."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    job = [*options, str(held.pid)] if options else ["--", "cat"]
    process = resource_tracker.start("-i", "0.005", "-f", "csv", "-o", "/dev/stdout", *job,
                                     stdout=writer)
    os.close(writer)
    eventually(lambda: select.select([reader], [], [], 0)[0], "the header")
    wait_for_samples(process.pid)
    if options:
        process.send_signal(signal.SIGINT)
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 0
    os.close(reader)
    assert re.fullmatch(r"warn: could not write [0-9]+ rows? to /dev/stdout: it does not respond\n",
                        process.stderr.read().decode())
