# SPDX-License-Identifier: Apache-2.0
"""What a job reads and writes."""
import os
import shutil
import stat

import pytest

from conftest import value

WRITTEN = 10_000_000


def warnings(result):
    return [warning["code"] for warning in result["warnings"]]


@pytest.fixture
def unreadable(workload, tmp_path):
    """A program that may be run and not read."""
    path = tmp_path / "unreadable"
    shutil.copy(workload("chars"), path)
    path.chmod(0o111)
    return path


def check_chars(result, least=WRITTEN):
    """All of it, or nothing: what cannot be read is not 0."""
    chars = result["io"]["written_chars"]
    if chars["value"] is None:
        assert os.geteuid() != 0 and "permission denied" in chars["reason"]
        assert "io-denied" in warnings(result)
    else:
        assert chars["value"] >= least
    assert value(result, "io.written_bytes") < WRITTEN / 10  # /dev/null is no storage


def test_io_of_a_secretive_job_is_not_0(spoor, workload):
    done, result = spoor.result(workload("chars"), str(WRITTEN), "secret")
    assert done.returncode == 0
    check_chars(result)


def test_io_of_an_unreadable_program_is_not_0(spoor, unreadable):
    done, result = spoor.result(unreadable, str(WRITTEN))
    assert done.returncode == 0
    check_chars(result)


def test_io_of_a_set_uid_program_is_not_0(spoor):
    """It runs as root, whoever starts it: mount, which lists what is mounted."""
    assert os.stat("/usr/bin/mount").st_mode & stat.S_ISUID
    done, result = spoor.result("/usr/bin/mount")
    assert done.returncode == 0
    check_chars(result, len(done.stdout))


def test_io_of_a_secretive_child_is_its_parents(spoor, workload):
    _, result = spoor.result("sh", "-c", f'"$0" {WRITTEN} secret; true', workload("chars"))
    assert value(result, "io.written_chars") >= WRITTEN
    assert "io-denied" not in warnings(result)


def test_children_that_end_are_not_another_users(spoor):
    """A process that is ending seems to be root's."""
    script = "i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done"
    _, result = spoor.result("sh", "-c", script, options=["-i", "0.002"])
    assert "io-denied" not in warnings(result)
    assert value(result, "io.read_chars") > 0


def test_written_bytes_are_not_exact(spoor, workload, tmp_path):
    """The kernel charges a process for whole folios, and we cannot know how many."""
    done, result = spoor.result(workload("rewrite"), tmp_path / "data", "100")
    assert done.returncode == 0
    written = result["io"]["written_bytes"]
    assert written["value"] == 0 or not written["exact"]  # 0: memory
    assert written["value"] == 0 or written["value"] >= (4 << 20) + 100 * 8192
