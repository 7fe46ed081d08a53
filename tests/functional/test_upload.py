# SPDX-License-Identifier: Apache-2.0
"""resource-tracker with SENTINEL_API_TOKEN: every sample arrives once, and nothing waits for an
upload."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import threading

import pytest

from conftest import DEADLINE_SECONDS, descriptors_of, eventually
from fake_sentinel import BUCKET, PREFIX, REGION, TOKEN, spools
from fake_services import DMI, METADATA, Service, with_dmi
from uploads import INTERVAL, Run, kept_in, kill_uploader, upload, uploader_of

pytestmark = pytest.mark.any_user


def test_every_sample_is_uploaded_exactly_once(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path, "--team", "blue", "--tag", "a=b",
              "--external-run-id", "7")
    eventually(lambda: len(sentinel.puts) >= 3, "three batches")
    assert run.end() == ""
    assert sentinel.received() == run.rows()
    assert sentinel.puts == [f"{PREFIX}/run-0/{number:06}.csv.gz"
                             for number in range(len(sentinel.puts))]
    assert spools(tmp_path) == []
    described = sentinel.runs["run-0"]
    assert json.loads(described["command"])[:2] == ["sh", "-c"]
    assert (described["team"], described["tags"], described["external_run_id"]) == \
        ("blue", ["a=b"], "7")
    assert "pid" not in described and "project_name" not in described
    assert described["host_vcpus"] == os.cpu_count()
    assert described["host_hostname"] == os.uname().nodename
    assert {"host_id", "host_ip", "host_server_allocation", "host_cpu_model", "host_memory_mib",
            "host_gpu_model", "host_gpu_count", "host_gpu_memory_mib", "host_storage_gb",
            "cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id",
            "cloud_instance_type"} <= set(described)


def test_registration_identifies_the_cloud_machine(resource_tracker, sentinel, tmp_path):
    prefix = with_dmi(tmp_path, DMI["aws"])
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    with Service(METADATA["aws"]) as service:
        done = subprocess.run(
            [*prefix, resource_tracker.binary, "--quiet", "true"], check=False, text=True,
            capture_output=True, timeout=DEADLINE_SECONDS,
            env={**os.environ, **sentinel.environment(tmp_path), "SPOOR_METADATA_URL": service.url,
                 "SPOOR_METADATA_TIMEOUT": "30", "XDG_CACHE_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    described = sentinel.runs["run-0"]
    assert [described[f"cloud_{name}"] for name in ("vendor_id", "region_id", "instance_type")] == \
        ["aws", "us-west-2", "g4dn.xlarge"]


def test_finish_request_of_a_short_run_contains_its_rows(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_INTERVAL="3600")
    assert run.end(code=3) == ""
    (run_id, end), = sentinel.finishes
    assert (run_id, end["exit_code"], end["run_status"], end["data_source"]) == \
        ("run-0", 3, "failed", "inline")
    assert end["finished_at"].endswith("Z")
    assert sentinel.received() == run.rows()
    assert sentinel.puts == []
    assert spools(tmp_path) == []


def test_exit_code_of_a_killed_job_is_128_plus_the_signal(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    os.kill(run.process.pid, signal.SIGTERM)
    assert run.process.wait() == -signal.SIGTERM
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (143, "failed")


@pytest.mark.parametrize("command", ["/no/such/program", "/etc/passwd"])
def test_command_that_cannot_run_is_not_registered(resource_tracker, sentinel, tmp_path, command):
    done = resource_tracker("--quiet", command, env={**os.environ, **sentinel.environment(tmp_path)})
    assert done.returncode in (126, 127)
    assert sentinel.asked == []
    assert spools(tmp_path) == []


def test_an_attached_process_is_uploaded_too(resource_tracker, sentinel, tmp_path, held):
    environment = {**os.environ, **sentinel.environment(tmp_path)}
    process = resource_tracker.start(*INTERVAL, "--quiet", "--pid", str(held.pid), env=environment)
    eventually(lambda: sentinel.runs, "the registration")
    held.stdin.close()
    held.wait()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    assert "command" not in sentinel.runs["run-0"]
    assert f",{held.pid}," in sentinel.received()[-1]


def test_only_resource_tracker_uploads(spoor, sentinel, tmp_path):
    done = spoor("run", "-q", "true", env={**os.environ, **sentinel.environment(tmp_path)})
    assert (done.returncode, done.stderr, sentinel.asked) == (0, "", [])
    assert not (tmp_path / "spoor").exists()


# ---- answers ------------------------------------------------------------------------------------

def answers(status, body, **headers):
    return lambda handler: handler.answer(status, body, **headers)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_busy_service_is_retried(resource_tracker, sentinel, tmp_path, status):
    sentinel.script = {"register": [status], "put": [status, status], "finish": []}
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(sentinel.puts) >= 2, "batches")
    assert run.end() == ""
    assert sentinel.received() == run.rows()


@pytest.mark.parametrize("answer, message", [
    (answers(401, {"detail": "who are you?"}), "HTTP status 401: {\"detail\": \"who are you?\"}"),
    (answers(422, b"\x1b[31mno"), r"HTTP status 422: \x1b[31mno"),
    (answers(200, b"<html>sign in</html>"), "the answer of the upload service has no valid run_id"),
    (answers(200, {}), "the answer of the upload service has no valid run_id"),
    (answers(200, {"run_id": "../x", "upload_uri_prefix": "s3://a/b"}), "no valid run_id"),
    (answers(200, {"run_id": "x"}), "no valid upload_uri_prefix"),
    (answers(200, {"run_id": "x", "upload_uri_prefix": "s3://a/b", "upload_credentials": 7}),
     "no valid upload_credentials"),
])
def test_an_invalid_response_is_reported(resource_tracker, sentinel, tmp_path, answer, message):
    sentinel.script["register"] = [answer] * 1000
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_INTERVAL="3600")
    eventually(lambda: sentinel.asked, "the registration")
    said = run.end()
    assert message in said
    assert said.count("\n") == 1
    assert TOKEN not in said
    assert kept_in(said) == len(run.rows()) - 1
    sentinel.script.clear()
    assert upload(resource_tracker, run).returncode == 0
    assert sentinel.received() == run.rows()


def test_request_refused_by_the_service_is_not_retried(resource_tracker, sentinel, tmp_path):
    sentinel.script["register"] = [401] * 1000
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_INTERVAL="0.1")
    eventually(lambda: len(run.rows()) > 30, "several intervals")
    run.end()
    assert sentinel.asked == ["register"]


def test_service_url_may_contain_a_host_name(resource_tracker, sentinel, tmp_path):
    """libcurl resolves the name in a thread."""
    run = Run(resource_tracker, sentinel, tmp_path,
              SENTINEL_API_URL=f"http://localhost:{sentinel.port}/", no_proxy="localhost,127.0.0.1")
    assert run.end() == ""
    assert sentinel.received() == run.rows()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_followed(resource_tracker, sentinel, tmp_path, status):
    """The redirect is followed once, with the description of the run."""
    def moved(handler):
        handler.answer(status, Location=f"{sentinel.url}/runs")
    sentinel.script["register"] = [moved]
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    assert run.end() == ""
    assert sentinel.asked.count("register") == 2
    assert sentinel.runs["run-0"]["host_hostname"] == os.uname().nodename
    assert sentinel.received() == run.rows()


def test_credentials_are_not_sent_to_another_server(resource_tracker, sentinel, tmp_path):
    """A redirect from S3 can change only the region."""
    def moved(handler):
        handler.answer(307, Location=f"{sentinel.url}/elsewhere", x_amz_bucket_region=REGION)
    sentinel.script["put"] = [moved]
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    assert run.end() == ""
    assert not any("elsewhere" in uri for uri in sentinel.puts)
    assert sentinel.received() == run.rows()


def test_expired_credentials_are_renewed(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    sentinel.expire()
    count = len(sentinel.puts)
    eventually(lambda: len(sentinel.puts) > count + 1, "more batches")
    assert run.end() == ""
    assert sentinel.asked.count("refresh") == 1
    assert sentinel.received() == run.rows()


def test_credentials_about_to_expire_are_renewed_in_time(resource_tracker, sentinel, tmp_path):
    sentinel.lifetime_seconds = 290
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    assert run.end() == ""
    assert sentinel.asked[1:3] == ["refresh", "put"]
    assert sentinel.received() == run.rows()


@pytest.mark.parametrize("head", [None, 500])
def test_the_region_of_the_bucket_is_used(resource_tracker, sentinel, tmp_path, head):
    """The region comes from a request, or from the response to an upload to the wrong region."""
    sentinel.has_region = False
    sentinel.script["head"] = [head]
    if head:
        sentinel.script["put"] = [answers(400, b"<Code>AuthorizationHeaderMalformed</Code>",
                                          x_amz_bucket_region=REGION)]
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(sentinel.puts) >= 2, "two batches")
    assert run.end() == ""
    assert sentinel.asked.count("head") == 1
    assert sentinel.received() == run.rows()
    assert BUCKET in sentinel.puts[0]


def test_finish_request_that_was_already_received_is_not_an_error(resource_tracker, sentinel, tmp_path):
    sentinel.script["finish"] = [409]
    run = Run(resource_tracker, sentinel, tmp_path)
    assert run.end() == ""
    assert spools(tmp_path) == []


# ---- losses -------------------------------------------------------------------------------------

def test_nothing_is_lost_while_the_network_is_down(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(sentinel.puts) >= 2, "two batches")
    sentinel.go_away()
    count = len(run.rows())
    eventually(lambda: len(run.rows()) > count + 50, "samples meanwhile")
    before = len(sentinel.puts)
    sentinel.come_back()
    eventually(lambda: len(sentinel.puts) >= before + 3, "batches afterwards")
    assert run.end() == ""
    assert sentinel.received() == run.rows()


def test_samples_are_kept_if_the_uploader_is_killed(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(sentinel.puts) >= 2, "two batches")
    kill_uploader(run)
    count = len(run.rows())
    eventually(lambda: len(run.rows()) > count + 10, "samples meanwhile")
    said = run.end()
    assert said.startswith("warn: upload incomplete: the process that uploads was killed; ")
    # The uploader may have been killed before the response for a batch arrived.
    kept = kept_in(said)
    assert kept >= len(run.rows()) - len(sentinel.rows(sentinel.batches("run-0")))
    assert upload(resource_tracker, run).returncode == 0
    assert sentinel.received() == run.rows()


def test_a_batch_with_a_lost_response_is_not_sent_twice(resource_tracker, sentinel, tmp_path):
    """The uploader is killed after S3 has stored the batch, but before the response."""
    def put_and_kill(handler):
        handler.put()
        kill_uploader(run)
    held = threading.Event()
    sentinel.script["put"] = [lambda handler: (held.wait(), put_and_kill(handler))]
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: "put" in sentinel.asked, "the first batch")
    held.set()
    eventually(lambda: sentinel.puts and run.uploader() is None, "the end of the uploader")
    run.end()
    assert upload(resource_tracker, run).returncode == 0
    assert sentinel.received() == run.rows()


def test_run_is_reported_as_failed_if_the_tracker_is_killed(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    run.process.kill()
    eventually(lambda: sentinel.finishes, "the end of the run")
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (1, "failed")
    eventually(lambda: uploader_of(tmp_path) is None, "the end of the uploader")
    rows = run.rows()
    sent = sentinel.received()
    assert sent == rows[:len(sent)]


def test_beyond_the_limit_the_oldest_samples_are_dropped(resource_tracker, sentinel, tmp_path):
    sentinel.go_away()
    run = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_INTERVAL="0.1",
              TRACKER_UPLOAD_DISK_LIMIT="0.005")
    eventually(lambda: run.path.exists() and run.path.stat().st_size > 20_000, "samples")
    said = run.end()
    header, *rows = run.rows()
    kept, dropped = said.splitlines()
    folder, = spools(tmp_path)
    state = json.loads((folder / "state.json").read_text())
    assert dropped == (f"warn: {state['dropped_rows']} samples were dropped: too many waited to be "
                       "uploaded; see TRACKER_UPLOAD_DISK_LIMIT")
    assert kept_in(kept) == len(rows) - state["dropped_rows"]
    sentinel.come_back()
    assert upload(resource_tracker, run).returncode == 0
    assert sentinel.received() == [header, *rows[state["dropped_rows"]:]]


def test_size_limit_applies_to_all_kept_runs_together(resource_tracker, sentinel, tmp_path):
    sentinel.go_away()
    first = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: len(first.rows()) > 30, "samples")
    first.end()
    kept, = spools(tmp_path)
    header, *rows = first.rows()
    for year in (2000, 2001):  # older folders
        shutil.copytree(kept, kept.with_name(f"{year}{kept.name[4:]}"))
    limit = 2.5 * len("\n".join(rows)) / 1e6
    second = Run(resource_tracker, sentinel, tmp_path, TRACKER_UPLOAD_DISK_LIMIT=f"{limit:.6f}")
    assert f"warn: {len(rows)} samples were dropped: " in second.end()
    names = [folder.name[:4] for folder in spools(tmp_path)]
    assert len(names) == 3 and "2000" not in names


# ---- visible effects ----------------------------------------------------------------------------

def test_only_the_uploader_loads_libcurl(resource_tracker, sentinel, tmp_path):
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    uploader = run.uploader()
    assert "libcurl" in pathlib.Path(f"/proc/{uploader}/maps").read_text()
    assert "libcurl" not in pathlib.Path(f"/proc/{run.process.pid}/maps").read_text()
    standard = {os.readlink(f"/proc/{run.process.pid}/fd/{fd}") for fd in range(3)}
    assert not standard & set(descriptors_of(uploader))
    assert run.end() == ""


def test_secrets_are_not_visible(resource_tracker, sentinel, tmp_path):
    os.umask(0)
    run = Run(resource_tracker, sentinel, tmp_path)
    eventually(lambda: sentinel.puts, "a batch")
    folder, = spools(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    seen = set()
    for path in folder.iterdir():
        try:
            with path.open("rb") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read()
        except FileNotFoundError:  # the file was replaced meanwhile
            continue
        seen.add(path.name)
        assert stat.S_IMODE(mode) == 0o600
        for secret in (TOKEN, "secret/", "session/"):
            assert secret.encode() not in text
    assert {"run.json", "rows.csv", "state.json"} <= seen
    assert TOKEN.encode() not in pathlib.Path(f"/proc/{run.uploader()}/cmdline").read_bytes()
    assert run.end() == ""


def test_job_inherits_the_environment_of_the_user(resource_tracker, sentinel, tmp_path):
    environment = {**os.environ, **sentinel.environment(tmp_path)}
    done = resource_tracker("--quiet", "env", env=environment)
    assert f"SENTINEL_API_TOKEN={TOKEN}" in done.stdout.splitlines()


@pytest.mark.parametrize("variable, value, message", [
    ("SENTINEL_API_TOKEN", "a b", "SENTINEL_API_TOKEN is not a token: it has a blank or a "
                                  "character that is not ASCII"),
    ("SENTINEL_API_URL", "ftp://x", "invalid SENTINEL_API_URL 'ftp://x': expected https://HOST"),
    ("TRACKER_UPLOAD_INTERVAL", "0", "invalid TRACKER_UPLOAD_INTERVAL '0': expected 0.1 to 86400"),
])
def test_invalid_setting_does_not_stop_the_job(resource_tracker, sentinel, tmp_path, variable, value,
                                               message):
    environment = {**os.environ, **sentinel.environment(tmp_path), variable: value}
    done = resource_tracker("--quiet", "true", env=environment)
    assert (done.returncode, done.stderr) == (0, f"warn: samples are not uploaded: {message}\n")
    assert sentinel.asked == []
