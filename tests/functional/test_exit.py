# SPDX-License-Identifier: Apache-2.0
"""spoor exits as its command does."""
import os
import resource
import signal
import subprocess
import sys

import pytest

from conftest import IS_FULL, load, read_line

pytestmark = pytest.mark.any_user

# Signals that kill a process by default; the C library uses 32 and 33 internally.
DEADLY = [n for n in range(1, 65) if n not in (32, 33) and n not in map(int, (
    signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT,
    signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH))]
# Boundary values, signals that dump core, signals that spoor forwards, and signals with two names.
SOME_DEADLY = [1, 2, 3, 6, 9, 11, 13, 14, 15, 16, 31, 34, 64]
# Boundary values, spoor's own codes (125 to 127), and a shell's codes for signals.
SOME_CODES = [0, 1, 2, 124, 125, 126, 127, 128, 129, 130, 137, 143, 254, 255]


def test_every_exit_code_passes_through(spoor):
    wrong = {}
    for code in range(256) if IS_FULL else SOME_CODES:
        done = spoor("run", "-q", "--", "sh", "-c", f"exit {code}")
        if done.returncode != code or done.stderr:
            wrong[code] = (done.returncode, done.stderr)
    assert wrong == {}


def test_result_contains_the_exit_code(spoor):
    done, result = spoor.result("sh", "-c", "exit 7")
    assert done.returncode == 7
    assert (result["run"]["exit_code"], result["run"]["signal"]) == (7, None)
    assert result["run"]["command"] == ["sh", "-c", "exit 7"]


@pytest.mark.parametrize("number", DEADLY if IS_FULL else SOME_DEADLY)
def test_spoor_is_killed_by_the_signal_that_killed_the_command(spoor, workload, number):
    """Spoor is killed by the same signal, so a parent sees the same status as without spoor."""
    done, result = spoor.result(workload("die"), str(number))
    assert done.returncode == -number
    assert result["run"]["exit_code"] == 128 + number
    name = result["run"]["signal"]
    if number < 32:
        names = {key for key, member in signal.Signals.__members__.items() if member == number}
        # On Linux, signal 16 has two names.
        assert name in names | ({"SIGSTKFLT"} if number == 16 else set())
    else:
        assert name.startswith("SIG")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGSEGV])
def test_shell_gets_128_plus_the_signal_number(spoor, workload, number):
    script = '"$0" run -q -- "$1" "$2"; echo $?'
    done = subprocess.run(["bash", "-c", script, spoor.binary, workload("die"), str(int(number))],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    assert done.stdout == f"{128 + number}\n"


def test_spoor_leaves_no_core_file_if_the_job_dies_by_a_signal(spoor, tmp_path):
    """A core file would be spoor's own, and could overwrite the job's."""
    job = "import os, resource, signal; " \
          "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), signal.SIGQUIT)"
    highest = resource.getrlimit(resource.RLIMIT_CORE)[1]
    process = spoor.start(
        "run", "-q", "--", sys.executable, "-c", job, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (highest, highest)))
    _, status, _ = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert os.WTERMSIG(status) == signal.SIGQUIT
    assert not os.WCOREDUMP(status)


@pytest.mark.threads
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_result_is_complete_if_a_signal_ends_the_job(spoor, workload, number):
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-o", path, "--", workload("hold"), "1")
    read_line(process.stdout)
    process.send_signal(number)
    assert process.wait() == -number
    assert load(path)["run"]["signal"] == number.name


@pytest.mark.threads
def test_result_is_complete_if_the_job_is_killed(spoor, workload):
    """The job uses more memory than the tracker with sanitizers, so that the kernel reports its
    peak."""
    path = spoor.new_path("result.json")
    process = spoor.start("run", "-q", "-o", path, "--", workload("hold"), "64")
    os.kill(int(read_line(process.stdout)), signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    result = load(path)
    assert result["run"]["signal"] == "SIGKILL"
    assert result["memory"]["combined"]["total_rss_bytes"]["value"] > 0


def test_exit_code_of_a_missing_command_is_127(spoor, monkeypatch):
    # An unreadable folder in PATH would change the error to "permission denied".
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = spoor("run", "--", "no-such-command-at-all")
    assert done.returncode == 127
    assert "no-such-command-at-all" in done.stderr and "not found" in done.stderr.lower()


def test_exit_code_of_an_unexecutable_command_is_126(spoor, tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("no program")
    done = spoor("run", "--", path)
    assert done.returncode == 126
    assert "plain.txt" in done.stderr


def test_exit_code_of_a_directory_as_command_is_126(spoor, tmp_path):
    assert spoor("run", "--", tmp_path).returncode == 126


def test_orphans_do_not_change_the_exit_code(spoor):
    """Orphans that exit after the command do not change its status."""
    done = spoor("run", "-q", "--", "sh", "-c", "(exit 3) & (exit 4) & exit 5")
    assert done.returncode == 5


def test_exit_code_is_known_if_sigchld_is_ignored(spoor):
    """An ignored SIGCHLD is inherited, and would make the kernel reap the command before spoor
    does."""
    script = 'trap "" CHLD; "$0" run -q -- sh -c "exit 9"; exit $?'
    done = spoor("run", "-q", "--", "sh", "-c", script, spoor.binary)
    assert done.returncode == 9


def test_nested_spoor_passes_the_exit_code_on(spoor):
    done, result = spoor.result(spoor.binary, "run", "-q", "--", "sh", "-c", "exit 11")
    assert done.returncode == 11
    assert result["run"]["exit_code"] == 11
    # The command, its child, and perhaps a helper of the inner tracker all belong to the outer job.
    assert result["processes"]["started"]["value"] >= 2
