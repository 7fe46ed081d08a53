# SPDX-License-Identifier: Apache-2.0
"""resource-tracker with SENTINEL_API_TOKEN: an unresponsive service delays nothing, and unsent
samples are kept."""
import os
import pathlib
import re
import subprocess
import threading

import pytest

from conftest import DEADLINE_SECONDS, eventually
from fake_sentinel import spools
from fake_services import UNSHARE
from uploads import INTERVAL, Run, counted, kept_in, kill_uploader, upload, uploader_of

pytestmark = pytest.mark.any_user


def test_silent_service_does_not_delay_the_run(resource_tracker, sentinel, tmp_path):
    """Neither the start nor the end of the job is delayed. Unsent samples are kept, and sent
    later."""
    release = threading.Event()
    sentinel.script["register"] = [lambda handler: release.wait()]
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_WAIT="0.1")
    eventually(lambda: sentinel.asked, "the request")
    said = run.end()
    folder, = spools(tmp_path)
    kept = len(run.rows()) - 1
    assert kept_in(said) == kept
    assert said.startswith("warn: upload incomplete: timed out; ")
    assert said.endswith(f" kept in {folder} and will be sent by the next run, or by "
                         "'resource-tracker upload'\n")
    assert uploader_of(tmp_path) is None  # no uploader is left
    release.set()
    done = upload(resource_tracker, run)
    assert (done.returncode, done.stdout) == (0, f"runs uploaded: 1 ({counted(kept)})\n")
    assert sentinel.received() == run.rows()
    assert upload(resource_tracker, run).stdout == "nothing to upload\n"


def test_a_signal_ends_the_wait_for_a_service(resource_tracker, sentinel, tmp_path):
    release = threading.Event()
    sentinel.script["register"] = [lambda handler: release.wait()]
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_WAIT="3600")
    folder, = spools(tmp_path)
    run.process.stdin.write(b"7\n")
    run.process.stdin.close()
    eventually((folder / "end.json").exists, "the end of the job")
    run.process.terminate()
    assert run.process.wait(timeout=DEADLINE_SECONDS) == 7
    assert kept_in(run.process.stderr.read().decode()) == len(run.rows()) - 1
    release.set()


def test_a_full_disk_does_not_change_the_outcome_of_the_run(resource_tracker, sentinel, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    small = [*UNSHARE, "--mount", "sh", "-c",
             'mount -t tmpfs -o size=64k none "$0" && exec "$@"', str(folder)]
    if subprocess.run([*small, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    environment = {**os.environ, **sentinel.environment(folder, TRACKER_UPLOAD_INTERVAL="3600")}
    job = 'read -r line; cat /dev/zero >"$0/rest" 2>/dev/null; exit 0'
    with subprocess.Popen([*small, resource_tracker.binary, *INTERVAL, "--quiet", "sh", "-c", job,
                           str(folder)], env=environment, stdin=subprocess.PIPE) as process:
        inside = pathlib.Path(f"/proc/{process.pid}/root{folder}")
        eventually(lambda: list(inside.glob("spoor/uploads/*/state.json")), "the registration")
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.wait(timeout=DEADLINE_SECONDS) == 0
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (0, "finished")


def test_the_next_run_sends_kept_samples(resource_tracker, sentinel, tmp_path):
    sentinel.go_away()
    first = Run(resource_tracker, sentinel, tmp_path)
    assert "Failed to connect" in first.end(code=1)
    done = upload(resource_tracker, first)
    assert done.returncode == 1
    assert done.stderr.endswith(f"; still kept: {counted(len(first.rows()) - 1)} of 1 run\n")
    sentinel.come_back()
    second = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(sentinel.finishes) == 1, "the run that was kept")
    assert second.end() == ""
    assert sentinel.received(0) == first.rows()
    assert sentinel.finishes[0][1]["exit_code"] == 1
    assert sentinel.received(1) == second.rows()
    assert spools(tmp_path) == []


@pytest.mark.parametrize("fault", ["damaged", "refused by Sentinel", "denied by S3", "refused by S3"])
def test_one_kept_run_does_not_delay_the_next(resource_tracker, sentinel, tmp_path, fault):
    runs = []
    for name in ("first", "second"):
        run = Run(resource_tracker, sentinel, tmp_path / name)
        runs.append(run)
        eventually(lambda: len(sentinel.batches(f"run-{len(runs) - 1}")) >= 2, "batches")
        kill_uploader(run)
        count = len(run.rows())
        eventually(lambda: len(run.rows()) > count, "samples that wait")
        run.end()
    spool, = spools(tmp_path / "second")
    spool.rename(tmp_path / "first/spoor/uploads" / spool.name)
    if fault == "damaged":
        (spools(tmp_path / "first")[0] / "rows.csv").unlink()
    sentinel.script = {"refused by Sentinel": {"refresh": [404]}, "denied by S3": {"put": [403]},
                       "refused by S3": {"put": [404]}}.get(fault, {})
    done = upload(resource_tracker, runs[0])
    assert done.returncode == 1
    assert done.stdout.startswith("runs uploaded: 1 (")
    assert re.search(r"; still kept: \d+ samples? of 1 run\n", done.stderr)
    assert [run_id for run_id, _ in sentinel.finishes] == ["run-1"]
    assert sentinel.received() == runs[1].rows()


def test_samples_of_another_service_are_not_sent(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path, SENTINEL_API_URL="http://127.0.0.1:1",
              TRACKER_UPLOAD_WAIT="0.1")
    assert kept_in(run.end()) is not None
    run.environment["SENTINEL_API_URL"] = sentinel.url
    assert upload(resource_tracker, run).stdout == "nothing to upload\n"
    assert len(spools(tmp_path)) == 1


def test_quiet_does_not_report_kept_samples(resource_tracker, sentinel, tmp_path):
    sentinel.go_away()
    done = resource_tracker("--quiet", "true", env={**os.environ, **sentinel.environment(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(spools(tmp_path)) == 1


def test_an_upload_skips_an_unfinished_run(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    assert upload(resource_tracker, run).stdout == "runs in progress, skipped: 1\n"
    kill_uploader(run)
    assert upload(resource_tracker, run).stdout == "runs in progress, skipped: 1\n"
    assert kept_in(run.end()) is not None
    assert upload(resource_tracker, run).returncode == 0
    assert sentinel.received() == run.rows()


def test_an_upload_needs_a_token(resource_tracker, tmp_path):
    done = resource_tracker("upload", env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == \
        (1, "error: nothing can be uploaded: set SENTINEL_API_TOKEN\n")
