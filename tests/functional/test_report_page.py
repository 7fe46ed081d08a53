# SPDX-License-Identifier: Apache-2.0
"""HTML pages and charts: of live runs, stored reports, samples and tracking files."""
import csv
import json
import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest

from conftest import eventually, load, read_line, rows_of, state_of
from test_stream import writer_of

pytestmark = pytest.mark.any_user

BEGIN = '<script id="spoor-data" type="application/json">'
BURST = ["sh", "-c", "head -c 30000000 /dev/zero | tail -c 30000000 >/dev/null; sleep 0.1"]


@pytest.fixture
def page(spoor):
    """Reads a page and returns its runs, in the format of JSON reports unless has_requests."""
    if "has no report page" in spoor("run", "-f", "html", "--", "true").stderr:
        pytest.skip("this build has no report page")

    def read(path, has_requests=False):
        text = path.read_text(encoding="utf-8")
        assert text.count(BEGIN) == 1 and "<!--spoor-data-->" not in text
        data, end, _ = text.partition(BEGIN)[2].partition("</script>")
        assert end and "<" not in data
        data = json.loads(data)
        assert data["schema"] == "spoor-page/1"
        for run in data["runs"] if not has_requests else ():
            run.get("recommendation", {}).pop("requests", None)
        return data["runs"]

    return read


def without_curve(report):
    return {key: value for key, value in report.items() if key not in ("curve", "tracker", "warnings")}


def peak(run, name):
    return max(value for value in run["curve"]["columns"][name]["high"] if value is not None)


# ---- pages of runs ------------------------------------------------------------------


def test_page_contains_the_report_of_the_run(spoor, page, tmp_path):
    done = spoor("run", "-i", "20ms", "-o", tmp_path / "r.json", "--report", tmp_path / "p.html",
                 "--name", "</script><script>alert(1)</script>", "--", *BURST)
    assert (done.returncode, done.stdout) == (0, "") and "Elapsed" in done.stderr
    (run,) = page(tmp_path / "p.html")
    report = load(tmp_path / "r.json")
    assert without_curve(run) == without_curve(report)
    assert run["curve"]["samples"] == report["curve"]["samples"] == len(run["curve"]["seconds"])


def test_page_contains_the_requests_that_spoor_recommends(spoor, page, tmp_path):
    spoor("run", "-q", "-o", tmp_path / "r.json", "--report", tmp_path / "p.html", "--", "true")
    (run,) = page(tmp_path / "p.html", has_requests=True)
    requests = {request["name"]: request["text"] for request in run["recommendation"]["requests"]}
    assert len(requests) == 10
    for name, text in requests.items():
        assert spoor("recommend", "--for", name, tmp_path / "r.json").stdout == text


def test_page_can_be_selected_as_a_format(spoor, page, tmp_path):
    spoor("run", "-q", "-o", tmp_path / "a.html", "--", "true")
    with open(tmp_path / "b.html", "wb") as file:
        spoor("run", "-q", "-f", "html", "-o", "-", "--", "true", stdout=file)
    spoor("system", "-i", "20ms", "--report", tmp_path / "c.html")
    for name in "abc":
        assert len(page(tmp_path / f"{name}.html")) == 1


@pytest.mark.parametrize("options, message", [
    (["--report", "p.htm"], "must end in .html"),
    (["--report", "no/p.html"], "'no' does not exist"),
    (["--report", "old.html", "--no-clobber"], "already exists"),
    (["--report", "p.html", "-o", "p.html"], "the same file"),
    (["-o", "old.html", "--append"], "cannot be appended to"),
])
def test_unsupported_page_outputs_are_refused_before_the_job_starts(spoor, page, tmp_path, options, message):
    (tmp_path / "old.html").write_text("mine")
    done = spoor("run", *options, "--", "touch", "ran", cwd=tmp_path)
    assert done.returncode == 125 and message in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["old.html"]
    assert (tmp_path / "old.html").read_text() == "mine"


def test_page_is_replaced_even_with_append(spoor, page, tmp_path):
    files = ("--append", "-o", tmp_path / "r.json", "--report", tmp_path / "p.html")
    done = [spoor("run", "-q", "--name", name, *files, "--", "true") for name in ("first", "second")]
    assert done[0].stderr == ""
    assert done[1].stderr == (f"spoor: --append does not apply to a page: '{tmp_path}/p.html' will be replaced; "
                              "for a page of several runs, use 'spoor report FILE...'\n")
    assert [run["run"]["name"] for run in page(tmp_path / "p.html")] == ["second"]
    spoor("report", tmp_path / "r.json", "-o", tmp_path / "p.html")
    assert [run["run"]["name"] for run in page(tmp_path / "p.html")] == ["first", "second"]


def test_summary_is_shown_if_the_page_cannot_be_written(spoor, page, tmp_path):
    (tmp_path / "d").mkdir()
    done = spoor("run", "--report", "d/p.html", "--", "rmdir", "d", cwd=tmp_path)
    assert done.returncode == 0
    assert "spoor: cannot write 'd/p.html'" in done.stderr and done.stderr.count("Elapsed") == 1
    assert BEGIN not in done.stderr


# ---- pages of files -----------------------------------------------------------------


def test_page_is_written_next_to_the_first_file(spoor, page, tmp_path):
    spoor("run", "-q", "-o", tmp_path / "a.b.json", "--", "true")
    done = spoor("report", "a.b.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "spoor: the report is in 'a.b.html'\n"
    (run,) = page(tmp_path / "a.b.html")
    report = load(tmp_path / "a.b.json")
    assert run == report
    assert spoor("report", "a.b.json", cwd=tmp_path).returncode == 0  # spoor overwrites its own page
    (tmp_path / "a.b.html").write_text("mine")
    done = spoor("report", "a.b.json", cwd=tmp_path)
    assert done.returncode == 125 and "is not a page of spoor; name a file with -o" in done.stderr
    assert (tmp_path / "a.b.html").read_text() == "mine"
    assert spoor("report", "a.b.json", "-o", "a.b.html", cwd=tmp_path).returncode == 0
    assert page(tmp_path / "a.b.html") == [report]


def test_several_files_are_shown_as_several_runs(spoor, page, tmp_path):
    for name in ("a", "b"):
        spoor("run", "-q", "--name", name, "-o", tmp_path / f"{name}.json", "--samples",
              tmp_path / f"{name}.csv", "-i", "10ms", "--", *BURST)
    done = spoor("report", "a.json", "b.csv", "-o", "p.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [run["run"]["name"] for run in page(tmp_path / "p.html")] == ["a", "b.csv"]


def test_report_and_the_samples_it_names_are_shown_as_one_run(spoor, page, tmp_path):
    spoor("run", "-q", "-o", tmp_path / "a.json", "--samples", tmp_path / "a.csv", "-i", "1ms",
          "--", "sleep", "0.6")
    report = load(tmp_path / "a.json")
    spoor("report", "a.json", "a.csv", "-o", "p.html", cwd=tmp_path)
    (run,) = page(tmp_path / "p.html")
    assert without_curve(run) == without_curve(report)
    rows = (tmp_path / "a.csv").read_text().count("\n") - 1
    assert run["curve"]["samples"] == rows
    if rows > 256:
        assert len(report["curve"]["seconds"]) <= 256 < len(run["curve"]["seconds"])


def test_page_is_opened_by_the_desktop(spoor, page, tmp_path):
    opener = tmp_path / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text(f"#!/bin/sh\necho \"$1\" > {tmp_path}/opened\n")
    opener.chmod(0o755)
    spoor("run", "-q", "-o", tmp_path / "-r.json", "--", "true")
    done = spoor("report", "--open", "--", "-r.json", cwd=tmp_path,
                 env={**os.environ, "PATH": f"{opener.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opened").read_text() == f"{tmp_path}/-r.html\n"
    done = spoor("report", "--open", "--", "-r.json", cwd=tmp_path, env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 125 and "(xdg-open failed); the page is '-r.html'" in done.stderr


@pytest.mark.parametrize("options", [(), ("-i", "10ms")], ids=["short", "sampled"])
def test_curve_excludes_the_last_sample_after_the_end_of_the_job(spoor, options):
    """The last sample is taken after the job has ended, when there are no processes."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("samples.jsonl")
    process = spoor.start("run", "-q", *options, "-o", path, "--samples", samples, "--", "cat")
    eventually(lambda: any(row["job_rss_bytes"] for row in rows_of(samples)), "a sample of the job")
    process.stdin.close()
    assert process.wait() == 0
    result = load(path)
    for name in ("job_threads", "job_processes", "job_rss_bytes"):
        values = result["curve"]["columns"][name]["high"]
        assert any(values) and all(value is None or value > 0 for value in values), name


# ---- samples ------------------------------------------------------------------------


def report_of(spoor, *files):
    done = spoor("report", "-f", "json", *files)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_figures_from_samples_agree_with_the_report(spoor, tmp_path, suffix):
    spoor("run", "-q", "-i", "10ms", "-o", tmp_path / "r.json", "--samples", tmp_path / f"s.{suffix}",
          "--", *BURST)
    report = load(tmp_path / "r.json")
    again = report_of(spoor, tmp_path / f"s.{suffix}")
    for path in ("cpu total_seconds", "memory combined total_rss_bytes", "processes started"):
        expected, found = report, again
        for key in path.split():
            expected, found = expected[key], found[key]
        assert found["value"] == pytest.approx(expected["value"], rel=0.001), path
        assert found["source"] == "samples" and not found["exact"]
    assert again["run"]["elapsed_seconds"] == pytest.approx(report["run"]["elapsed_seconds"])
    assert again["run"]["started_at"] == report["run"]["started_at"]
    assert again["run"]["exit_code"] is None
    assert again["curve"]["seconds"] == report["curve"]["seconds"]
    assert again["curve"]["columns"]["job_rss_bytes"] == report["curve"]["columns"]["job_rss_bytes"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_interrupted_run_is_shown_up_to_its_end(spoor, tmp_path, suffix):
    path = tmp_path / f"s.{suffix}"
    run = spoor.start("run", "-q", "-i", "10ms", "--samples", path, "--", "sh", "-c",
                      "echo $$; exec sleep 100")
    job = int(read_line(run.stdout))
    eventually(lambda: path.exists() and path.read_bytes().count(b"\n") > 12, "some rows")
    writer = writer_of(run)
    run.kill()
    run.wait()
    os.kill(job, signal.SIGKILL)
    eventually(lambda: state_of(writer) in (None, "Z"), "the last rows are written")
    whole = path.read_bytes()
    whole = whole[:whole.rindex(b"\n") + 1]
    rows = whole.count(b"\n") - (suffix == "csv")
    path.write_bytes(whole)
    assert report_of(spoor, path)["run"]["samples"] == rows
    path.write_bytes(whole[:-20])
    again = report_of(spoor, path)
    assert again["run"]["samples"] == rows - 1
    assert [(warning["code"], warning["message"]) for warning in again["warnings"]] == [
        ("samples", "skipped 1 incomplete row of samples")]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_samples_are_read_from_standard_input(spoor, tmp_path, suffix):
    path = tmp_path / f"s.{suffix}"
    spoor("run", "-q", "-i", "10ms", "--samples", path, "--", *BURST)
    expected = report_of(spoor, path)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as pipe:
        done = spoor("report", "-f", "json", "-", stdin=pipe.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["run"].pop("name") == "standard input"
    assert expected["run"].pop("name") == path.name
    for run in (found, expected):
        run["run"].pop("id")
    assert found == expected


def test_report_is_read_from_a_pipe(spoor, tmp_path):
    path = tmp_path / "r.json"
    for _ in range(2):
        spoor("run", "-q", "--append", "-o", path, "--", "true")
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as pipe:
        done = spoor("report", "-f", "json", "-", stdin=pipe.stdout)
    assert (done.returncode, done.stdout) == (0, path.read_text())


def test_tracking_file_is_not_read_from_standard_input(spoor):
    with open(pathlib.Path(__file__).parent / "sub_track/tracking.csv", "rb") as file:
        done = spoor("report", "-f", "json", "-", stdin=file)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr == "spoor: a tracking file cannot be read from standard input: name the file\n"


def test_appended_runs_are_shown_separately(spoor, tmp_path):
    path = tmp_path / "s.csv"
    for _ in range(3):
        spoor("run", "-q", "-i", "10ms", "--append", "--samples", path, "--", "sleep", "0.05")
    done = spoor("report", "-f", "csv", path)
    assert len(list(csv.DictReader(done.stdout.splitlines()))) == 3


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_concurrent_runs_in_one_file_are_shown_separately(spoor, workload, tmp_path, suffix):
    path = tmp_path / f"s.{suffix}"
    path.touch()
    runs = [spoor.start("run", "-q", "-i", "10ms", "--append", "--samples", path, "-o",
                        tmp_path / f"{name}.json", "--", workload("hold"), "1") for name in "ab"]

    def turns():
        ids = [row["run_id"] for row in rows_of(path)]
        return sum(a != b for a, b in zip(ids, ids[1:]))

    eventually(lambda: turns() >= 4, "each run writes rows between rows of the other")
    for run in runs:
        run.stdin.close()
        assert run.wait() == 0
    rows = rows_of(path)
    ids = [load(tmp_path / f"{name}.json")["run"]["id"] for name in "ab"]
    assert {row["run_id"] for row in rows} == set(ids) and len(set(ids)) == 2
    done = spoor("report", "-f", "csv", path)
    found = {row["run_id"]: int(row["samples"]) for row in csv.DictReader(done.stdout.splitlines())}
    assert found == {each: sum(row["run_id"] == each for row in rows) for each in ids}
    done = spoor("report", "-f", "csv", path, tmp_path / "b.json")
    assert [row["run_id"] for row in csv.DictReader(done.stdout.splitlines())] == [ids[1], ids[0]]


def test_many_rows_need_little_memory(spoor, page, tmp_path):
    """Memory must not grow with the number of rows."""
    count, path = 100000, tmp_path / "s.csv"
    with open(path, "w", encoding="ascii") as file:
        file.write("timestamp,elapsed_seconds,job_cpu_seconds,job_rss_bytes\n")
        cpu = 0
        for i in range(count):
            cpu += 7.654 if i == 77777 else 0.5
            file.write(f"{1.7e9 + i},{i},{cpu:.3f},{98765432109 if i == 33333 else 1000000 + i}\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run([spoor.binary, "report", path], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after <= max(before, 300000), "kilobytes"  # the minimum is for sanitizers
    assert (tmp_path / "s.html").stat().st_size < 3e6
    (run,) = page(tmp_path / "s.html")
    assert run["curve"]["samples"] == count and len(run["curve"]["seconds"]) <= 2000
    assert peak(run, "job_rss_bytes") == pytest.approx(98765432109, rel=0.001)
    assert peak(run, "job_cpu_seconds") == pytest.approx(7.654, rel=0.001)
    mean = run["curve"]["columns"]["job_cpu_seconds"]["mean"]
    assert sum(value for value in mean if value) / len(mean) == pytest.approx(0.5, rel=0.01)


# ---- others' tables -----------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["resource-tracker", "resource-tracker-0.3", "resource-tracker-0.1",
                                     "resource-tracker:combined", "resource-tracker-rs"])
def test_tables_of_resource_tracker_are_read(spoor, tmp_path, dialect):
    spoor("run", "-q", "-i", "50ms", "-o", tmp_path / "r.json", "--stream", tmp_path / "s.csv", "--dialect",
          dialect, "--", "sh", "-c", "timeout 0.5 sh -c 'while :; do :; done'; :")
    report = load(tmp_path / "r.json")
    again = report_of(spoor, tmp_path / "s.csv")
    assert again["cpu"]["total_seconds"]["value"] == \
        pytest.approx(report["cpu"]["total_seconds"]["value"], rel=0.05, abs=0.05)
    assert again["memory"]["combined"]["total_rss_bytes"]["value"] is not None  # rs is in whole MiB
    assert "job_cpu_seconds" in again["curve"]["columns"]
    assert ("host_cpu_seconds" in again["curve"]["columns"]) == (dialect.endswith(("combined", "rs")))


def test_json_samples_of_resource_tracker_are_read(spoor, tmp_path):
    """The times of these rows are whole seconds; their intervals are exact."""
    spoor("run", "-q", "-i", "50ms", "-o", tmp_path / "r.json", "--stream", tmp_path / "s.jsonl", "--dialect",
          "resource-tracker-rs", "--", "sh", "-c", "timeout 0.5 sh -c 'while :; do :; done'; :")
    report = load(tmp_path / "r.json")
    again = report_of(spoor, tmp_path / "s.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert again["run"]["samples"] == len(rows) + 1  # one more for the start
    assert again["run"]["elapsed_seconds"] == pytest.approx(
        again["run"]["interval_seconds"] + sum(row.get("actual_interval_ms", 0) for row in rows) / 1e3)
    assert again["cpu"]["total_seconds"]["value"] == \
        pytest.approx(report["cpu"]["total_seconds"]["value"], rel=0.05, abs=0.05)
    columns = again["curve"]["columns"]
    for name in ("job_cpu_seconds", "job_rss_bytes", "job_processes", "host_cpu_seconds",
                 "host_memory_used_bytes", "host_disk_written_bytes"):
        assert name in columns, name


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_tracking_files_are_read(spoor, gpu_tracker, workload, suffix):
    path = gpu_tracker.folder / f"t.{suffix}"
    gpu_tracker("-e", f"sh -c '{workload('burn')} 1; :'", "--st", "0.1", "--tf", path)
    again = report_of(spoor, path)
    assert again["run"]["samples"] >= 2 and again["host"]["cpus"] == os.cpu_count()
    assert 0.1 < again["cpu"]["total_seconds"]["value"] < 3
    assert again["memory"]["combined"]["total_rss_bytes"]["value"] > 100000
    assert again["gpu"]["memory"]["combined_bytes"]["value"] is None
    if suffix == "csv":
        path.write_bytes(path.read_bytes()[:-20])
        assert report_of(spoor, path)["run"]["samples"] == again["run"]["samples"] - 1


@pytest.mark.parametrize("count", [1, 2])
def test_gpus_of_a_tracking_file_are_listed(spoor, tmp_path, count):
    text = (pathlib.Path(__file__).parent / "sub_track/tracking.csv").read_text()
    path = tmp_path / "tracking.csv"
    path.write_text(text.replace("16.376,12,12,1,1", f"16.376,12,12,{count},{count}"))
    report = report_of(spoor, path)
    gpu, columns = report["gpu"], report["curve"]["columns"]
    assert gpu["count"] == len(gpu["devices"]) == len(report["host"]["gpus"]) == count
    assert sum(each["memory_bytes"] for each in report["host"]["gpus"]) == 16376000000
    assert gpu["utilization"]["max_gpus"]["value"] == pytest.approx(0.7)
    assert 0 < gpu["utilization"]["mean_gpus"]["value"] < 0.7
    assert "host_gpu_utilization_gpus" in columns
    assert ("gpu0_utilization" in columns) == (count == 1)
    text = spoor("report", "-f", "text", path).stdout
    assert re.search("^GPU memory +750 MB  peak", text, re.M)
    assert re.search("^GPU use +0.25  GPUs busy with all work on average, 0.70 at peak$", text, re.M)
    assert ("GPU 0 " in text) == (count == 1)


# ---- charts of text -----------------------------------------------------------------


def test_curves_are_drawn_on_the_terminal(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-i", "10ms", "-o", path, "--", *BURST)
    text = spoor("report", "--text", path, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    assert text.startswith("sh -c ") and re.search(r"^Memory  .* on average, .* at peak$", text, re.M)
    assert set(text) & set("▁▂▃▄▅▆▇█")
    plain = spoor("report", "--text", path, env={**os.environ, "LC_ALL": "C"}).stdout
    assert plain.isascii() and "Memory" in plain
    assert spoor("report", "--text", "-o", tmp_path / "c.txt", path, env={**os.environ, "LC_ALL": "C"}).stdout == ""
    assert (tmp_path / "c.txt").read_text() == plain
