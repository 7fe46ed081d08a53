# SPDX-License-Identifier: Apache-2.0
"""The live view at a terminal: its frames, its end, and the state of the terminal afterwards."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import DEADLINE_SECONDS, IS_FULL, eventually, load

FRAME = r"\0337.*?\0338"  # from where the position of the cursor is saved to where it is restored
SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
PROMPT = "outer> "


class Terminal:
    """A program at its own terminal, in its own session."""

    def __init__(self, argv, columns=100, lines=30, mode=0o600, **environment):
        self.master, self.slave = pty.openpty()  # the slave stays open: its modes can be read
        os.fchmod(self.slave, mode)
        self.resize(columns, lines)
        self.modes = termios.tcgetattr(self.slave)
        self.text = ""
        self.seen = 0
        environment = {**os.environ, "HOME": "/dev/null", "TERM": "xterm",
                       "LC_ALL": "C.UTF-8", "NO_COLOR": "", "PS1": PROMPT, **environment}
        self.process = subprocess.Popen(
            ["setsid", "-c", *map(str, argv)], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env={key: text for key, text in environment.items() if text})

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        self.text += os.read(self.master, 65536).decode()

    def wait_for(self, pattern):
        """Reads until the pattern matches new output."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            found = re.compile(pattern, re.DOTALL).search(self.text, self.seen)
            if found:
                self.seen = found.end()
                return found[0]
            ready = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))[0]
            assert ready, f"no {pattern!r} in {self.text[self.seen:]!r}"
            self.read()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """Waits for the end of the program; returns its exit code and all its output."""
        def has_ended():
            while select.select([self.master], [], [], 0)[0]:
                self.read()
            return self.process.poll() is not None
        eventually(has_ended, "the end of the program")
        has_ended()
        return self.process.returncode, self.text

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    opened = []

    def start(*arguments, **options):
        opened.append(Terminal(*arguments, **options))
        return opened[-1]
    yield start
    for each in opened:
        each.close()


def attach(spoor, held, *options):
    return [spoor.binary, "attach", "-i", "0.02", *options, held.pid]


def after_the_view(text):
    """The final screen: all output after the last erasure."""
    return text.rpartition("\033[J")[2]


@pytest.mark.threads
def test_figures_are_shown_until_q_is_pressed(spoor, held, terminal):
    window = terminal(attach(spoor, held))
    frame = window.wait_for(FRAME)
    window.wait_for(FRAME)  # several frames
    assert f"process {held.pid} (hold)" in frame and "\r\n" in frame
    assert re.search(r"Memory.{0,12} +5\d\.\d MB +.*█.*max 5", window.wait_for(FRAME))
    assert termios.tcgetattr(window.slave)[3] & (termios.ECHO | termios.ICANON) == 0
    window.type("q")
    code, text = window.end()
    assert code == 0 and held.poll() is None
    assert "still running" in after_the_view(text) and "Elapsed" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


@pytest.mark.threads
@pytest.mark.parametrize("keys, number", [("\x03", 0), ("", signal.SIGTERM), ("", signal.SIGHUP)])
def test_signal_ends_with_the_report(spoor, held, terminal, keys, number):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    if keys:
        window.type(keys)
    else:
        window.process.send_signal(number)
    code, text = window.end()
    assert code == 0 and "still running" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


# All that end a program, except those that end this one with a report, SIGPIPE, which is ignored, and
# SIGIO, which the sampling thread may take. A sanitizer handles those of faults.
KILLING = [signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF,
           signal.SIGXCPU, signal.SIGXFSZ, signal.SIGPWR, signal.SIGTRAP,
           *(range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if IS_FULL else (signal.SIGRTMIN, signal.SIGRTMAX))]


@pytest.mark.parametrize("number", KILLING)
def test_killing_signal_restores_the_terminal(spoor, held, terminal, number):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    window.process.send_signal(number)
    code, text = window.end()
    assert code == -number and after_the_view(text) == ""
    assert termios.tcgetattr(window.slave) == window.modes


def as_another_user(spoor):
    """A command line to run spoor as a user who may not open the terminal."""
    if os.geteuid() != 0:
        return [spoor.binary]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", spoor.binary]


def test_terminal_of_another_user_has_a_view(spoor, terminal):
    """As after su: it can be used, but opened only as the controlling terminal."""
    window = terminal([*as_another_user(spoor), "system", "-i", "0.02"], mode=0)
    window.wait_for(FRAME)
    window.type("q")
    code, text = window.end()
    assert code == 0 and "measured for" in after_the_view(text)


def test_terminal_that_cannot_be_opened_gets_no_view(spoor, terminal):
    """A view that could only be written to stderr might block the tracking."""
    window = terminal(["setsid", "--wait", *as_another_user(spoor), "system", "-i", "0.02", "--color", "never"], mode=0)
    code, text = window.end()
    assert code == 0 and "spoor: cannot show a live view: Permission denied" in text
    assert "\033" not in text and "measured for" in text


def test_end_of_the_process_ends_the_view(spoor, held, terminal):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    held.stdin.close()
    held.wait()
    code, text = window.end()
    assert code == 0 and "Elapsed" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


def widths(frame):
    """Widths of the lines of a frame, without their escape sequences."""
    plain = re.sub(r"\033(\[[0-9?;]*[A-Za-z]|[78D])", "", frame)
    return [len(line.strip("\r")) for line in plain.split("\n")]


def test_view_follows_the_size_of_the_terminal(spoor, held, terminal):
    window = terminal(attach(spoor, held))
    assert 80 < max(widths(window.wait_for(FRAME))) < 100
    window.resize(40, 6)  # the kernel sends SIGWINCH

    def is_small():
        sizes = widths(window.wait_for(FRAME))
        return max(sizes) < 40 and len(sizes) <= 6
    eventually(is_small, "a view of the new size")
    window.resize(7, 2)
    eventually(lambda: max(widths(window.wait_for(FRAME))) < 7, "a view of the smallest size")
    window.resize(1, 1)
    window.resize(100, 30)
    eventually(lambda: max(widths(window.wait_for(FRAME))) > 80, "a view of the first size")
    window.type("q")
    assert window.end()[0] == 0


def test_terminal_without_a_size_has_the_default_size(spoor, held, terminal):
    window = terminal(attach(spoor, held), columns=0, lines=0)
    assert 60 < max(widths(window.wait_for(FRAME))) < 80
    window.type("q")
    assert window.end()[0] == 0


def test_without_terminal_input_a_signal_ends_it(spoor, held, terminal):
    window = terminal(["sh", "-c", 'exec "$@" </dev/null', "sh", *attach(spoor, held)])
    frame = window.wait_for(FRAME)
    assert "Ctrl-C: end with a report" in frame and "q or" not in frame
    window.type("\x03")
    code, text = window.end()
    assert code == 0 and "still running" in after_the_view(text)


@pytest.mark.parametrize("options, environment", [
    ([], {"TERM": "dumb"}), ([], {"TERM": ""}), (["-q"], {}), (["--live=no"], {}),
    ([], {"SPOOR_LIVE": "no"})])
def test_disabled_view_is_not_drawn(spoor, held, terminal, options, environment):
    window = terminal(attach(spoor, held, "--color", "never", "--duration", "50ms", *options), **environment)
    code, text = window.end()
    assert code == 0 and "\033" not in text
    assert ("Elapsed" in text) == ("-q" not in options)
    assert termios.tcgetattr(window.slave) == window.modes


def test_no_view_if_stderr_is_not_a_terminal(spoor, held):
    done = spoor("attach", "--duration", "50ms", "-i", "0.02", str(held.pid), env={**os.environ, "TERM": "xterm"})
    assert done.returncode == 0 and "\033" not in done.stderr


def test_colors_and_blocks_need_a_terminal_that_supports_them(spoor, held, terminal):
    window = terminal(attach(spoor, held), LC_ALL="C", NO_COLOR="1")
    window.wait_for(FRAME)
    frame = window.wait_for(FRAME)
    assert frame.isascii() and not re.search(r"\033\[[0-9;]*m", frame) and "#" in frame
    window.type("q")
    assert window.end()[0] == 0


def test_name_of_a_process_cannot_write_to_the_terminal(spoor, terminal, tmp_path):
    script = tmp_path / "evil\033[2Jname"
    script.symlink_to("/bin/sleep")
    job = subprocess.Popen([script, "600"])
    window = terminal([spoor.binary, "attach", "-i", "0.02", job.pid])
    frame = window.wait_for(FRAME)
    assert r"evil\x1b[2Jname" in frame and "\033[2J" not in frame
    job.kill()
    job.wait()
    assert window.end()[0] == 0


@pytest.mark.threads
def test_stop_and_continue(spoor, held, terminal):
    """Ctrl-Z leaves the shell a clean terminal, fg brings the view back, and in the background
    nothing is drawn."""
    window = terminal(SHELL)
    window.wait_for(re.escape(PROMPT))
    command = " ".join(map(str, attach(spoor, held)))
    window.type(command + "\n")
    window.wait_for(FRAME)
    window.type("\x1a")
    window.wait_for("Stopped")
    window.wait_for(re.escape(PROMPT))
    assert termios.tcgetattr(window.slave)[3] & termios.ICANON
    before = len(window.text)
    window.type("bg\n")
    window.wait_for(re.escape(PROMPT))
    window.type("echo $((6 * 7))\n")
    window.wait_for("42")
    assert "\0337" not in window.text[before:]
    window.type("fg\n")
    window.wait_for(FRAME)
    window.type("q")
    window.wait_for("still running.*" + re.escape(PROMPT))
    assert termios.tcgetattr(window.slave)[3] & termios.ICANON
    window.type("exit\n")
    window.end()


def test_nothing_is_drawn_in_the_background(spoor, held, terminal):
    window = terminal(SHELL)
    window.wait_for(re.escape(PROMPT))
    window.type(" ".join(map(str, attach(spoor, held, "--duration", "100ms"))) + " & wait; echo $((6 * 7))\n")
    window.wait_for("\r\n42\r\n")
    assert "Elapsed" in window.text and "\0337" not in window.text
    window.type("exit\n")
    window.end()


def test_stalled_terminal_stalls_no_sample(spoor, held, terminal):
    samples = spoor.new_path("s.csv")
    window = terminal(attach(spoor, held, "--samples", samples))
    window.wait_for(FRAME)
    termios.tcflow(window.slave, termios.TCOOFF)  # as Ctrl-S does

    def row_count():
        return samples.read_bytes().count(b"\n")
    before = row_count()
    eventually(lambda: row_count() > before + 20, "more samples")
    termios.tcflow(window.slave, termios.TCOON)
    window.type("q")
    assert window.end()[0] == 0


@pytest.mark.threads
def test_system_shows_the_host_until_q_is_pressed(spoor, terminal):
    window = terminal([spoor.binary, "system", "-i", "0.02"])
    window.wait_for(FRAME)
    frame = window.wait_for(FRAME)
    assert os.uname().nodename in frame and "Memory" in frame and "Processes" not in frame
    window.type("q")
    code, text = window.end()
    assert code == 0 and "measured for" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


@pytest.mark.parametrize("options", [["-f", "json"], ["-o", "/dev/null"], ["--live=no"]])
def test_system_measures_once_without_a_view(spoor, terminal, options):
    window = terminal([spoor.binary, "system", "-i", "0.02", "--color", "never", *options])
    code, text = window.end()
    assert code == 0 and "\033" not in text


@pytest.mark.threads
def test_run_shows_the_view_while_the_command_runs(spoor, terminal, tmp_path):
    fifo, out = tmp_path / "fifo", tmp_path / "out"
    os.mkfifo(fifo)
    path = spoor.new_path("result.json")
    script = f"exec {spoor.binary} run --live -i 0.02 -o {path} -- sh -c 'echo job; read x <{fifo}; exit 3' >{out}"
    window = terminal(["sh", "-c", script])
    frame = window.wait_for(FRAME)
    assert "sh -c 'echo job; read x <" in frame
    assert "q or Ctrl-C" not in frame  # the command has the keys
    assert termios.tcgetattr(window.slave) == window.modes
    fifo.write_text("go\n", encoding="ascii")
    code, text = window.end()
    assert code == 3 and "exit code 3" in after_the_view(text) and out.read_text() == "job\n"
    assert load(path)["run"]["exit_code"] == 3


def test_run_removes_the_view_when_it_stops_with_the_command(spoor, terminal, tmp_path):
    window = terminal(SHELL)
    window.wait_for(re.escape(PROMPT))
    window.type(f"{spoor.binary} run --live -i 0.02 -- sleep 600 >{tmp_path / 'out'}\n")
    window.wait_for(FRAME)
    window.type("\x1a")
    stop = window.wait_for("Stopped")
    assert after_the_view(stop).count("Memory") == 0
    window.wait_for(re.escape(PROMPT))
    window.type("fg\n")
    window.wait_for(FRAME)
    window.type("\x03")
    window.wait_for("killed by SIGINT.*" + re.escape(PROMPT))
    window.type("exit\n")
    window.end()


def test_run_has_no_view_if_the_command_writes_to_the_terminal(spoor, terminal):
    window = terminal([spoor.binary, "run", "--live", "--", "sh", "-c", "echo job; exit 3"])
    code, text = window.end()
    assert code == 3 and "no live view: the command writes to the same terminal" in text
    assert "\0337" not in text and "\njob\r\n" in text


def test_run_without_a_terminal_ignores_live(spoor):
    done = spoor("run", "--live", "--", "true")
    assert done.returncode == 0 and "live" not in done.stderr and "\033" not in done.stderr


def test_missing_command_draws_nothing(spoor, terminal, tmp_path):
    window = terminal(["sh", "-c", f"exec {spoor.binary} run --live -- /no/such/command >{tmp_path / 'out'}"])
    code, text = window.end()
    assert code == 127 and "\033" not in text
