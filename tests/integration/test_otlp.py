# SPDX-License-Identifier: Apache-2.0
"""Requests of --otlp, parsed with OpenTelemetry's message types: otlp-transformer of npm, in the version of the lock
file."""
import gzip
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading

import pytest
from conftest import BINARY, DEADLINE_SECONDS

# fromObject() ignores names that a message type does not have, so the message must return
# everything that it was created from.
CHECK = """
const assert = require("node:assert");
const { opentelemetry } = require("@opentelemetry/otlp-transformer/build/src/generated/root");
const Request = opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
for (const line of require("node:fs").readFileSync(0, "utf8").trim().split("\\n")) {
  const request = JSON.parse(line);
  const message = Request.fromObject(request);
  assert.equal(Request.verify(message), null);
  assert.deepStrictEqual(Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String }), request);
}
"""


@pytest.fixture(name="check", scope="module")
def fixture_check(tmp_path_factory):
    """Returns a function that checks requests, one per line."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("otlp")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pathlib.Path(__file__).parent / "otlp" / name, folder)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=False,
                          capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    if done.returncode != 0:
        pytest.skip("otlp-transformer cannot be installed from npm")

    def check(requests):
        return subprocess.run(["node", "-e", CHECK], cwd=folder, input="\n".join(requests), text=True, check=False,
                              capture_output=True, timeout=DEADLINE_SECONDS)
    return check


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
        self.server.requests.append((self.path, self.headers["Content-Type"], body.decode()))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(name="collector")
def fixture_collector():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_opentelemetry_reads_every_request(check, collector, tmp_path):
    report = tmp_path / "r.json"
    subprocess.run([BINARY, "run", "-q", "-i", "100ms", "--export-interval", "300ms", "-o", report, "--name", 'a "b"',
                    "--otlp", f"http://127.0.0.1:{collector.server_port}", "--", "sh", "-c",
                    "head -c 100000000 /dev/zero | sha256sum >/dev/null; sleep 0.5"], check=True, timeout=DEADLINE_SECONDS,
                   env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "OTEL_RESOURCE_ATTRIBUTES": "team=blue"})
    assert collector.requests
    assert {request[:2] for request in collector.requests} == {("/v1/metrics", "application/json")}
    bodies = [body for _, _, body in collector.requests]
    done = check(bodies)
    assert done.returncode == 0, done.stderr
    names = {metric["name"] for body in bodies for resource in json.loads(body)["resourceMetrics"]
             for scope in resource["scopeMetrics"] for metric in scope["metrics"]}
    assert {"spoor.job.cpu.time", "spoor.job.memory.usage"} < names


@pytest.mark.parametrize("damage", [('"asDouble"', '"doubleValue"'), ('"aggregationTemporality":2', '"aggregationTemporality":"x"'),
                                    ('"timeUnixNano":"', '"timeUnixNano":"-')])
def test_invalid_request_is_detected(check, damage):
    request = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{
        "name": "a", "sum": {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [
            {"timeUnixNano": "1", "asDouble": 0.5}]}}]}]}]}, separators=(",", ":"))
    done = check([request])
    assert done.returncode == 0, done.stderr
    assert request != request.replace(*damage) and check([request.replace(*damage)]).returncode != 0
