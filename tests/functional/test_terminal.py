# SPDX-License-Identifier: Apache-2.0
"""At a terminal, a job behaves under spoor as it does without: the same keystrokes produce the
same transcript."""
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time

import pytest

from conftest import DEADLINE_SECONDS, eventually

pytestmark = pytest.mark.any_user

PROMPT = "outer> "
INNER = "inner> "
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "--noediting", "-i"],
    "dash": ["dash", "-i"],
    "zsh": ["zsh", "-f", "-i", "+Z", "-o", "no_prompt_cr", "-o", "no_prompt_sp", "-o", "no_notify"],
}


class Session:
    """An interactive shell at its own terminal."""

    def __init__(self, shell, wrapper, go):
        self.master, terminal = pty.openpty()
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        self.text = ""
        self.seen = 0
        environment = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "TERM": "dumb",
                       "LC_ALL": "C", "PS1": PROMPT, "INNER": INNER, "W": " ".join(wrapper),
                       "PYTHON": sys.executable, "GO": str(go)}
        self.shell = subprocess.Popen(["setsid", "-c", *SHELLS[shell]], stdin=terminal,
                                      stdout=terminal, stderr=terminal, env=environment)
        os.close(terminal)

    def wait_for(self, pattern):
        """Reads until new output matches the pattern."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            found = re.compile(pattern, re.MULTILINE).search(self.text, self.seen)
            if found:
                self.seen = found.end()
                return
            left = deadline - time.monotonic()
            ready = select.select([self.master], [], [], max(left, 0))[0]
            assert ready, f"no {pattern!r} in {self.text[self.seen:]!r}, all: {self.text!r}"
            try:
                self.text += os.read(self.master, 4096).decode().replace("\r", "")
            except OSError:  # the shell has exited
                pytest.fail(f"the terminal closed; all: {self.text!r}")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def wait_for_stop(self):
        """Repeats `jobs` until the shell has noticed that the job stopped. The repetitions
        are not part of the transcript."""
        before = len(self.text)
        while not re.search("stopped|suspended", self.text[before:], re.IGNORECASE):
            self.type("jobs\n")
            self.wait_for(P)
        self.text = self.text[:before]
        self.seen = before

    def close(self):
        os.close(self.master)
        self.shell.kill()
        self.shell.wait()


def transcript(shell, wrapper, steps, go):
    session = Session(shell, wrapper, go)
    try:
        session.wait_for(re.escape(PROMPT))
        for keys, pattern, *then in steps:
            group = os.tcgetpgrp(session.master)
            session.type(keys)
            session.wait_for(pattern)
            if then == [FOREGROUND]:
                eventually(lambda: os.tcgetpgrp(session.master) != group, "the job has the terminal")
            elif then == [STOPPED]:
                go.touch()
                session.wait_for_stop()
        return re.sub(r"\d{2,}", "N", session.text)  # PIDs vary; the patterns check exit codes
    finally:
        session.close()


P = re.escape(PROMPT)
I = re.escape(INNER)
# Patterns to wait for before the next input. A shell prints a job before it gives the terminal to
# the job. A job that stops in the background waits for the file GO, since a shell reports the stop
# at the next prompt.
FOREGROUND, STOPPED = "foreground", "stopped"
HANDLES_STOP = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
os.write(1, b"ready\\n")
signal.sigwait({signal.SIGTSTP})
os.write(1, b"handled\\n")
print("got", sys.stdin.readline(), end="")"""


def code(number):
    return ("echo code $?\n", rf"code {number}\n{P}")


# Steps of input, each with the pattern to wait for before the next input.
SCRIPTS = {
    "ctrl-c breaks a loop": [
        ("for i in 1 2 3; do $W sh -c 'echo ready; exec sleep 600'; done\n", "ready"),
        ("\x03", P), ("echo alive\n", "alive\n" + P)],
    "ctrl-c": [
        ("$W sh -c 'echo ready; exec sleep 600'\n", "ready"), ("\x03", P), code(130)],
    "ctrl-backslash": [
        ("ulimit -c 0\n", P),
        ("$W sh -c 'echo ready; exec sleep 600'\n", "ready"), ("\x1c", P), code(131)],
    "crash": [
        ("ulimit -c 0\n", P), ("$W sh -c 'kill -SEGV $$'\n", P), code(139)],
    "ctrl-z and fg": [
        ("$W cat\n", ""), ("one\n", "one\n"), ("\x1a", P), ("jobs\n", P),
        ("fg\n", "cat", FOREGROUND), ("two\n", "two\n"), ("\x04", P), code(0)],
    "ctrl-z and bg": [
        ("$W sh -c 'echo ready; exec sleep 600'\n", "ready"), ("\x1a", P),
        ("bg\n", P), ("jobs\n", P), ("fg\n", "sleep", FOREGROUND), ("\x03", P), code(130)],
    "stops itself": [
        ("$W sh -c 'kill -STOP $$; echo after; exit 3'\n", P), ("jobs\n", P),
        ("fg\n", "after\n" + P), code(3)],
    "stops itself as ctrl-z does": [
        ("$W sh -c 'kill -TSTP $$; echo after; exit 3'\n", P), ("jobs\n", P),
        ("fg\n", "after\n" + P), code(3)],
    "ignores ctrl-z": [
        ("$W sh -c 'trap \"\" TSTP; echo ready; read x; echo got $x'\n", "ready"),
        ("\x1a", ""), ("word\n", "got word\n" + P), ("jobs\n", P), code(0)],
    "handles ctrl-z": [
        ("$W $PYTHON -c '" + HANDLES_STOP + "'\n", "ready"), ("\x1a", "handled"),
        ("word\n", "got word\n" + P), ("jobs\n", P), code(0)],
    "is told once that it goes on": [
        ("$W sh -c 'trap \"echo on\" CONT; kill -STOP $$; read x; echo got $x; exit 3'\n", P),
        ("fg\n", "on\n"), ("word\n", "got word\n" + P), code(3)],
    "reads in the background": [
        ("$W sh -c 'until [ -e $GO ]; do sleep 0.01; done; read x; echo got $x' &\n", P, STOPPED),
        ("fg\n", "read x", FOREGROUND), ("word\n", "got word\n" + P), code(0)],
    "bash suspends itself": [
        ("$W env PS1=\"$INNER\" bash --norc --noediting -i\n", I), ("suspend\n", P), ("jobs\n", P),
        ("fg\n", "bash", FOREGROUND), ("echo back\n", "back\n" + I), ("exit 4\n", P), code(4)],
    "zsh suspends itself": [
        ("$W env PS1=\"$INNER\" zsh -f -i +Z -o no_prompt_cr -o no_prompt_sp\n", I),
        ("suspend\n", P), ("jobs\n", P),
        ("fg\n", "zsh", FOREGROUND), ("echo back\n", "back\n" + I), ("exit 4\n", P), code(4)],
    "bash suspends a job of its own": [
        ("$W env PS1=\"$INNER\" bash --norc --noediting -i\n", I), ("cat\n", ""), ("one\n", "one\n"),
        ("\x1a", I), ("fg\n", "cat", FOREGROUND), ("\x03", I), ("echo $?\n", "130\n" + I), ("exit 4\n", P), code(4)],
    "leads a process group and reads": [
        ("$W $PYTHON -c 'import os; os.setpgid(0, 0); print(\"got\", input())'\n", ""),
        ("word\n", "got word\n" + P), code(0)],
}


@pytest.mark.parametrize("name", SCRIPTS, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("shell", SHELLS)
def test_shell_sees_no_difference(spoor, tmp_path, shell, name):
    steps = SCRIPTS[name]
    if shell == "zsh":  # zsh does not split variables by default
        steps = [(keys.replace("$W", "${=W}"), *then) for keys, *then in steps]
    alone = transcript(shell, [], steps, tmp_path / "go")
    wrapped = transcript(shell, [spoor.binary, "run", "-q", "--"], steps, tmp_path / "gone")
    assert wrapped == alone
