# SPDX-License-Identifier: Apache-2.0
"""Completions offered by shells."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

import pytest

pytestmark = pytest.mark.any_user

SCRIPTS = pathlib.Path(__file__).parents[2] / "docs/completion"
PROGRAMS = ("spoor", "gpu-tracker", "resource-tracker")


@pytest.fixture
def programs(spoor, tmp_path):
    """Creates a folder that contains the programs under their names."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for program in PROGRAMS:
        (folder / program).symlink_to(pathlib.Path(spoor.binary).resolve())
    return folder


@pytest.fixture
def complete(programs, tmp_path):
    """complete(word, ...) returns the completions that bash offers for the last word. bash
    splits --option=value into three words."""

    def run(program, *words):
        shutil.copy(SCRIPTS / "spoor.bash", tmp_path / "completion")
        typed = " ".join(f"'{word}'" for word in [program, *words])
        done = subprocess.run(
            ["bash", "-c", f"source ./completion; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; "
                           f"_spoor {programs / program}; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
            check=True, capture_output=True, text=True, cwd=tmp_path)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("words, choices", [
    (["--dis"], ["--disable-logs"]), (["-e", "true", "--ru", "=", "meg"], ["megabytes"]),
    (["--tu", "="], ["seconds", "minutes", "hours", "days"]), (["sub"], ["sub-track"]),
    (["sub-track", "com"], ["combine", "compare"]), (["sub-track", "compare", "--sta"], ["--stat"]),
    (["-f", "j"], ["json"]), (["--p"], ["--propagate"]), (["--n_join"], [""]),
], ids=str)
def test_bash_completes_gpu_tracker(complete, words, choices):
    assert complete("gpu-tracker", *words) == choices


@pytest.mark.parametrize("words, choices", [
    (["at"], ["attach"]), (["ag"], [""]), (["--v"], ["--version"]),
    (["run", "--interv"], ["--interval"]), (["run", "--format", "j"], ["json", "jobstats"]),
    (["run", "-f", "c"], ["csv"]), (["run", "--format", "=", "t"], ["text", "trace"]),
    (["info", "--format", ""], ["text", "json"]), (["attach", "--wa"], [""]),
    (["phase", "st"], ["start", "stop"]), (["run", "-o", "comp"], ["completion"]),
    (["report", "comp"], ["completion"]), (["recommend", "--for", "sn"], ["snakemake"]),
], ids=str)
def test_bash_completes_spoor(complete, words, choices):
    assert complete("spoor", *words) == choices


@pytest.mark.parametrize("options", [["--interval", "=", "5", "-q"], ["--name", "x", "--"]], ids=str)
def test_arguments_of_the_command_are_completed_by_its_own_rules(complete, options):
    assert "completion" in complete("spoor", "run", *options, "sleep", "comp")
    assert "--name" not in complete("spoor", "run", *options, "sleep", "--na")


def test_spoor_offers_processes(complete):
    assert "1" in complete("spoor", "attach", "1")
    assert "1" in complete("spoor", "attach", "--pid", "1")


SHELL_CASES = [
    (["spoor", "at"], ["attach"]), (["spoor", "run", "--interv"], ["--interval"]),
    (["spoor", "run", "--format", "js"], ["json"]), (["spoor", "info", "-f", "t"], ["text"]),
    (["spoor", "attach", "--wai"], []), (["spoor", "phase", "sto"], ["stop"]),
    (["spoor", "report", "some_f"], ["some_file"]),
    (["spoor", "run", "-i", "5", "cat", "some_f"], ["some_file"]),
    (["spoor", "run", "--name", "x", "--", "cat", "some_f"], ["some_file"]),
    (["spoor", "run", "--", "some_c"], ["some_command"]), (["spoor", "run", "some_c"], ["some_command"]),
    (["spoor", "run", "-o", "some_f"], ["some_file"]),
    (["spoor", "run", "cat", "--interv"], []),
    (["spoor", "run", "--budget", "n"], ["none"]),
    (["spoor", "run", "--format=js"], ["--format=json"]),
    (["spoor", "run", "--output=some_f"], ["--output=some_file"]),
    (["gpu-tracker", "--disable-l"], ["--disable-logs"]), (["gpu-tracker", "sub-t"], ["sub-track"]),
    (["gpu-tracker", "sub-track", "ana"], ["analyze"]),
    (["gpu-tracker", "-e", "true", "--ru", "meg"], ["megabytes"]),
    (["resource-tracker", "--interv"], ["--interval"]),
    (["resource-tracker", "-f", "c"], ["csv"]),
    (["resource-tracker", "-i", "1", "cat", "some_f"], ["some_file"]),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    (folder / "some_file").touch()
    (folder / "some_command").touch(mode=0o755)
    return folder


def environment(home, programs):
    return {**os.environ, "HOME": str(home), "PATH": f"{programs}:{home}:{os.environ['PATH']}", "TERM": "dumb"}


def test_fish_completes_the_same_words(programs, home):
    script = (SCRIPTS / "spoor.fish").read_text()
    for words, _ in SHELL_CASES:
        script += f"echo {' '.join(words)}:; complete -C '{' '.join(words)}'\n"
    (home / "script.fish").write_text(script)
    done = subprocess.run(["fish", "--no-config", "script.fish"], check=True, capture_output=True,
                          text=True, cwd=home, env=environment(home, programs))
    assert done.stderr == ""
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == \
        [line for words, choices in SHELL_CASES for line in (" ".join(words) + ":", *choices)]


# Ctrl-T completes the line, writes it to a descriptor and clears it.
ZSH_SETUP = """
fpath=($PWD $fpath)
autoload -U compinit && compinit -D -u
capture() { zle complete-word; print -r -- "$BUFFER" >&%d; BUFFER= }
zle -N capture && bindkey '^T' capture && print ready >&%d
"""


class Zsh:
    """An interactive zsh."""

    def __init__(self, folder, programs):
        self.result, write = os.pipe()
        (folder / "setup").write_text(ZSH_SETUP % (write, write))
        master, terminal = pty.openpty()
        self.master = master
        self.process = subprocess.Popen(
            ["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder,
            env=environment(folder, programs), pass_fds=[write], start_new_session=True)
        os.close(terminal)
        os.close(write)
        self.screen = b""
        assert self.ask("source ./setup\n") == "ready"

    def ask(self, typed):
        """Types and returns the answer line. Also reads other output, because the shell would
        block otherwise."""
        os.write(self.master, typed.encode())
        answer, end = b"", time.monotonic() + 120
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([self.master, self.result], [], [], end - time.monotonic())
            assert ready, self.screen
            if self.master in ready:
                self.screen += os.read(self.master, 65536)
            if self.result in ready:
                answer += os.read(self.result, 65536)
        return answer.decode().rstrip("\n")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.result)


def test_zsh_completes_the_same_words(programs, home):
    shutil.copy(SCRIPTS / "_spoor", home)
    zsh = Zsh(home, programs)
    try:
        for words, choices in SHELL_CASES:
            expected = " ".join([*words[:-1], *(choices or words[-1:])])
            assert zsh.ask(" ".join(words) + "\x14").rstrip(" =") == expected, zsh.screen
    finally:
        zsh.close()
