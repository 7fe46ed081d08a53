# SPDX-License-Identifier: Apache-2.0
"""Bytes that a job reads and writes."""
import os
import shutil
import signal
import stat
import subprocess

import pytest

from conftest import eventually, load, read_line, rows_of, state_of, value, warnings_of

WRITTEN = 10_000_000


@pytest.fixture
def unreadable(workload, tmp_path):
    """Creates a program that may be executed but not read."""
    path = tmp_path / "unreadable"
    shutil.copy(workload("chars"), path)
    path.chmod(0o111)
    return path


def check_chars(result, least=WRITTEN):
    """Checks that the count is either complete or unknown: an unreadable value is not 0."""
    chars = result["io"]["written_chars"]
    if chars["value"] is None:
        assert os.geteuid() != 0 and "permission denied" in chars["reason"]
        assert "io-denied" in warnings_of(result)
    else:
        assert chars["value"] >= least
    assert value(result, "io.written_bytes") < WRITTEN / 10  # /dev/null is not storage


def test_io_of_an_undumpable_job_is_not_reported_as_0(spoor, workload):
    done, result = spoor.result(workload("chars"), str(WRITTEN), "secret")
    assert done.returncode == 0
    check_chars(result)


def test_io_of_an_unreadable_program_is_not_reported_as_0(spoor, unreadable):
    done, result = spoor.result(unreadable, str(WRITTEN))
    assert done.returncode == 0
    check_chars(result)


def test_io_of_a_set_uid_program_is_not_reported_as_0(spoor):
    """mount runs as root for every user; without arguments it lists mounts."""
    assert os.stat("/usr/bin/mount").st_mode & stat.S_ISUID
    done, result = spoor.result("/usr/bin/mount")
    assert done.returncode == 0
    check_chars(result, len(done.stdout))


def test_io_of_an_undumpable_child_is_counted_by_its_parent(spoor, workload):
    _, result = spoor.result("sh", "-c", f'"$0" {WRITTEN} secret; true', workload("chars"))
    assert value(result, "io.written_chars") >= WRITTEN
    assert "io-denied" not in warnings_of(result)


def test_exiting_children_are_not_treated_as_unreadable(spoor):
    """An exiting process appears to belong to root."""
    script = "i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done"
    _, result = spoor.result("sh", "-c", script, options=["-i", "0.002"])
    assert "io-denied" not in warnings_of(result)
    assert value(result, "io.read_chars") > 150 * 832  # each child reads the header of the C library


def test_written_bytes_are_not_exact(spoor, workload, tmp_path):
    """The kernel charges a process for whole folios, and the number of folios is unknown."""
    done, result = spoor.result(workload("rewrite"), tmp_path / "data", "100")
    assert done.returncode == 0
    written = result["io"]["written_bytes"]
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], check=True, stdout=subprocess.PIPE, text=True).stdout
    if kind.strip() in ("tmpfs", "ramfs"):
        assert written["value"] == 0
    else:
        assert not written["exact"] and written["value"] >= (4 << 20) + 100 * 8192


NEEDS_RECORDS = pytest.mark.skipif(os.geteuid() != 0, reason="only root has exit records")
MIB = 1 << 20
# The parent waits for its first child, then ignores SIGCHLD, so the kernel reaps the second child.
FIRST_READS, SECOND_READS = 100 * MIB, 20 * MIB
WAITS_ONCE = f"""
import os, select, signal, sys
def start(size, held):
    ended, end = os.pipe()
    done, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        held = b"x" * held
        with open("/dev/zero", "rb", buffering=0) as file:
            for _ in range(size >> 20):
                file.read(1 << 20)
        os.write(ready, b"x")
        while not select.select([ended], [], [], 0.05)[0]:  # idle processes are not read again
            pass
        os._exit(0)
    os.read(done, 1)
    return pid, end
first, end_first = start({FIRST_READS}, 8 << 20)
_, end_second = start({SECOND_READS}, 0)
print("ready", flush=True)
sys.stdin.readline()
os.write(end_first, b"x")
os.waitpid(first, 0)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.write(end_second, b"x")
try: os.wait()
except ChildProcessError: print("gone", flush=True)
sys.stdin.readline()
"""


def has_read_all(path):
    """Checks the samples for the first child's I/O, which is not read for every sample."""
    return any(row["job_read_chars_bytes"] and int(row["job_read_chars_bytes"]) > FIRST_READS + SECOND_READS
               for row in rows_of(path))


@pytest.mark.parametrize("disabled", [
    pytest.param("", marks=NEEDS_RECORDS), pytest.param("cgroup", marks=NEEDS_RECORDS), "cgroup,taskstats"])
def test_waited_for_child_is_counted_once(spoor, disabled):
    """The second child, which is never waited for, exits before spoor reads the processes again."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.csv")
    process = spoor.start("run", "-q", "-i", "0.01", "-o", path, "--samples", samples, "--", "/usr/bin/python3",
                          "-c", WAITS_ONCE, env={**os.environ, "SPOOR_DISABLE": disabled})
    assert read_line(process.stdout) == "ready"
    eventually(lambda: has_read_all(samples), "a sample with what both have read")
    process.send_signal(signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T", "the tracker is stopped")
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert read_line(process.stdout) == "gone"
    before = len(rows_of(samples))
    process.send_signal(signal.SIGCONT)
    eventually(lambda: any(row["job_processes"] == "1" for row in rows_of(samples)[before:]), "a sample without children")
    process.stdin.close()
    assert process.wait() == 0
    assert value(load(path), "io.read_chars") == pytest.approx(FIRST_READS + SECOND_READS, rel=0.01)


@NEEDS_RECORDS
def test_io_below_a_kilobyte_in_exit_records_is_not_reported_as_0(spoor):
    """The kernel truncates the bytes of an exit record to whole KiB."""
    job = """if True:
        import os, signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(25):
            if os.fork() == 0:
                with open("/dev/null", "wb", buffering=0) as file:
                    file.write(b"x" * 500)
                os._exit(0)
            try: os.wait()
            except ChildProcessError: pass"""
    _, result = spoor.result("/usr/bin/python3", "-c", job)
    chars = result["io"]["written_chars"]
    assert not chars["exact"] and chars["value"] != 0
