# SPDX-License-Identifier: Apache-2.0
"""Blocked outputs: a pipe that is never read, a frozen file system. The job is not affected, and
a signal ends the wait."""
import fcntl
import json
import os
import select
import signal
import subprocess

import pytest

from conftest import DEADLINE_SECONDS, eventually, load, read_line, state_of, warnings_of

MANY = ["--tag", "filler=" + "x" * 100_000]  # makes the report larger than a pipe


def has_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


class FullPipe:
    """A full pipe that is never read."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while os.write(self.writer, b"x" * 4096):
                pass
        except BlockingIOError:
            pass
        fcntl.fcntl(self.writer, fcntl.F_SETFL, 0)

    def close(self):
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def full_pipe():
    pipe = FullPipe()
    yield pipe
    pipe.close()


def read_slowly(fd):
    data = b""
    while True:
        ready, _, _ = select.select([fd], [], [], DEADLINE_SECONDS)
        assert ready, f"nothing more after {len(data)} bytes"
        piece = os.read(fd, 4096)
        if not piece:
            return data
        data += piece


@pytest.mark.parametrize("options", [["-o", "-", "-f", "json"], ["-f", "json"]],
                         ids=["stdout", "stderr"])
def test_report_waits_for_a_nonblocking_descriptor(spoor, options):
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    to_stdout = "-o" in options
    process = spoor.start("run", *(["-q"] if to_stdout else []), *options, *MANY, "--",
                          "sh", "-c", "exit 3",
                          **{"stdout" if to_stdout else "stderr": writer})
    os.close(writer)
    report = read_slowly(reader)
    os.close(reader)
    assert process.wait(DEADLINE_SECONDS) == 3
    assert json.loads(report)["run"]["exit_code"] == 3


SAY_PID = "echo $$ >&2; exit 7"


def start_with_full_stdout(program, full_pipe, *arguments):
    """Starts a program whose report goes to a full pipe. Returns after the job has been reaped."""
    process = program.start(*arguments, stdout=full_pipe.writer)
    line = read_line(process.stderr)
    job = int(line if line.isdecimal() else read_line(process.stderr))  # a warning may come first
    eventually(lambda: has_gone(job), "the job is reaped")
    return process


@pytest.mark.threads
@pytest.mark.parametrize("options", [["-o", "-"], ["-o", "/dev/fd/1"]], ids=lambda given: given[1])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=int)
def test_report_to_a_full_pipe_is_interrupted_by_a_signal(spoor, full_pipe, options, number):
    process = start_with_full_stdout(spoor, full_pipe, "run", "-q", "-f", "json", *options, "--",
                                     "sh", "-c", SAY_PID)
    process.send_signal(number)
    assert process.wait(DEADLINE_SECONDS) == 7, "the exit code is the job's"
    assert process.stderr.read().decode() == \
        f"spoor: the report is incomplete: interrupted by {signal.Signals(number).name}\n"


def test_second_signal_ends_spoor_at_once_if_stdout_is_full(spoor, full_pipe):
    process = start_with_full_stdout(spoor, full_pipe, "run", "-q", "-f", "json", "-o", "-", "--",
                                     "sh", "-c", SAY_PID)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_SECONDS) == 7


def test_gpu_tracker_with_a_full_stdout_can_be_interrupted(gpu_tracker, full_pipe):
    process = start_with_full_stdout(gpu_tracker, full_pipe, "-e", f"sh -c '{SAY_PID}'",
                                     "--st", "0.1")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_SECONDS) == 1
    assert "interrupted by SIGTERM" in process.stderr.read().decode()


def test_attach_with_a_full_stdout_can_be_interrupted(spoor, full_pipe):
    """The first signal ends the tracking, the second the writing of the report."""
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        path = spoor.new_path("s.csv")
        process = spoor.start("attach", str(sleeper.pid), "-q", "-f", "json", "-o", "-",
                              "--samples", path, stdout=full_pipe.writer)
        eventually(lambda: path.exists(), "it tracks")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        assert process.wait(DEADLINE_SECONDS) == 0
        assert "interrupted by SIG" in process.stderr.read().decode()
        sleeper.kill()


def test_signal_ends_the_wait_for_a_full_stderr(spoor, full_pipe):
    """Spoor does not wait for the message that the report is incomplete, either."""
    process = spoor.start("run", "--", "sh", "-c", "echo $$; exit 7", stderr=full_pipe.writer)
    job = int(read_line(process.stdout))
    eventually(lambda: has_gone(job), "the job is reaped")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_SECONDS) == 7


def test_signal_does_not_discard_a_report_that_can_be_written(spoor):
    """The report is written at once: a signal leaves enough time for that."""
    path = spoor.new_path("r.json")
    reader, writer = os.pipe()
    process = spoor.start("run", "-q", "-o", path, "--", "sh", "-c", SAY_PID, stdout=writer)
    os.close(writer)
    job = int(read_line(process.stderr))
    eventually(lambda: has_gone(job), "the job is reaped")
    process.send_signal(signal.SIGTERM)
    code = process.wait(DEADLINE_SECONDS)
    os.close(reader)
    assert code == 7
    assert load(path)["run"]["exit_code"] == 7


class FrozenDisk:
    """A file system on a loop device that can be frozen: writers wait until it thaws, and no
    signal interrupts the wait."""

    def __init__(self, folder):
        self.folder, self.is_frozen = folder, False

    def freeze(self):
        subprocess.run(["fsfreeze", "--freeze", self.folder], check=True)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            subprocess.run(["fsfreeze", "--unfreeze", self.folder], check=True)
        self.is_frozen = False


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    image, folder = tmp_path / "disk.img", tmp_path / "disk"
    folder.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    try:
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no loop device with a file system can be mounted")
    frozen = FrozenDisk(folder)
    yield frozen
    frozen.thaw()
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("name", ["s.csv", "s.jsonl"])
def test_samples_on_a_frozen_disk_do_not_delay_the_job(spoor, disk, name, is_there):
    path, report = disk.folder / name, spoor.new_path("r.json")
    if is_there:
        path.write_text("")
    disk.freeze()
    process = spoor.start("run", "-q", "-o", report, "-i", "0.05", "--samples", path, "--",
                          "sh", "-c", "read line; exit 5")
    try:
        eventually(lambda: [pid for pid in children(process.pid) if comm_of(pid) == "sh"],
                   "the job runs")
        process.stdin.close()
        assert process.wait(DEADLINE_SECONDS) == 5
    finally:
        disk.thaw()
    result = load(report)
    assert result["run"]["exit_code"] == 5
    assert result["processes"]["started"]["value"] == 1, "who writes is not of the job"
    assert "it does not respond" in warnings_of(result)["samples-lost"]
    eventually(lambda: path.exists() and path.stat().st_size > 0, "late rows are written")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_signals_are_forwarded_and_orphans_reaped_while_the_disk_is_frozen(spoor, disk, workload):
    """The disk is frozen in the middle of the run, while many more samples are taken."""
    path, report = disk.folder / "s.csv", spoor.new_path("r.json")
    process = spoor.start("run", "-q", "-o", report, "-i", "0.001", "--samples", path, "--",
                          workload("signals"))
    try:
        assert read_line(process.stdout).startswith("ready")
        eventually(lambda: path.stat().st_size > 10_000, "rows are written")
        disk.freeze()
        eventually(lambda: any(state_of(pid) == "D" for pid in children(process.pid)),
                   "the writer waits for the disk")
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR2) * 10:
            process.send_signal(number)
            assert read_line(process.stdout) == str(int(number))
        process.stdin.close()
        assert process.wait(DEADLINE_SECONDS) == 0
        assert load(report)["run"]["exit_code"] == 0
        assert "samples-lost" in warnings_of(load(report))
    finally:
        disk.thaw()


def test_signal_ends_job_and_spoor_while_the_disk_is_frozen(spoor, disk):
    disk.freeze()
    process = spoor.start("run", "--samples", disk.folder / "s.csv", "--", "sh", "-c",
                          "echo; exec sleep 1000")
    try:
        read_line(process.stdout)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_SECONDS) in (128 + signal.SIGTERM, -signal.SIGTERM)
    finally:
        disk.thaw()
    assert b"could not write" in process.stderr.read()


def test_a_report_on_a_frozen_disk_can_be_interrupted(spoor, disk):
    disk.freeze()
    process = spoor.start("run", "-q", "-o", disk.folder / "r.json", "--", "sh", "-c", SAY_PID)
    try:
        job = int(read_line(process.stderr))
        eventually(lambda: has_gone(job), "the job is reaped")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_SECONDS) == 7
    finally:
        disk.thaw()


TRACKING = pytest.mark.parametrize("suffix", ["csv", "sqlite"])


@TRACKING
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "old"])
def test_tracking_file_on_a_frozen_disk_does_not_delay_the_job(gpu_tracker, disk, suffix,
                                                                   is_there):
    path = disk.folder / f"t.{suffix}"
    if is_there:
        path.write_text("")
    disk.freeze()
    process = gpu_tracker.start("-e", "sh -c 'read line; exit 5'", "--st=0.1", f"--tf={path}",
                                "--overwrite", "--propagate")
    try:
        eventually(lambda: [pid for pid in children(process.pid) if comm_of(pid) == "sh"],
                   "the job runs")
        process.stdin.close()
        assert process.wait(DEADLINE_SECONDS) == 5
    finally:
        disk.thaw()
    assert f"to the file {path}: it does not respond" in process.stderr.read().decode()
    eventually(lambda: path.exists() and path.stat().st_size > 0, "late rows are written")


@TRACKING
def test_a_signal_ends_gpu_tracker_while_the_disk_is_frozen(gpu_tracker, disk, suffix):
    """The disk is frozen in the middle of the run."""
    path = disk.folder / f"t.{suffix}"
    log = path if suffix == "csv" else disk.folder / f"t.{suffix}-wal"
    process = gpu_tracker.start("-e", "sleep 1000", "--st=0.1", f"--tf={path}")
    try:
        eventually(lambda: log.exists() and log.stat().st_size > 2_000, "rows are written")
        disk.freeze()
        eventually(lambda: any(state_of(thread) == "D"
                               for pid in [process.pid, *children(process.pid)]
                               for thread in os.listdir(f"/proc/{pid}/task")),
                   "a thread waits for the disk")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_SECONDS) in (128 + signal.SIGTERM, -signal.SIGTERM)
    finally:
        disk.thaw()
    assert f"to the file {path}: it does not respond" in process.stderr.read().decode()
