# SPDX-License-Identifier: Apache-2.0
"""Pushes samples to monitoring systems: --push, --otlp, and the queue on disk."""
import contextlib
import http.server
import json
import os
import pathlib
import re
import socket
import threading

import pytest

from conftest import DEADLINE_SECONDS, eventually, load
from test_export import values_of

pytestmark = pytest.mark.any_user

IMPORT = "/api/v1/import/prometheus"


class Server:
    """A server that answers with the given statuses, then with 200, and keeps the requests that
    it accepted."""

    def __init__(self, *answers, headers=()):
        self.answers, self.requests, self.refused = list(answers), [], []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def take(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status = owner.answers.pop(0) if owner.answers else 200
                (owner.requests if status == 200 else owner.refused).append(
                    (self.command, self.path, dict(self.headers), body))
                self.send_response(status)
                for header in headers:
                    self.send_header(*header)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_PUT = take

            def log_message(self, *_):
                pass

            def handle(self):
                with contextlib.suppress(ConnectionError):  # the client was killed
                    super().handle()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def state(tmp_path):
    """Returns the environment of runs with their own state directory."""
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


def queue(state):
    return pathlib.Path(state["XDG_STATE_HOME"]) / "spoor/uploads"


def kept(state):
    return sorted(queue(state).glob("*"))


def run(spoor, state, *options, command=("true",), **others):
    """Runs a short job; returns stderr and the report."""
    path = spoor.new_path("r.json")
    done = spoor("run", "-q", "-o", path, *options, "--", *command, env={**state, **others})
    assert done.returncode == 0
    return done.stderr, load(path)


def until(spoor, state, server, *options, count=1, **others):
    """Runs a job until its samples have been pushed; returns stderr and the report. The end of a
    run waits only 200 ms for a push."""
    path = spoor.new_path("r.json")
    process = spoor.start("run", "-q", "-i", "20ms", "--export-interval", "100ms", "-o", path, *options, "--", "cat",
                          env={**state, **others})
    eventually(lambda: len(server.requests) >= count, "a push")
    process.stdin.close()
    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    return process.stderr.read().decode(), load(path)


def test_every_sample_is_imported_with_its_time(spoor, state):
    with Server() as server:
        _, report = until(spoor, state, server, "--name", "n", "--label", "a=b", "--push", server.url + IMPORT, count=3)
        method, path, headers, _ = server.requests[0]
        assert (method, path, headers["Content-Type"]) == ("POST", IMPORT, "text/plain; version=0.0.4")
        lines = [line for request in server.requests for line in request[3].splitlines()
                 if line.startswith("spoor_job_cpu_seconds_total{")]
    times = [int(line.split()[-1]) for line in lines]
    values = [float(line.split()[-2]) for line in lines]
    assert times == sorted(set(times)) and values == sorted(values)
    assert f'run_id="{report["run"]["id"]}",name="n"' in lines[0] and 'a="b"' in lines[0]


def test_latest_sample_is_sent_to_a_pushgateway_by_put(spoor, state):
    with Server() as server:
        _, report = until(spoor, state, server, "--push", server.url)
        method, path, _, body = server.requests[0]
    assert (method, path) == ("PUT", f"/metrics/job/spoor/run_id/{report['run']['id']}")
    assert len(values_of(body)["spoor_job_cpu_seconds_total"]) == 1
    assert "# TYPE spoor_job_cpu_seconds_total counter\n" in body


def test_pushgateway_is_recognized_by_the_path_of_the_url(spoor, state):
    with Server() as server:
        until(spoor, state, server, "--push", server.url + "/x/metrics/job/j/instance/i")
        assert server.requests[0][1] == "/x/metrics/job/j/instance/i"


def attributes(items):
    return {each["key"]: each["value"]["stringValue"] for each in items}


def test_otlp_request_has_the_headers_and_resource_attributes(spoor, state):
    with Server() as server:
        _, report = until(spoor, state, server, "--otlp", "env", "--name", "n", OTEL_EXPORTER_OTLP_ENDPOINT=server.url,
                          OTEL_EXPORTER_OTLP_HEADERS="X-A=b%20c", OTEL_SERVICE_NAME="me",
                          OTEL_RESOURCE_ATTRIBUTES="deployment=a%2Cb, service.name=other")
        method, path, headers, body = server.requests[-1]
    assert (method, path, headers["Content-Type"], headers["X-A"]) == ("POST", "/v1/metrics", "application/json", "b c")
    resource, = json.loads(body)["resourceMetrics"]
    found = attributes(resource["resource"]["attributes"])
    assert found["service.name"] == "me" and found["deployment"] == "a,b" and found["spoor.run.name"] == "n"
    assert found["spoor.run.id"] == found["service.instance.id"] == report["run"]["id"]
    metrics = {each["name"]: each for each in resource["scopeMetrics"][0]["metrics"]}
    total = metrics["spoor.job.cpu.time"]["sum"]
    assert (total["aggregationTemporality"], total["isMonotonic"], metrics["spoor.job.cpu.time"]["unit"]) == (2, True, "s")
    point = total["dataPoints"][-1]
    assert 0 < int(point["startTimeUnixNano"]) < int(point["timeUnixNano"])
    assert "gauge" in metrics["spoor.job.memory.usage"]


@pytest.mark.parametrize("variables, path", [
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "/"}, "/v1/metrics"), ({"OTEL_EXPORTER_OTLP_ENDPOINT": "/base"}, "/base/v1/metrics"),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": "/no", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "/m"}, "/m")])
def test_otlp_endpoint_comes_from_the_variables(spoor, state, variables, path):
    with Server() as server:
        until(spoor, state, server, "--otlp", "env", **{name: server.url + value for name, value in variables.items()})
        assert server.requests[0][1] == path


# ---- servers that fail ------------------------------------------------------

def test_samples_are_kept_until_the_server_is_up_again(spoor, state):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}{IMPORT}"
        message, report = run(spoor, state, "--push", url)
    assert re.match(rf"spoor: --push: .*; \d+ samples wait in {queue(state)}/\S+ for the next run that pushes there\n",
                    message)
    spool, = kept(state)
    with Server() as server:
        text = (spool / "run.json").read_text().replace(url, server.url + IMPORT)
        (spool / "run.json").write_text(text)
        process = spoor.start("run", "-q", "-i", "20ms", "--export-interval", "100ms", "--push", server.url + IMPORT,
                              "--", "cat", env=state)
        eventually(lambda: not spool.exists(), "the earlier run was sent")
        process.stdin.close()
        assert process.wait(timeout=DEADLINE_SECONDS) == 0
        assert any(report["run"]["id"] in request[3] for request in server.requests)


def test_unsent_samples_for_another_server_are_kept(spoor, state):
    with Server() as server:
        run(spoor, state, "--push", "http://127.0.0.1:1" + IMPORT)
        run(spoor, state, "--otlp", server.url + IMPORT)
        assert len(kept(state)) >= 1
        assert "127.0.0.1:1/" in (kept(state)[0] / "run.json").read_text()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_temporary_server_errors_are_retried(spoor, state, status):
    with Server(status, status) as server:
        until(spoor, state, server, "--push", server.url + IMPORT)
        first = server.refused[0][3].splitlines()[0]
        assert len(server.refused) == 2 and first in server.requests[0][3]


def test_refused_samples_are_dropped(spoor, state):
    with Server(400) as server:
        message, _ = until(spoor, state, server, "--otlp", server.url)
        assert re.search(r"spoor: --otlp: \d+ samples? (was|were) refused, or dropped because too many waited\n", message)


def test_redirect_is_followed(spoor, state):
    with Server() as server, Server(307, headers=[("Location", server.url + IMPORT)]) as first:
        until(spoor, state, server, "--push", first.url + IMPORT)
        assert first.refused[0][3] == server.requests[0][3]


def test_secrets_do_not_follow_a_redirect(spoor, state):
    with Server() as server, Server(307, 307, headers=[("Location", server.url + "/v1/metrics")]) as first:
        until(spoor, state, first, "--otlp", first.url, OTEL_EXPORTER_OTLP_HEADERS="Api-Key=secret")
        assert first.refused[0][2]["Api-Key"] == "secret"
        assert server.requests == []


def test_hanging_server_does_not_delay_the_run(spoor, state):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        message, report = run(spoor, state, "--push", url + IMPORT, "--otlp", url, "--export-interval", "100ms",
                              command=["sleep", "0.3"], SPOOR_PUSH_HEADERS="Authorization=secret")
    assert message.count("timed out") == 2
    assert report["run"]["elapsed_seconds"] < 5  # the timeout of a request is 30 s
    assert len(kept(state)) == 2
    for path in queue(state).rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0


def test_no_samples_are_kept_if_the_command_cannot_run(spoor, state):
    done = spoor("run", "--push", "http://127.0.0.1:1", "--", "/nowhere/no", env=state)
    assert done.returncode == 127 and kept(state) == []


def test_no_clobber_ignores_files_of_the_push_queue(spoor, state):
    with Server() as server:
        until(spoor, state, server, "--no-clobber", "--push", server.url + IMPORT)


@pytest.mark.parametrize("arguments, message", [
    (["--push", "gateway:9091"], "--push: invalid URL 'gateway:9091': expected http://HOST or https://HOST"),
    (["--push", "http://a/b"], "--push: invalid URL 'http://a/b': expected one of a Pushgateway (/metrics/job/...) or of "
     "VictoriaMetrics (/api/v1/import/prometheus)"),
    (["--otlp", "http://u:p@a"], "--otlp: no password in a URL, since it is stored with samples that wait: use the "
     "variable SPOOR_PUSH_HEADERS or OTEL_EXPORTER_OTLP_HEADERS"),
    (["--otlp", "http://a\nb"], "--otlp: invalid URL 'http://a\\nb': expected http://HOST or https://HOST"),
    (["--export-interval", "1ms"], "--export-interval: '1ms' is out of range: expected 100ms to 366d"),
])
def test_invalid_push_options_are_refused(spoor, state, arguments, message):
    done = spoor("run", *arguments, "--", "true", env=state)
    assert (done.returncode, done.stderr) == (125, f"spoor: {message}\n")


def test_samples_of_the_machine_are_pushed(spoor, state):
    with Server() as server:
        process = spoor.start("system", "-i", "20ms", "--export-interval", "100ms", "--push", server.url + IMPORT, env=state)
        eventually(lambda: len(server.requests) >= 1, "a push")
        process.terminate()
        assert process.wait(timeout=DEADLINE_SECONDS) == 0
        assert "spoor_host_cpu_seconds_total{" in server.requests[0][3]
