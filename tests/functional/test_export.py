# SPDX-License-Identifier: Apache-2.0
"""Figures for monitoring systems: OpenMetrics as a report, over HTTP and in a file."""
import os
import re
import signal
import socket
import subprocess
import urllib.request

import pytest

from conftest import DEADLINE_SECONDS, eventually, load, read_line, rows_of

pytestmark = pytest.mark.any_user

LINE = re.compile(r'(spoor_[a-z0-9_]+)\{([^}]*)\} (-?[0-9.e+-]+)')


def values_of(text):
    """Parses OpenMetrics or the Prometheus format into {name: [(labels, value)]}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            found.setdefault(name, []).append((labels, float(value)))
    return found


def value_of(text, name):
    (_, value), = values_of(text)[name]
    return value


def test_report_can_be_written_as_openmetrics(spoor):
    path, prom = spoor.new_path("r.json"), spoor.new_path("r.prom")
    spoor("run", "-q", "--name", 'a"b\\', "-o", path, "-o", prom, "--", "true")
    report, text = load(path), prom.read_text()
    assert text.endswith("\n# EOF\n")
    assert value_of(text, "spoor_run_cpu_total_seconds") == report["cpu"]["total_seconds"]["value"]
    assert value_of(text, "spoor_run_exit_code") == 0
    (labels, _), = values_of(text)["spoor_run_elapsed_seconds"]
    assert (labels["run_id"], labels["name"]) == (report["run"]["id"], r'a\"b\\')
    assert spoor("report", "-f", "openmetrics", path).stdout == text


def test_several_reports_share_metric_families(spoor):
    paths = [spoor.new_path("r.json") for _ in range(3)]
    for path in paths:
        spoor("run", "-q", "-o", path, "--", "true")
    text = spoor("report", "-f", "openmetrics", *paths).stdout
    assert len(values_of(text)["spoor_run_elapsed_seconds"]) == 3
    assert text.count("# TYPE spoor_run_elapsed_seconds gauge\n") == text.count("# EOF\n") == 1


def test_system_report_can_be_written_as_openmetrics(spoor):
    text = spoor("system", "-i", "50ms", "-f", "openmetrics").stdout
    assert value_of(text, "spoor_run_system_memory_total_bytes") == \
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# ---- --listen ---------------------------------------------------------------

def served(spoor, *arguments, **options):
    """Starts a command with --listen 0. Returns the process and a function that fetches the
    page."""
    process = spoor.start(*arguments, stderr=subprocess.PIPE, **options)
    url = re.fullmatch(r"spoor: metrics at (http://127\.0\.0\.1:\d+/metrics)", read_line(process.stderr))[1]

    def get(accept="text/plain"):
        request = urllib.request.Request(url, headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as response:
            return response.read().decode()
    get.address = re.search(r"//(.*):(\d+)/", url).groups()
    return process, get


def end(process):
    process.stdin.close()
    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    process.stderr.close()


WAIT = ["cat"]


def test_run_can_be_scraped(spoor):
    process, get = served(spoor, "run", "-q", "--listen", "0", "-i", "10ms", "--name", "n", "--tag", "team=blue",
                          "--label", "team", "--label", "site=a b", "--", *WAIT)
    text = eventually(lambda: "spoor_job_rss_bytes{" in get() and get(), "a sample")
    (labels, value), = values_of(text)["spoor_job_rss_bytes"]
    assert value > 0
    assert (labels["name"], labels["team"], labels["site"], len(labels["run_id"])) == ("n", "blue", "a b", 32)
    assert "# EOF" not in text
    assert get("application/openmetrics-text").endswith("\n# EOF\n")
    first = value_of(get(), "spoor_run_elapsed_seconds")
    eventually(lambda: value_of(get(), "spoor_run_elapsed_seconds") > first, "another sample")
    end(process)


def test_machine_can_be_scraped_until_spoor_is_interrupted(spoor):
    process, get = served(spoor, "system", "--listen", "0", "-i", "10ms")
    text = eventually(lambda: "spoor_host_cpu_seconds_total{" in get() and get(), "a sample")
    assert "spoor_job_rss_bytes" not in values_of(text)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    process.stderr.close()


def test_attached_process_can_be_scraped(spoor):
    with subprocess.Popen(["sleep", "1000"]) as other:
        process, get = served(spoor, "attach", "-q", "--listen", "0", "-i", "10ms", str(other.pid))
        eventually(lambda: "spoor_job_rss_bytes{" in get(), "a sample")
        other.kill()
    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    process.stderr.close()


def test_rank_and_node_are_labels(spoor):
    process, get = served(spoor, "run", "-q", "--listen", "0", "--", *WAIT, env={
        **os.environ, "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3",
        "SLURM_NTASKS": "1", "SLURM_NODEID": "1"})
    text = eventually(lambda: "spoor_job_rss_bytes{" in get() and get(), "a sample")
    (labels, _), = values_of(text)["spoor_job_rss_bytes"]
    assert (labels["rank"], labels["node"]) == ("3", "1")
    end(process)


def test_slow_clients_delay_neither_the_run_nor_its_end(spoor):
    process, get = served(spoor, "run", "-q", "--listen", "0", "--", *WAIT)
    silent = [socket.create_connection(get.address) for _ in range(40)]
    eventually(lambda: "spoor_job_rss_bytes{" in get(), "a sample")
    end(process)
    for each in silent:
        each.close()


@pytest.mark.parametrize("arguments, message", [
    (["--listen", "a:b"], "--listen: invalid address 'a:b': expected PORT, ADDRESS:PORT or [ADDRESS]:PORT"),
    (["--listen", "0", "--label", "no"], "--label no: the run has no such tag; give it with --tag"),
    (["--listen", "0", "--label", "1=2"], "--label: invalid label '1=2': expected NAME=VALUE or the key of a tag, and "
     "letters, digits and _ in the name"),
    (["--listen", "0", "--label", "host=2"], "--label: the label 'host' has a fixed meaning"),
    (["--metrics", "/nowhere/a.prom"], "--metrics '/nowhere/a.prom': directory '/nowhere' does not exist; create it first"),
])
def test_invalid_export_options_are_refused(spoor, arguments, message):
    done = spoor("run", *arguments, "--", "true")
    assert (done.returncode, done.stderr) == (125, f"spoor: {message}\n")


def test_port_in_use_is_refused(spoor):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = spoor("run", "--listen", str(port), "--", "true")
    assert (done.returncode, done.stderr) == (125, f"spoor: cannot listen on '{port}': Address already in use\n")


# ---- --metrics --------------------------------------------------------------

def test_metrics_file_is_replaced_at_each_interval(spoor):
    path = spoor.new_path("m.prom")
    process = spoor.start("run", "-q", "-i", "10ms", "--metrics", path, "--", *WAIT)
    first = eventually(lambda: path.exists() and path.read_text(), "a sample")
    assert "# TYPE spoor_job_cpu_seconds_total counter\n" in first
    number = path.stat().st_ino
    text = eventually(lambda: path.stat().st_ino != number and path.read_text(), "another sample")
    assert value_of(text, "spoor_run_elapsed_seconds") > value_of(first, "spoor_run_elapsed_seconds")
    process.stdin.close()
    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    assert [each.name for each in path.parent.iterdir() if path.stem in each.name] == [path.name]


def test_metrics_file_contains_the_last_sample(spoor):
    """The report's CPU time begins at the first sample, after the fork."""
    path, report, samples = spoor.new_path("m.prom"), spoor.new_path("r.json"), spoor.new_path("s.jsonl")
    spoor("run", "-q", "-i", "1h", "--metrics", path, "-o", report, "--samples", samples, "--", "sh", "-c",
          "seq 4000000 >/dev/null")
    first, *_, last = (row["job_cpu_seconds"] for row in rows_of(samples))
    assert value_of(path.read_text(), "spoor_job_cpu_seconds_total") == pytest.approx(last, abs=1e-4)
    assert load(report)["cpu"]["total_seconds"]["value"] == pytest.approx(last - first, abs=1e-3)


def test_metrics_file_is_unchanged_if_the_command_cannot_run(spoor):
    path = spoor.new_path("m.prom")
    path.write_text("old")
    assert spoor("run", "--metrics", path, "--", "/nowhere/no").returncode == 127
    assert path.read_text() == "old"


def test_metrics_and_report_in_the_same_file_are_refused(spoor):
    path = spoor.new_path("m.prom")
    done = spoor("run", "--metrics", path, "-o", path, "--", "true")
    assert done.returncode == 125 and "--metrics" in done.stderr
