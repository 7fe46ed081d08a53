# SPDX-License-Identifier: Apache-2.0
"""/proc does not show the job's processes: it belongs to another PID namespace, or is not
mounted. Figures that the kernel gives to the parent of a process are reported; figures of
foreign processes are not."""
import os
import shlex
import subprocess
import sys

import pytest

from conftest import DEADLINE_SECONDS, IS_FULL, cpu_time, load, read_line, value, wait_for_samples, warnings_of

# An ordinary user needs a user namespace.
UNSHARE = ["unshare", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
# A sanitizer reads its options from /proc/self/environ, and its leak check needs /proc.
HIDE_PROC = ("mount -t tmpfs none /proc && mkdir /proc/self && "
             "printf 'ASAN_OPTIONS=detect_leaks=0\\0' >/proc/self/environ && exec \"$@\"")
WITHOUT_PROC = {
    "another namespace": ([*UNSHARE, "--pid", "--fork"], "/proc belongs to another PID namespace"),
    "not mounted": ([*UNSHARE, "--mount", "sh", "-c", HIDE_PROC, "sh"], "/proc is not mounted"),
}


@pytest.fixture(params=list(WITHOUT_PROC))
def without_proc(request):
    wrapper, message = WITHOUT_PROC[request.param]
    if subprocess.run([*wrapper, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    return wrapper, message


def run(wrapper, spoor, *arguments):
    return subprocess.run([*wrapper, spoor.binary, *map(os.fspath, arguments)], check=False, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)


def test_without_proc_figures_from_wait4_are_reported(spoor, workload, without_proc):
    path = spoor.new_path("result.json")
    job = f"{shlex.quote(workload('burn'))} 0.3 2; exit 3"
    done = run(without_proc[0], spoor, "run", "-o", path, "--", "sh", "-c", job)
    assert done.returncode == 3
    result = load(path)
    assert value(result, "cpu.total_seconds") == cpu_time(float(done.stdout.split()[-1]))
    assert value(result, "cpu.user_seconds") > 0.2
    assert value(result, "cpu.page_faults.minor") > 0
    assert value(result, "cpu.context_switches.voluntary") is not None
    assert result["run"]["exit_code"] == 3
    assert without_proc[1] in " ".join(done.stderr.split())


def test_figures_of_foreign_processes_are_not_reported(spoor, without_proc):
    """Regression test: process N of /proc was foreign, and its memory, threads and I/O were
    reported as the job's."""
    path = spoor.new_path("result.json")
    run(without_proc[0], spoor, "run", "-q", "-i", "0.01", "-o", path, "--", "sleep", "0.1")
    result = load(path)
    for scope in ("main", "descendants", "combined"):
        for what in ("private_rss_bytes", "shared_rss_bytes"):
            assert result["memory"][scope][what]["value"] is None
            assert without_proc[1] in result["memory"][scope][what]["reason"]
        assert result["cpu"]["threads"][scope]["value"] is None
    assert result["memory"]["main"]["total_rss_bytes"]["value"] is None
    assert result["memory"]["swap_peak_bytes"]["value"] is None
    for what in ("read_chars", "written_chars"):
        assert result["io"][what]["value"] is None
    started = result["processes"]["started"]
    assert started["value"] == (1 if started["exact"] else None)
    assert value(result, "processes.max_concurrent") is None
    assert value(result, "cpu.total_seconds") < 0.1
    assert set(warnings_of(result)) - {"late-samples"} == {"no-proc"}


def test_without_proc_the_peak_of_the_largest_process_is_reported(spoor, workload, without_proc):
    """The peak comes from ru_maxrss, which the kernel reports to the parent without naming the
    process. If a large program starts spoor by exec, spoor's own ru_maxrss includes that
    program's."""
    path = spoor.new_path("result.json")
    large = [sys.executable, "-c",
             "import os, sys; x = b'x' * (100 << 20); os.execvp(sys.argv[1], sys.argv[1:])"]
    run([*large, *without_proc[0]], spoor, "run", "-q", "-o", path, "--", workload("hold"), "60")
    total = load(path)["memory"]["combined"]["total_rss_bytes"]
    assert 60 << 20 <= total["value"] < 70 << 20
    assert total["source"] == "wait4.ru_maxrss"


def test_attach_to_an_invisible_process_fails(spoor, without_proc):
    done = run(without_proc[0], spoor, "attach", "--duration", "0.01", "1")
    assert done.returncode == 125
    assert without_proc[1] in done.stderr and "no such process" not in done.stderr


def test_doctor_explains_why_proc_is_not_used(spoor, without_proc):
    done = run(without_proc[0], spoor, "doctor")
    assert done.returncode == 0
    assert without_proc[1] in " ".join(done.stdout.split())
    memory = done.stdout.partition("private and shared memory\n")[2].splitlines()[0]
    assert memory.split()[0] == "no"


def test_proc_of_the_current_pid_namespace_is_used(spoor, workload):
    if subprocess.run([*UNSHARE, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    path = spoor.new_path("result.json")
    run([*UNSHARE, "--pid", "--fork", "--mount-proc"], spoor, "run", "-q", "-o", path, "--",
        workload("hold"), "20")
    result = load(path)
    assert value(result, "memory.main.total_rss_bytes") > 20 << 20
    assert "no-proc" not in warnings_of(result)


def groups_of(length):
    """Returns supplementary groups whose line in /proc/PID/status is about `length` bytes long."""
    return [4_000_000_000 + i for i in range(length // 11)] + [10 ** (length % 11 - 1)] * (length % 11 > 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set groups")
def test_ignored_sigchld_is_detected_even_with_many_groups(spoor):
    """Regression test: the line of 400 groups was longer than the buffer for /proc/PID/status.
    So spoor did not see that a parent ignores SIGCHLD, and lost the page faults of the children."""
    job = """if True:
        import os, signal, sys
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for line in sys.stdin:
            if os.fork() == 0:
                held = b'x' * (40 << 20)
                print("ready", flush=True)
                sys.stdin.readline()
                os._exit(0)
            try:
                os.wait()
            except ChildProcessError:
                print("gone", flush=True)"""
    path = spoor.new_path("result.json")
    tracker = spoor.start("run", "-q", "-i", "0.01", "--cgroup=off", "-o", path, "--", sys.executable, "-u", "-c",
                          job, extra_groups=groups_of(6000), env={**os.environ, "SPOOR_DISABLE": "taskstats"})
    for _ in range(2):
        for answer in ("ready", "gone"):
            os.write(tracker.stdin.fileno(), b"\n")
            assert read_line(tracker.stdout) == answer
            wait_for_samples(tracker.pid)
    tracker.stdin.close()
    assert tracker.wait(timeout=DEADLINE_SECONDS) == 0
    assert value(load(path), "cpu.page_faults.minor") * os.sysconf("SC_PAGE_SIZE") > 2 * 40 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set groups")
def test_a_job_runs_with_any_number_of_groups(spoor):
    """Regression test: a status truncated in the middle of a line crashed spoor."""
    for length in range(3800, 4000, 3 if IS_FULL else 7):  # in steps shorter than a line
        done = spoor("run", "-q", "--", "echo", "ran", extra_groups=groups_of(length))
        assert (done.returncode, done.stdout) == (0, "ran\n"), length
