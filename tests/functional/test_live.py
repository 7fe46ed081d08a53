# SPDX-License-Identifier: Apache-2.0
"""The live view at a terminal: its frames, how it ends, and the state of the terminal
afterwards."""
import codecs
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
from gpus import GIB, WAIT, card
from screen import Screen

FRAME = r"\0337.*?\0338"  # from saving the cursor position to restoring it
SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
PROMPT = "outer> "


class Terminal:
    """A program in its own session, at its own terminal."""

    def __init__(self, argv, columns=100, lines=30, mode=0o600, **environment):
        self.master, self.slave = pty.openpty()  # keep the slave open to read its modes
        os.fchmod(self.slave, mode)
        self.resize(columns, lines)
        self.modes = termios.tcgetattr(self.slave)
        self.text, self.decoder = "", codecs.getincrementaldecoder("utf-8")()
        self.seen = 0
        environment = {**os.environ, "HOME": "/dev/null", "TERM": "xterm",
                       "LC_ALL": "C.UTF-8", "NO_COLOR": "", "PS1": PROMPT, **environment}
        self.process = subprocess.Popen(
            ["setsid", "-c", *map(str, argv)], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env={key: text for key, text in environment.items() if text})

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        self.text += self.decoder.decode(os.read(self.master, 65536))

    def wait_for(self, pattern):
        """Reads until new output matches the pattern."""
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
        """Waits until the program exits; returns its exit code and all its output."""
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
    """Returns the final screen: all output after the last erasure."""
    return text.rpartition("\033[J")[2]


@pytest.mark.threads
def test_figures_are_shown_until_q_is_pressed(spoor, held, terminal):
    window = terminal(attach(spoor, held))
    frame = window.wait_for(FRAME)
    window.wait_for(FRAME)  # wait for several frames
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
def test_signal_ends_the_view_with_a_report(spoor, held, terminal, keys, number):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    if keys:
        window.type(keys)
    else:
        window.process.send_signal(number)
    code, text = window.end()
    assert code == 0 and "still running" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


# All signals that kill a program, except signals on which spoor writes its report and exits;
# SIGPIPE, which is ignored; and SIGIO, which the sampling thread may take. Sanitizers handle the
# signals of faults.
KILLING = [signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF,
           signal.SIGXCPU, signal.SIGXFSZ, signal.SIGPWR, signal.SIGTRAP,
           *(range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if IS_FULL else (signal.SIGRTMIN, signal.SIGRTMAX))]


@pytest.mark.parametrize("number", KILLING)
def test_fatal_signal_restores_the_terminal(spoor, held, terminal, number):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    window.process.send_signal(number)
    code, text = window.end()
    assert code == -number and after_the_view(text) == ""
    assert termios.tcgetattr(window.slave) == window.modes


def as_another_user(spoor):
    """Returns a command line that runs spoor as a user who may not open the terminal."""
    if os.geteuid() != 0:
        return [spoor.binary]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", spoor.binary]


def test_view_works_on_a_terminal_owned_by_another_user(spoor, terminal):
    """After su, for example, the terminal can be used but opened only as the controlling
    terminal."""
    window = terminal([*as_another_user(spoor), "system", "-i", "0.02"], mode=0)
    window.wait_for(FRAME)
    window.type("q")
    code, text = window.end()
    assert code == 0 and "measured for" in after_the_view(text)


def test_terminal_that_cannot_be_opened_gets_no_view(spoor, terminal):
    """A view that could be written only to stderr might block the tracking, so none is drawn."""
    window = terminal(["setsid", "--wait", *as_another_user(spoor), "system", "-i", "0.02", "--color", "never"], mode=0)
    code, text = window.end()
    assert code == 0 and "spoor: cannot show a live view: Permission denied" in text
    assert "\033" not in text and "measured for" in text


def test_view_ends_when_the_process_ends(spoor, held, terminal):
    window = terminal(attach(spoor, held))
    window.wait_for(FRAME)
    held.stdin.close()
    held.wait()
    code, text = window.end()
    assert code == 0 and "Elapsed" in after_the_view(text)
    assert termios.tcgetattr(window.slave) == window.modes


def widths(frame):
    """Returns the widths of the lines of a frame, without their escape sequences."""
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


def test_default_size_is_used_for_a_terminal_without_a_size(spoor, held, terminal):
    window = terminal(attach(spoor, held), columns=0, lines=0)
    assert 60 < max(widths(window.wait_for(FRAME))) < 80
    window.type("q")
    assert window.end()[0] == 0


def test_view_without_terminal_input_is_ended_by_a_signal(spoor, held, terminal):
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


def test_control_characters_in_a_process_name_do_not_reach_the_terminal(spoor, terminal, tmp_path):
    script = tmp_path / "evil\033[2Jname"
    script.symlink_to("/bin/sleep")
    job = subprocess.Popen([script, "600"])
    window = terminal([spoor.binary, "attach", "-i", "0.02", job.pid])
    frame = window.wait_for(FRAME)
    assert r"evil\x1b[2Jname" in frame and "\033[2J" not in frame
    job.kill()
    job.wait()
    assert window.end()[0] == 0


def check_background(window):
    """Checks that a stopped command, continued in the background, draws nothing."""
    before = len(window.text)
    window.type("bg\n")
    window.wait_for(re.escape(PROMPT))
    window.type("echo $((6 * 7))\n")
    window.wait_for("42")
    assert "\0337" not in window.text[before:]


@pytest.mark.threads
def test_view_is_removed_while_stopped_and_redrawn_afterwards(spoor, held, terminal):
    """Ctrl-Z leaves a clean terminal to the shell, fg restores the view, and nothing is drawn in
    the background."""
    window = terminal(SHELL)
    window.wait_for(re.escape(PROMPT))
    command = " ".join(map(str, attach(spoor, held)))
    window.type(command + "\n")
    window.wait_for(FRAME)
    window.type("\x1a")
    window.wait_for("Stopped")
    window.wait_for(re.escape(PROMPT))
    assert termios.tcgetattr(window.slave)[3] & termios.ICANON
    check_background(window)
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


def test_stalled_terminal_does_not_delay_samples(spoor, held, terminal):
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
    assert "q or Ctrl-C" not in frame  # the command reads the keys
    assert termios.tcgetattr(window.slave) == window.modes
    fifo.write_text("go\n", encoding="ascii")
    code, text = window.end()
    assert code == 3 and "exit code 3" in after_the_view(text) and out.read_text() == "job\n"
    assert load(path)["run"]["exit_code"] == 3


def test_view_is_removed_when_run_stops_with_the_command(spoor, terminal, tmp_path):
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


def test_no_view_is_drawn_if_the_command_is_missing(spoor, terminal, tmp_path):
    window = terminal(["sh", "-c", f"exec {spoor.binary} run --live -- /no/such/command >{tmp_path / 'out'}"])
    code, text = window.end()
    assert code == 127 and "\033" not in text


# ---- the whole view ------------------------------------------------------------


def plain(frame):
    """Returns the lines of a frame, without escape sequences."""
    return re.sub(r"\033(\[[0-9?;]*[A-Za-z]|[78D])", "", frame).replace("\r", "").split("\n")


@pytest.mark.parametrize("columns", [80, 160, 300])
def test_curves_fill_the_width_from_the_start(spoor, held, terminal, columns):
    window = terminal(attach(spoor, held), columns=columns)
    memory = next(line for line in plain(window.wait_for(FRAME)) if line.startswith("Memory"))
    curve = re.fullmatch(r"Memory.*? (█+)  max \S+ MB", memory)[1]
    assert len(curve) == columns - 1 - 13 - 20 - 18


@pytest.fixture
def tree():
    """Starts a shell whose child, also a shell, has many children."""
    script = "for i in {1..60}; do sleep 600 & done; echo ready; wait"
    job = subprocess.Popen(["bash", "-c", f"bash -c '{script}'; :"], stdout=subprocess.PIPE, start_new_session=True)
    job.stdout.readline()
    yield job
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    job.stdout.close()


def test_processes_are_shown_as_a_tree(spoor, tree, terminal):
    window = terminal(attach(spoor, tree), columns=120, lines=100)

    def rows():
        lines = plain(window.wait_for(FRAME))
        start = next((i for i, line in enumerate(lines) if line.split() == ["PID", "CPU", "MEMORY", "COMMAND"]), None)
        found = [re.fullmatch(r" *(\d+) +(n/a|[\d.]+) +[\d.]+ [kMG]?B  ( *)(\S.*)", line)
                 for line in lines[start + 1:-1]] if start else []
        has_all = len(found) == 62 and all(row[4] == "sleep 600" for row in found[2:])  # all have called exec
        return found if has_all else None
    found = eventually(rows, "all processes")
    assert int(found[0][1]) == tree.pid and found[0][3] == "" and found[0][4].startswith("bash -c 'bash ")
    assert found[1][3] == "  " and found[1][4].startswith("bash -c 'for i in")
    assert {row[3] for row in found[2:]} == {"    "}
    pids = [int(row[1]) for row in found]
    assert len(set(pids)) == 62


@pytest.mark.parametrize("columns, lines", [(40, 24), (80, 24), (160, 30)])
def test_view_of_many_processes_fits_on_the_screen(spoor, tree, terminal, columns, lines):
    window = terminal(attach(spoor, tree), columns=columns, lines=lines)

    def is_full():
        shown = plain(window.wait_for(FRAME))
        assert max(map(len, shown)) < columns and len(shown) <= lines
        return re.fullmatch(r" +\d+ more", shown[-2]) and len(shown) == lines
    eventually(is_full, "a view as tall as the screen")


def test_allowed_cpus_are_shown(spoor, terminal):
    """The allowed CPUs are shown next to the CPU usage."""
    cpus = {min(os.sched_getaffinity(0))}
    job = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    window = terminal([spoor.binary, "attach", "-i", "0.02", job.pid], columns=90)
    window.wait_for(r"CPU.{0,4} +\S+ of 1 cores .*max.*\0338")
    job.kill()
    job.wait()
    assert window.end()[0] == 0


def test_each_gpu_is_shown(spoor, machine, terminal):
    job = subprocess.Popen(WAIT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    machine.play(card(0), card(1), f"process 0 compute {job.pid} {2 * GIB}")
    window = terminal([spoor.binary, "attach", "-i", "0.02", job.pid], columns=90, **machine.environment)
    frame = window.wait_for(r"GPU 0 {8}[^\r\n]*; job [^\r\n]*2\.15 GB.*?\0338")
    rows = [line for line in plain(frame) if re.match(r"GPU \d", line)]
    assert re.fullmatch(r"GPU 0 {8}\S+( %)?, 3\.00 GB of 150 GB; job \S+( %)?, 2\.15 GB", rows[0])
    assert re.fullmatch(r"GPU 1 {8}\S+( %)?, 3\.00 GB of 150 GB; job .*", rows[1]) and len(rows) == 2
    job.communicate(b"\n")
    assert window.end()[0] == 0


# ---- one line ------------------------------------------------------------------

LINE = r"\0337\033\[1;\d+r\033\[(\d+);1H\033\[2K([^\r\n]*?)\0338"
GONE = r"\0337\033\[r\033\[\d+;1H\033\[2K\0338"


def shown(window, columns=100, lines=30):
    screen = Screen(columns, lines)
    screen.feed(window.text)
    return screen


def run_with_line(spoor, script, *options):
    return [spoor.binary, "run", "--live=line", "-i", "0.02", *options, "--", "bash", "-c", script]


@pytest.mark.threads
def test_status_line_is_below_the_output_of_the_command(spoor, terminal):
    script = "for i in {1..200}; do echo line $i; done; read x; printf 'no end'; read x; exit 3"
    window = terminal(run_with_line(spoor, script))
    window.wait_for("line 200\r\n")
    # The first line may be drawn before the memory is known.
    window.wait_for(r"\033\[30;1H\033\[2K[\d.]+ m?s  [^\r\n]*Memory.{0,4} \S+ [kM]B[^\r\n]*?\0338")
    screen = Screen(100, 30)
    screen.feed(window.text[:window.seen])  # what follows may end within an escape sequence
    text = screen.text()
    assert text[-1].split()[1] in ("s", "ms") and "line 200" in text[-4:-1]
    window.type("\n")
    window.wait_for("no end.*?" + LINE)
    window.type("\n")
    code, _ = window.end()
    screen = shown(window)
    lines = screen.all_text()
    assert code == 3 and (screen.top, screen.bottom) == (0, 29)
    output = [each for each in lines if each.startswith(("line", "no end"))]
    assert output == [f"line {i}" for i in range(1, 201)] + ["no end"]  # in order, and no line twice
    assert "Elapsed" in "\n".join(lines) and not re.search(r"Memory \S+ MB  ", "\n".join(lines))
    assert termios.tcgetattr(window.slave) == window.modes


@pytest.mark.threads
def test_status_line_stays_intact_during_heavy_output(spoor, terminal):
    """The job writes faster than the terminal accepts: no escape sequence is torn, and no output
    is lost."""
    window = terminal(run_with_line(spoor, "read x; seq -f 'line %.0f' 30000 | cat; read x"))
    for pattern in (LINE, "line 30000\r\n.*?" + LINE):
        window.wait_for(pattern)
        window.type("\n")
    assert window.end()[0] == 0
    lines = [each for each in shown(window).all_text() if each.startswith("line")]
    assert lines == [f"line {i}" for i in range(1, 30001)]


@pytest.mark.parametrize("keys, number, code", [("\x03", 0, -signal.SIGINT), ("", signal.SIGTERM, -signal.SIGTERM)])
def test_status_line_is_removed_when_a_signal_ends_the_command(spoor, terminal, keys, number, code):
    window = terminal(run_with_line(spoor, "echo job; exec sleep 600"))
    window.wait_for(LINE)
    if keys:
        window.type(keys)
    else:
        window.process.send_signal(number)
    returned, text = window.end()
    screen = shown(window)
    assert returned == code and (screen.top, screen.bottom) == (0, 29)
    assert text.rpartition("\033[30;1H")[2].startswith("\033[2K\0338")
    assert "killed by" in "\n".join(screen.text())


def test_status_line_is_removed_while_the_command_is_stopped(spoor, terminal):
    window = terminal(SHELL)
    window.wait_for(re.escape(PROMPT))
    window.type(" ".join(run_with_line(spoor, "'echo job; exec sleep 600'")) + "\n")
    window.wait_for(LINE)
    window.type("\x1a")
    window.wait_for(GONE)
    window.wait_for("Stopped.*" + re.escape(PROMPT))
    check_background(window)
    window.type("fg\n")
    window.wait_for(LINE)
    window.type("\x03")
    window.wait_for(GONE)
    window.wait_for("killed by SIGINT.*" + re.escape(PROMPT))
    window.type("exit\n")
    window.end()


def test_status_line_follows_the_size_of_the_terminal(spoor, terminal, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    window = terminal(run_with_line(spoor, f"for i in {{1..40}}; do echo line $i; done; read x <{fifo}"))
    window.wait_for("line 40.*" + LINE)
    screen, fed = Screen(100, 30), window.seen
    screen.feed(window.text[:fed])
    for columns, lines in ((60, 20), (200, 40), (40, 10)):
        window.resize(columns, lines)
        window.wait_for(rf"\033\[{lines};1H[^\r\n]*?\0338")
        # The line may be drawn in the old size once more. In the new size, a reset of the region comes first.
        old, reset, new = window.text[fed:window.seen].rpartition("\0337\033[r\0338")
        assert reset
        screen.feed(old)
        screen.resize(columns, lines)
        screen.feed(reset + new)
        fed = window.seen
        text = screen.text()
        assert re.match(r"[\d.]+ m?s ", text[-1]) and len(text[-1]) < columns
        assert screen.bottom == lines - 2 and "\n".join(text).count("Memory") == 1
    fifo.write_text("go\n", encoding="ascii")
    assert window.end()[0] == 0


def test_status_line_needs_a_terminal(spoor):
    done = spoor("run", "--live=line", "--", "echo", "job")
    assert (done.returncode, done.stdout) == (0, "job\n") and "\033" not in done.stderr and "live" not in done.stderr


@pytest.mark.parametrize("options, environment, config", [
    ([], {"SPOOR_LIVE": "line"}, None), (["--config", "c.json"], {}, '{"live": "line"}')])
def test_status_line_can_be_set_by_variable_or_config_file(spoor, terminal, tmp_path, monkeypatch, options, environment, config):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(config or "{}")
    window = terminal([spoor.binary, "run", "-i", "0.02", *options, "--", "sleep", "600"], **environment)
    window.wait_for(LINE)
    window.type("\x03")
    assert window.end()[0] == -signal.SIGINT


@pytest.mark.parametrize("setting, is_shown", [('true', True), ('false', False), ('"yes"', True), ('"no"', False)])
def test_view_can_be_enabled_by_a_config_file(spoor, terminal, tmp_path, setting, is_shown):
    config, samples, pipe = tmp_path / "c.json", tmp_path / "samples.jsonl", tmp_path / "pipe"
    config.write_text(f'{{"live": {setting}}}')
    os.mkfifo(pipe)
    command = f"run --config {config} -i 0.02 --samples {samples} -- cat {pipe}"
    window = terminal(["sh", "-c", f"exec {spoor.binary} {command} >{tmp_path / 'out'}"])
    if is_shown:
        window.wait_for("\0337")
    else:
        eventually(lambda: samples.exists() and samples.read_bytes().count(b"\n") > 20, "samples")
    pipe.write_text("")
    code, text = window.end()
    assert code == 0 and ("\0337" in text) == is_shown


def test_unknown_kind_of_view_is_refused(spoor):
    done = spoor("run", "--live=lines", "--", "true")
    assert done.returncode == 125 and done.stderr == "spoor: --live: invalid value 'lines': expected yes, no or line\n"


def test_attach_can_show_one_line(spoor, held, terminal):
    window = terminal(attach(spoor, held, "--live=line"))
    window.wait_for(LINE)
    window.type("q")
    code, text = window.end()
    assert code == 0 and "still running" in text and re.search(GONE, text)
    assert termios.tcgetattr(window.slave) == window.modes


# ---- runs ----------------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("columns", [40, 80, 160])
def test_watch_shows_runs_until_q_is_pressed(spoor, terminal, columns):
    run = spoor.start("run", "-q", "-i", "0.02", "--", "sh", "-c", "read x; : end")
    window = terminal([spoor.binary, "watch"], columns=columns)

    def row():
        lines = plain(window.wait_for(FRAME))
        assert max(map(len, lines)) < columns
        return any(re.search(r"\d m?s +[\d.]+ +[\d.]+ [kM]B .* sh -c '", line) for line in lines)
    eventually(row, "the run with its figures")
    run.communicate(b"\n")
    window.type("q")
    code, _ = window.end()
    assert code == 0 and termios.tcgetattr(window.slave) == window.modes


def test_ctrl_c_ends_watch(spoor, terminal):
    window = terminal([spoor.binary, "watch"])
    window.wait_for(FRAME)
    window.type("\x03")
    code, text = window.end()
    assert code == 0 and after_the_view(text) == "" and termios.tcgetattr(window.slave) == window.modes
