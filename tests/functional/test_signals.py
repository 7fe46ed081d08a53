# SPDX-License-Identifier: Apache-2.0
"""Signals reach the job once, whichever process sends them; jobs can be stopped and continued."""
import os
import pty
import signal
import subprocess
import termios
import time

import pytest

from conftest import (DEADLINE_SECONDS, children_of, continue_after_the_end, eventually, load, read_line,
                      state_of, value)

# All signals except those that cannot be caught, SIGCHLD, and two that the C library uses.
FORWARDED = [number for number in range(1, 65)
             if number not in (32, 33, signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD)]


@pytest.mark.threads
def test_signal_sent_to_spoor_reaches_the_job_once(spoor, workload):
    """Includes the signals that faults raise, and the signals of a terminal."""
    process = spoor.start("run", "-q", "--", workload("signals"))
    assert read_line(process.stdout).startswith("ready")
    for number in FORWARDED:
        process.send_signal(number)
        assert read_line(process.stdout) == str(number)
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait() == 0


def test_each_of_many_signals_is_forwarded(spoor, workload):
    process = spoor.start("run", "-q", "--", workload("signals"))
    read_line(process.stdout)
    for _ in range(50):
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR2):
            process.send_signal(number)
            assert read_line(process.stdout) == str(int(number))
    process.stdin.close()
    assert process.wait() == 0


def test_sigcont_to_spoor_continues_the_stopped_job(spoor, workload):
    process = spoor.start("run", "-q", "--", workload("signals"))
    job = int(read_line(process.stdout).split()[1])
    os.kill(job, signal.SIGSTOP)
    eventually(lambda: state_of(job) == state_of(process.pid) == "T", "the job and spoor stop")
    process.send_signal(signal.SIGCONT)
    assert read_line(process.stdout) == str(int(signal.SIGCONT))
    eventually(lambda: state_of(job) in "SR", "the job goes on")
    process.stdin.close()
    assert process.wait() == 0


@pytest.mark.threads
def test_spoor_follows_a_job_continued_by_another_process(spoor, workload):
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-o", path, "--", workload("signals"))
    job = int(read_line(process.stdout).split()[1])
    for _ in range(3):
        os.kill(job, signal.SIGSTOP)
        eventually(lambda: state_of(job) == state_of(process.pid) == "T", "the job and spoor stop")
        os.kill(job, signal.SIGCONT)
        assert read_line(process.stdout) == str(int(signal.SIGCONT))
        eventually(lambda: state_of(process.pid) in "SR", "spoor goes on")
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait() == 0
    # The process that continued spoor does not belong to the job.
    assert load(path)["processes"]["started"]["value"] == 1


@pytest.mark.parametrize("stopped", ["job", "tracker"])
def test_samples_missed_while_stopped_are_not_counted_as_late(spoor, workload, stopped):
    """Samples delayed by a busy machine may be counted, but not the hundred missed while
    stopped."""
    path, samples = spoor.new_path("r.json"), spoor.new_path("s.csv")
    process = spoor.start("run", "-q", "-i", "10ms", "-o", path, "--samples", samples, "--",
                          workload("signals"))
    job = int(read_line(process.stdout).split()[1])
    target = job if stopped == "job" else process.pid
    os.kill(target, signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T", "spoor stops too")
    time.sleep(1)  # a hundred samples are missed
    count = len(samples.read_bytes().splitlines())
    os.kill(target, signal.SIGCONT)
    eventually(lambda: len(samples.read_bytes().splitlines()) > count + 2, "samples are taken again")
    process.stdin.close()
    assert process.wait() == 0
    assert load(path)["tracker"]["late_samples"] < 50


def test_spoor_ends_if_the_job_is_killed_while_stopped(spoor, workload):
    process = spoor.start("run", "-q", "--", workload("signals"))
    job = int(read_line(process.stdout).split()[1])
    os.kill(job, signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T", "spoor stops")
    os.kill(job, signal.SIGKILL)
    assert process.wait(DEADLINE_SECONDS) == -signal.SIGKILL


def test_spoor_killed_while_stopped_leaves_no_helper(spoor, workload):
    process = spoor.start("run", "-q", "--", workload("signals"))
    job = int(read_line(process.stdout).split()[1])
    os.kill(job, signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T", "spoor stops")
    helpers = set(children_of(process.pid)) - {job}
    assert len(helpers) == 1
    process.kill()
    process.wait()
    eventually(lambda: all(state_of(helper) in (None, "Z") for helper in helpers), "it ends")
    os.kill(job, signal.SIGKILL)


def test_children_stopped_by_the_job_stay_stopped(spoor):
    """A SIGCHLD for a stopped child must not be taken for its exit."""
    script = "sh -c 'kill -STOP $$; exit 3' & child=$!; " \
             "while ! grep -q '^State:.T' /proc/$child/status; do :; done; " \
             "kill -CONT $child; wait $child"
    assert spoor("run", "-q", "--", "sh", "-c", script).returncode == 3


class Terminal:
    """A job in the foreground of its own terminal, started by a small shell."""

    def __init__(self, workload, *command):
        report, report_end = os.pipe()
        control_end, control = os.pipe()
        self.master, terminal = pty.openpty()
        # Echo is off, so that only the job's output is read.
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        self.attributes = attributes
        # setsid -c makes the terminal the controlling terminal.
        self.shell = subprocess.Popen(
            ["setsid", "-c", workload("jobshell"), str(report_end), str(control_end), *command],
            stdin=terminal, stdout=terminal, stderr=terminal,
            pass_fds=(report_end, control_end))
        for fd in (report_end, control_end, terminal):
            os.close(fd)
        self.report, self.control = report, control
        self.pid = int(self.next_report().split()[1])

    def next_report(self):
        return read_line(self.report)

    def next_line(self):
        return read_line(self.master)

    def type(self, keys):
        os.write(self.master, keys)

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def close(self):
        for fd in (self.report, self.control, self.master):
            if fd is not None:
                os.close(fd)
        self.shell.kill()
        self.shell.wait()


@pytest.fixture
def terminal(spoor, workload):
    opened = []

    def open_terminal(*command, options=()):
        opened.append(Terminal(workload, spoor.binary, "run", "-q", *options, "--", *command))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.mark.parametrize("key, number", [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)],
                         ids=["ctrl-c", "ctrl-backslash"])
def test_signal_from_a_terminal_key_reaches_the_job_once(terminal, workload, key, number):
    typed = terminal(workload("signals"))
    assert typed.next_line().startswith("ready")
    # Repeated, since the kernel merges two equal signals that arrive close together.
    for _ in range(50):
        typed.type(key)
        assert typed.next_line() == str(int(number))
        # Spoor handles pending signals in the order of their numbers. If it had forwarded the
        # signal of the key, that signal would arrive before SIGUSR2.
        os.kill(typed.pid, signal.SIGUSR2)
        assert typed.next_line() == str(int(signal.SIGUSR2))
    typed.type(b"\x04")
    assert typed.next_report() == "exited 0"


def test_terminal_key_that_ends_the_job_also_ends_spoor(terminal, workload):
    typed = terminal(workload("hold"), "1")
    typed.next_line()
    typed.type(b"\x03")
    assert typed.next_report() == f"killed {int(signal.SIGINT)}"


def test_ctrl_z_stops_job_and_spoor_and_both_continue(terminal, workload):
    typed = terminal(workload("hold"), "1")
    job = int(typed.next_line())
    typed.type(b"\x1a")
    assert typed.next_report() == f"stopped {int(signal.SIGTSTP)}"
    eventually(lambda: state_of(job) == "T", "the job stops")
    os.write(typed.control, b"c")
    eventually(lambda: state_of(job) in ("S", "R"), "the job goes on")
    eventually(lambda: state_of(typed.pid) in ("S", "R"), "spoor goes on")
    typed.type(b"\x04")
    assert typed.next_report() == "exited 0"


def test_resizing_the_terminal_signals_the_job_once(terminal, workload):
    typed = terminal(workload("signals"))
    typed.next_line()
    termios.tcsetwinsize(typed.master, (33, 99))
    assert typed.next_line() == str(int(signal.SIGWINCH))
    os.kill(typed.pid, signal.SIGRTMIN)
    assert typed.next_line() == str(int(signal.SIGRTMIN))
    typed.type(b"\x04")
    assert typed.next_report() == "exited 0"


def test_result_is_complete_if_the_terminal_is_closed(spoor, terminal, workload, tmp_path):
    path, pipe = spoor.new_path("result.json"), tmp_path / "pipe"
    # The job reads from another file, so the signal ends it, not the end of its input.
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    typed = terminal("sh", "-c", 'exec "$0" 1 <"$1"', workload("hold"), str(pipe),
                     options=["-o", str(path)])
    job = int(typed.next_line())
    typed.hang_up()
    eventually(path.exists, "the result is written")
    assert load(path)["run"]["signal"] == "SIGHUP"
    eventually(lambda: state_of(job) is None, "the job is gone")
    os.close(writer)


def test_terminal_modes_are_unchanged_after_a_run(terminal):
    typed = terminal("sh", "-c", "stty -a >/dev/null && [ -t 0 ] && [ -t 1 ] && [ -t 2 ]")
    assert typed.next_report() == "exited 0"
    assert termios.tcgetattr(typed.master)[:4] == typed.attributes[:4]


def test_job_time_excludes_the_time_the_tracker_was_stopped(spoor, workload):
    """Regression test: the job ended while its tracker was stopped, and its time continued until
    the tracker was continued."""
    path = spoor.new_path("result.json")
    started = time.monotonic()
    tracker = spoor.start("run", "-q", "-o", path, "--", "sh", "-c",
                          f"kill -STOP $PPID; echo stopped; exec {workload('burn')} 0.5")
    assert tracker.stdout.readline() == b"stopped\n"
    ended = continue_after_the_end(tracker, 2)
    result = load(path)
    if result["processes"]["started"]["source"] not in ("proc-connector", "perf.fork-ring"):
        pytest.skip("no source of process events")
    assert result["run"]["elapsed_seconds"] < ended - started + 0.2
    mean = value(result, "cpu.mean_cores") * result["run"]["elapsed_seconds"]
    assert mean == pytest.approx(value(result, "cpu.total_seconds"), rel=0.05)
