# SPDX-License-Identifier: Apache-2.0
"""Runs that a real Prometheus scrapes, and pushes to a real VictoriaMetrics and Pushgateway: the stored figures must
equal the figures of the report. All servers run in a temporary directory, on loopback.
"""
import csv
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

# Uses 200 MB, then CPU time. Then waits for a line, so that the last figures are scraped, and exits
# without the interpreter's usual cleanup.
JOB = ["python3", "-c", "import os, time, sys\nblock = b'x' * 200000000\ntime.sleep(1.5)\ndel block\n"
       "end = time.process_time() + 0.7\nwhile time.process_time() < end: pass\nprint('ready', flush=True)\nsys.stdin.readline()\nos._exit(0)"]


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


def eventually(condition, what):
    """Polls until the condition is true; treats a server that does not answer yet as false."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        try:
            value = condition()
            if value:
                return value
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.05)
    return pytest.fail(f"not within {DEADLINE_SECONDS} s: {what}")


def get(url, **query):
    with urllib.request.urlopen(url + ("?" + urllib.parse.urlencode(query) if query else ""), timeout=30) as response:
        return response.read().decode()


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Server:
    """A server program that listens on a free port."""

    def __init__(self, folder, ready, *command):
        self.port, self.folder = free_port(), folder
        self.url = f"http://127.0.0.1:{self.port}"
        self.ready = ready
        self.command = [word.replace("ADDRESS", f"127.0.0.1:{self.port}") for word in command]
        self.start()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.folder)
        eventually(lambda: get(self.url + self.ready) or True, f"{self.command[0]} answers")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=DEADLINE_SECONDS)


@pytest.fixture
def serve(tmp_path):
    """serve(ready, command...) starts a server, which is stopped when the test ends."""
    servers = []

    def start(ready, *command):
        folder = tmp_path / f"server{len(servers)}"
        folder.mkdir()
        servers.append(Server(folder, ready, *command))
        return servers[-1]
    yield start
    for server in servers:
        server.stop()


class Run:
    """The job under spoor, with its own state directory. The job ends when end() is called."""

    def __init__(self, folder, *options, command=tuple(JOB)):
        self.report_path, self.rows_path = folder / "r.json", folder / "rows.csv"
        self.process = subprocess.Popen(
            [BINARY, "run", "-q", "--name", "n", "-o", self.report_path, "--samples", self.rows_path, *options, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "XDG_STATE_HOME": str(folder)})

    def wait_until_ready(self):
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        self.process.communicate("\n", timeout=DEADLINE_SECONDS)
        assert self.process.returncode == 0
        self.report = json.loads(self.report_path.read_text())
        self.cpu = self.report["cpu"]["total_seconds"]["value"]
        with open(self.rows_path, encoding="utf-8", newline="") as file:
            self.rows = list(csv.DictReader(file))
        self.peak = max(float(row["job_rss_bytes"] or 0) for row in self.rows)
        return self


def ask(server, query):
    """Returns the current values of a query, by run."""
    answer = json.loads(get(f"{server.url}/api/v1/query", query=query))
    assert answer["status"] == "success"
    return [float(each["value"][1]) for each in answer["data"]["result"]]


@pytest.fixture
def prometheus(tmp_path, serve):
    """Starts a Prometheus that scrapes `target`, a port of this machine, every 200 ms."""
    target = free_port()
    path = tmp_path / "prometheus.yml"
    path.write_text(json.dumps({
        "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
        "scrape_configs": [{"job_name": "spoor", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}]}))
    server = serve("/-/ready", "prometheus", f"--config.file={path}", "--storage.tsdb.path=data",
                   "--web.listen-address=ADDRESS", "--log.level=error")
    server.target = target
    return server


@needs("prometheus")
def test_prometheus_has_the_figures_of_the_report(tmp_path, prometheus):
    run = Run(tmp_path, "-i", "100ms", "--listen", str(prometheus.target))
    run.wait_until_ready()
    # The CPU time that Python needs to start is counted, too.
    eventually(lambda: max(ask(prometheus, "spoor_job_cpu_seconds_total"), default=0) > 0.7, "the CPU time is scraped")
    time.sleep(0.5)  # and so is the next sample
    series = ask(prometheus, 'count({run_id!=""})')
    memory = ask(prometheus, "max_over_time(spoor_job_rss_bytes[5m])")
    cpu = ask(prometheus, "last_over_time(spoor_job_cpu_seconds_total[5m])")
    assert ask(prometheus, 'min_over_time(up{job="spoor"}[1s])') == [1]
    run.end()
    assert memory == [run.peak] and run.peak > 200e6
    assert cpu == [pytest.approx(run.cpu, rel=0.01)]
    assert 30 < series[0] < 80


@needs("prometheus")
def test_prometheus_accepts_every_query_of_the_dashboard(tmp_path, prometheus):
    board = json.loads((TOP / "share/grafana/spoor.json").read_text())
    run = Run(tmp_path, "--listen", str(prometheus.target), command=["cat"])
    eventually(lambda: ask(prometheus, "spoor_job_rss_bytes"), "a scrape")
    found = 0
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")
            found += len(ask(prometheus, re.sub(r"\$\w+", ".*", query))) > 0
    assert found > 15  # without a GPU, a rank, and perhaps a cgroup
    run.end()


def expositions(tmp_path):
    """Returns a text of each kind that the program writes."""
    port = free_port()
    run = Run(tmp_path, "-i", "50ms", "--listen", str(port), "--metrics", str(tmp_path / "m.prom"), command=["cat"])
    url = f"http://127.0.0.1:{port}/metrics"
    eventually(lambda: "spoor_job_rss_bytes" in get(url), "a sample")
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "application/openmetrics-text"})) as response:
        scraped = response.read().decode()
    text = get(url)
    run.end()
    report = subprocess.run([BINARY, "report", "-f", "openmetrics", run.report_path, run.report_path], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    once = subprocess.run([BINARY, "report", "-f", "openmetrics", run.report_path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    machine = subprocess.run([BINARY, "system", "-i", "50ms", "-f", "openmetrics"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    assert report.count("spoor_run_elapsed_seconds{") == 2
    return {"text": text, "file": (tmp_path / "m.prom").read_text(), "openmetrics": scraped, "report": once,
            "machine": machine}


@needs("promtool")
def test_promtool_accepts_every_exposition(tmp_path):
    texts = expositions(tmp_path)
    for name in ("text", "file", "report", "machine"):
        done = subprocess.run(["promtool", "check", "metrics"], input=texts[name], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), name


def test_a_strict_parser_accepts_openmetrics(tmp_path):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    texts = expositions(tmp_path)
    for name in ("openmetrics", "report", "machine"):
        families = {family.name: family for family in parser.text_string_to_metric_families(texts[name])}
        assert len(families) > 20, name
    families = {family.name: family for family in parser.text_string_to_metric_families(texts["openmetrics"])}
    cpu = families["spoor_job_cpu_seconds"]
    assert (cpu.type, cpu.unit, cpu.samples[0].name) == ("counter", "seconds", "spoor_job_cpu_seconds_total")


@needs("victoria-metrics")
def test_nothing_is_lost_while_victoria_metrics_is_down(tmp_path, serve):
    server = serve("/health", "victoria-metrics", "-storageDataPath=data", "-httpListenAddr=ADDRESS", "-loggerLevel=ERROR")

    def points(name):
        lines = get(f"{server.url}/api/v1/export", **{"match[]": name}).splitlines()
        found = {}
        for line in lines:
            part = json.loads(line)
            found.update(zip(part["timestamps"], part["values"]))
        return found

    run = Run(tmp_path, "-i", "100ms", "--export-interval", "200ms", "--push", f"{server.url}/api/v1/import/prometheus")
    eventually(lambda: points("spoor_job_rss_bytes"), "a push")
    server.stop()
    run.wait_until_ready()  # while the server is down
    server.start()
    eventually(lambda: max(points("spoor_job_cpu_seconds_total").values(), default=0) > 0.7, "all of it was sent")
    run.end()
    moments = [float(row["timestamp"]) * 1e3 for row in run.rows]
    cpu = eventually(lambda: moments[-1] <= max(points("spoor_job_cpu_seconds_total")) + 1 and
                     points("spoor_job_cpu_seconds_total"), "the last push is stored")
    assert max(cpu.values()) == pytest.approx(run.cpu, rel=0.01)
    assert max(points("spoor_job_rss_bytes").values()) == run.peak
    times = sorted(cpu)
    for moment in moments:
        assert min(abs(moment - each) for each in times) <= 100  # a sample, or the next sample of the interval


@needs("prometheus-pushgateway")
def test_a_pushgateway_has_the_last_sample(tmp_path, serve):
    # Debian's Pushgateway stores what was pushed below /var, by default.
    server = serve("/-/ready", "prometheus-pushgateway", "--persistence.file=", "--web.listen-address=ADDRESS",
                   "--log.level=error")
    run = Run(tmp_path, "-i", "100ms", "--export-interval", "200ms", "--push", server.url)
    run.wait_until_ready()
    eventually(lambda: "spoor_job_rss_bytes{" in get(server.url + "/metrics"), "a push")
    run.end()
    value = float(re.search(r"^spoor_job_cpu_seconds_total\{.*\} (\S+)$", get(server.url + "/metrics"), re.M)[1])
    assert value == pytest.approx(run.cpu, rel=1e-6)
    assert f'run_id="{run.report["run"]["id"]}"' in get(server.url + "/metrics")
    assert "push_failure_time_seconds" not in get(server.url + "/metrics") or \
        re.search(r"^push_failure_time_seconds\{.*\} 0$", get(server.url + "/metrics"), re.M)
