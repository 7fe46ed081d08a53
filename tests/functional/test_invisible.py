# SPDX-License-Identifier: Apache-2.0
"""A job sees no difference between being started by spoor and being started without it."""
import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest

PAYLOAD = b"".join(bytes([byte]) for byte in range(256)) * 4096


def seen_by(command, **options):
    """Returns the output of `inside` started by this command. The options are passed to Popen."""
    done = subprocess.run([*map(os.fspath, command)], stdout=subprocess.PIPE, check=True,
                          **options)
    return done.stdout.decode(errors="surrogateescape").splitlines()


# The only visible difference is the job's own cgroup, created below the cgroup that the job would
# otherwise run in.
LEAF = re.compile(r"^(\d+:[^:]*:.*?)/?spoor-\d+-[0-9a-f]{8}$")


def without_leaf(line):
    found = LEAF.match(line)
    return (found.group(1) if not found.group(1).endswith(":") else found.group(1) + "/") \
        if found else line


def both(spoor, workload, **options):
    """Returns the output of `inside` started directly, and started by spoor."""
    with open(os.devnull, "rb") as nothing, open(os.devnull, "wb") as sink:
        # `inside` prints the targets of its descriptors, so both runs get the same files.
        options = {"stdin": nothing, "stderr": sink, **options}
        job = [workload("inside"), "one", "two words", ""]
        alone = seen_by(job, **options)
        wrapped = seen_by([spoor.binary, "run", "-q", "--", *job], **options)
    # Each run has a new pipe for its stdout, so ignore descriptor 1.
    return [[without_leaf(line) for line in lines if not line.startswith("fd 1 ")]
            for lines in (alone, wrapped)]


def test_job_sees_no_difference(spoor, workload):
    alone, wrapped = both(spoor, workload)
    assert wrapped == alone
    assert any(line.startswith("environment PATH=") for line in alone)


def test_job_sees_no_difference_without_a_cgroup(spoor, workload, monkeypatch):
    monkeypatch.setenv("SPOOR_CGROUP", "off")
    job = [workload("inside")]
    with open(os.devnull, "rb") as nothing, open(os.devnull, "wb") as sink:
        options = {"stdin": nothing, "stderr": sink}
        alone, wrapped = seen_by(job, **options), \
            seen_by([spoor.binary, "run", "-q", "--", *job], **options)
    assert [line for line in wrapped if not line.startswith("fd 1 ")] == \
        [line for line in alone if not line.startswith("fd 1 ")]


def test_job_inherits_exactly_the_given_descriptors(spoor, workload, tmp_path):
    with open(tmp_path / "seven", "wb") as first, open(tmp_path / "eight", "wb") as second:
        alone, wrapped = both(spoor, workload, pass_fds=(first.fileno(), second.fileno()))
    assert wrapped == alone
    assert sum(line.startswith("fd ") for line in wrapped) == 4  # without stdout


def test_blocked_and_ignored_signals_are_inherited(spoor, workload):
    def prepare():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})

    alone, wrapped = both(spoor, workload, preexec_fn=prepare, restore_signals=False)
    assert wrapped == alone
    assert f"SigBlk:\t{1 << 11 | 1 << 14:016x}" in wrapped


def test_limits_niceness_and_umask_are_inherited(spoor, workload):
    def prepare():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 400))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(3)
        os.umask(0o027)

    alone, wrapped = both(spoor, workload, preexec_fn=prepare)
    assert wrapped == alone


@pytest.mark.parametrize("arguments, code", [
    (["run", "-q", "--", "sh", "-c", "test $(ulimit -s) -lt 1024 && exit 7"], 7),
    (["run", "-q", "-o", "/dev/null", "--", "sh", "-c", "sleep 0.1 & exit 8"], 8),
    (["doctor"], 0), (["info"], 0), (["run", "--help"], 0)], ids=str)
def test_small_stack_is_sufficient(spoor, arguments, code):
    if "san" in pathlib.Path(spoor.binary).parent.name:
        pytest.skip("a sanitizer needs more of it")
    done = subprocess.run(["sh", "-c", 'ulimit -s 128; exec "$0" "$@"', spoor.binary, *arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == code


def test_nothing_is_added_to_an_empty_environment(spoor, workload):
    alone, wrapped = both(spoor, workload, env={})
    assert wrapped == alone
    assert not any(line.startswith("environment") for line in wrapped)


def test_sample_files_and_reports_leak_no_descriptor(spoor, workload, tmp_path):
    with open(os.devnull, "rb") as nothing, open(os.devnull, "wb") as sink:
        lines = seen_by([spoor.binary, "run", "-q", "-o", tmp_path / "r.json", "--samples",
                         tmp_path / "s.csv", "--", workload("inside")], stdin=nothing, stderr=sink)
    assert [line.split()[1] for line in lines if line.startswith("fd ")] == ["0", "1", "2"]


def test_input_and_output_of_the_job_are_unchanged(spoor):
    done = subprocess.run([spoor.binary, "run", "-q", "--", "sh", "-c", "tee /dev/stderr"],
                          input=PAYLOAD, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=True)
    assert done.stdout == PAYLOAD
    assert done.stderr == PAYLOAD


def test_spoor_does_not_read_standard_input(spoor):
    """Input that the job does not read remains for the next reader."""
    read, write = os.pipe()
    os.write(write, b"for the next")
    os.close(write)
    assert spoor("run", "-q", "--", "true", stdin=read).returncode == 0
    assert os.read(read, 100) == b"for the next"
    os.close(read)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_job_runs_with_closed_standard_descriptors(spoor, tmp_path, closed):
    marker = tmp_path / "ran"
    redirections = " ".join({0: "<&-", 1: ">&-", 2: "2>&-"}[fd] for fd in closed)
    done = subprocess.run(["sh", "-c", f'"$0" run -o "$2" -- touch "$1" {redirections}',
                           spoor.binary, marker, tmp_path / "r.json"], check=False)
    assert done.returncode == 0
    assert marker.exists() and (tmp_path / "r.json").read_text().startswith("{")


def test_summary_goes_to_stderr_and_output_stays_clean(spoor):
    done = spoor("run", "--", "echo", "hello")
    assert done.stdout == "hello\n"
    assert "CPU" in done.stderr and "\x1b" not in done.stderr


def test_quiet_prints_nothing(spoor):
    done = spoor("run", "-q", "--", "true")
    assert (done.stdout, done.stderr) == ("", "")
