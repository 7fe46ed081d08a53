# SPDX-License-Identifier: Apache-2.0
"""Outputs that stall: a pipe nobody reads, a file system that is frozen. The job does not notice,
and a signal ends the wait."""
import fcntl
import json
import os
import pathlib
import select
import signal
import subprocess
import time

import pytest

from conftest import DEADLINE_SECONDS, eventually, load, read_line

MANY = ["--tag", "filler=" + "x" * 100_000]  # a report that is larger than a pipe


def blocked_in(pid, name):
    """Whether some thread of a process, or of its children, sleeps in a system call."""
    pids = [str(pid)]
    for folder in pathlib.Path(f"/proc/{pid}/task").iterdir():
        pids += (folder / "children").read_text().split()
    return any(name in line for each in pids for line in wait_channels(each))


def wait_channels(pid):
    try:
        return [(folder / "wchan").read_text()
                for folder in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


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


@pytest.mark.parametrize("command", [
    ["run", "-q", "-f", "json", "-o", "-", "--", "sh", "-c", "exit 7"],
    ["run", "-f", "json", "--summary-fd", "1", "-q", "--", "sh", "-c", "exit 7"],
], ids=["output", "summary-fd"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=int)
def test_report_to_a_full_pipe_is_interrupted_by_a_signal(spoor, full_pipe, command, number):
    process = spoor.start(*command, stdout=full_pipe.writer)
    eventually(lambda: blocked_in(process.pid, "pipe_write"), "it writes the report")
    process.send_signal(number)
    assert process.wait(DEADLINE_SECONDS) == 7, "the exit code is still the job's"
    assert "interrupted" in process.stderr.read().decode()
