# SPDX-License-Identifier: Apache-2.0
"""Outputs that stall: a pipe nobody reads, a file system that is frozen. The job does not notice,
and a signal ends the wait."""
import fcntl
import json
import os
import select
import signal
import subprocess

import pytest

from conftest import DEADLINE_SECONDS, eventually, load, read_line

MANY = ["--tag", "filler=" + "x" * 100_000]  # a report that is larger than a pipe


def has_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


class FullPipe:
    """A pipe that has no room, and whose reader does not read."""

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
def test_report_to_a_descriptor_that_does_not_block(spoor, options):
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
    """Its report goes to a pipe that is full. Returns when the job has been reaped."""
    process = program.start(*arguments, stdout=full_pipe.writer)
    line = read_line(process.stderr)
    job = int(line if line.isdecimal() else read_line(process.stderr))  # there may be a warning
    eventually(lambda: has_gone(job), "the job is reaped")
    return process


@pytest.mark.threads
@pytest.mark.parametrize("options", [["-o", "-"], ["--summary-fd", "1"]], ids=lambda given: given[0])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=int)
def test_report_to_a_full_pipe_is_interrupted_by_a_signal(spoor, full_pipe, options, number):
    process = start_with_full_stdout(spoor, full_pipe, "run", "-q", "-f", "json", *options, "--",
                                     "sh", "-c", SAY_PID)
    process.send_signal(number)
    assert process.wait(DEADLINE_SECONDS) == 7, "the exit code is the job's"
    assert process.stderr.read().decode() == \
        f"spoor: the report is incomplete: interrupted by {signal.Signals(number).name}\n"


def test_a_second_signal_ends_it_at_once(spoor, full_pipe):
    process = start_with_full_stdout(spoor, full_pipe, "run", "-q", "-f", "json", "-o", "-", "--",
                                     "sh", "-c", SAY_PID)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_SECONDS) == 7


def test_gpu_tracker_can_be_interrupted_too(gpu_tracker, full_pipe):
    process = start_with_full_stdout(gpu_tracker, full_pipe, "-e", f"sh -c '{SAY_PID}'",
                                     "--st", "0.1")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_SECONDS) == 1
    assert "interrupted by SIGTERM" in process.stderr.read().decode()


def test_attach_can_be_interrupted_too(spoor, full_pipe):
    """The first signal ends the tracking, the second the report."""
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


def test_stderr_that_is_full_is_not_waited_for(spoor, full_pipe):
    """Not even to say that the report is incomplete."""
    process = spoor.start("run", "--", "sh", "-c", "echo $$; exit 7", stderr=full_pipe.writer)
    job = int(read_line(process.stdout))
    eventually(lambda: has_gone(job), "the job is reaped")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_SECONDS) == 7


def test_a_signal_does_not_cost_a_report_that_can_be_written(spoor):
    """The report is written in a moment: a signal gives it that moment."""
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
