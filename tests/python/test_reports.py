# SPDX-License-Identifier: Apache-2.0
"""The report as a page, from all packages, and the data that resource_tracker provides for it."""
import html
import json
import os
import pathlib
import re
import webbrowser

import gpu_tracker
import pytest
import spoor
from fake_keeper import SERVERS, Keeper
from resource_tracker import ResourceTracker
from resource_tracker.column_maps import NEWEST, README
from resource_tracker.report import (Report, build_context, build_report, build_rows,
                                     describe_cloud, describe_run, get_needs)
from spoor import Page
from spoor._result import make_page

START = 1794700000.0
MIB = 1 << 20
FACTS = {"start_time": START, "stop_time": START + 10, "pid": 77, "interval": 1, "children": True,
         "dialect": NEWEST, "name": None, "spoor_version": "0.1.0"}


def data_of(page):
    """Returns the report embedded in a page of the stand-in."""
    return json.loads(re.search(r'id="spoor-data">(.*)</script>', page, re.S)[1])


# ---- the page ----

def test_page_is_saved_and_opened(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = Page("<p>\N{SNOWMAN}</p>")
    assert page.save(tmp_path / "p.html") is page
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == page
    assert page.browse() is page
    path, = opened
    assert path.startswith(f"file://{tmp_path}/") and path.endswith(".html")
    with open(path[len("file://"):], encoding="utf-8") as file:
        assert file.read() == page


def test_notebook_shows_the_page_in_a_frame():
    page = Page('<script>"&</script>')
    frame = page._repr_html_()
    assert frame.startswith("<iframe ") and "<script" not in frame
    assert html.unescape(re.search('srcdoc="([^"]*)"', frame)[1]) == page


def test_spoor_writes_a_report_after_the_stop(stand_in_reporter):
    tracker = spoor.Tracker(name="n")
    with pytest.raises(spoor.Error, match="^there is no report before the tracker has stopped$"):
        tracker.report()
    with tracker:
        pass
    program = stand_in_reporter()
    page = tracker.report()
    assert isinstance(page, spoor.Page) and data_of(page) == tracker.result.to_dict()
    assert program.with_name("reporter.arguments").read_text() == "report --format=html --output=- -\n"


def test_gpu_tracker_writes_a_report_after_the_stop(stand_in_reporter):
    tracker = gpu_tracker.Tracker(sleep_time=0.1)
    tracker.start()
    with pytest.raises(RuntimeError, match="^Cannot make a report before tracking completes.$"):
        tracker.report()
    tracker.stop()
    stand_in_reporter()
    data = data_of(tracker.report())
    assert data["schema"] == "spoor/1" and data["run"]["interval_seconds"] == 0.1
    peak = tracker.resource_usage.max_ram.main.total_rss
    assert data["memory"]["main"]["total_rss_bytes"]["value"] / 1e9 == pytest.approx(peak, rel=1e-6)


def test_error_of_the_reporting_program_is_raised(tmp_path, monkeypatch):
    with spoor.Tracker() as tracker:
        pass
    program = tmp_path / "refuses"
    program.write_text("#!/bin/sh\necho 'spoor: this build has no page' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("SPOOR_BIN", str(program))
    with pytest.raises(spoor.Error, match="^cannot make the page: this build has no page$"):
        tracker.report()


# ---- resource_tracker ----

LONG = {"timestamp": {"duration": 60.0}}  # an earlier run

def test_resource_tracker_report_describes_the_run(stand_in_reporter):
    with ResourceTracker(interval=0.1, discover_cloud=False) as tracker:
        tracker.wait_for_samples(2)
    again = ResourceTracker.loads(tracker.dumps())
    stand_in_reporter()
    page = tracker.report()
    assert isinstance(page, Report) and issubclass(Report, str)
    data = data_of(page)
    assert data == data_of(again.report())
    assert data["run"]["pid"] == tracker.pid and data["run"]["command"]
    assert data["run"]["samples"] == tracker.n_samples
    assert data["cpu"]["total_seconds"] == tracker.run_totals["cpu.total_seconds"]
    # The start of the run is a point, too.
    assert len(data["curve"]["columns"]["job_rss_bytes"]["high"]) == tracker.n_samples + 1
    assert data["context"]["integration"] is None and not data["context"]["status_failed"]
    assert data["context"]["servers"] == [] and data["context"]["servers_reason"] is None


def test_report_explains_that_the_keeper_is_unreachable(stand_in_reporter):
    """Bug W3 of the predecessor: without a network there was no report."""
    with ResourceTracker(interval=0.1, discover_cloud=False) as tracker:
        tracker.wait_for_samples(1)
    stand_in_reporter()
    earlier = {**tracker.stats(), **LONG}
    data = data_of(tracker.report("Metaflow", [earlier] * 2, True, name="Flow/1/step/2", servers=3))
    assert data["run"]["name"] == "Flow/1/step/2" and data["run"]["exit_code"] == 1
    assert data["context"]["status_failed"] and len(data["context"]["historical"]) == 2
    recommendation = data["context"]["recommendation"]
    assert "of 3 runs" in recommendation["memory_bytes"]["why"]
    requests = {request["name"]: request["text"] for request in recommendation["requests"]}
    assert requests["metaflow"].endswith(
        f"@resources(cpu=1, memory={-(-recommendation['memory_bytes']['value'] // 10 ** 6)})\n")
    assert data["context"]["servers"] == []
    assert data["context"]["servers_reason"].startswith("cannot reach http://127.0.0.1:1")


def test_keeper_is_queried_only_on_request(stand_in_reporter, monkeypatch):
    with ResourceTracker(interval=0.1, discover_cloud=False) as tracker:
        tracker.wait_for_samples(1)
    stand_in_reporter()
    pathlib.Path("servers.json").write_text(json.dumps(SERVERS), encoding="utf-8")
    monkeypatch.setenv("SPOOR_KEEPER_TIMEOUT", "60")
    with Keeper() as keeper:
        monkeypatch.setenv("SPOOR_KEEPER_URL", keeper.url)
        assert data_of(tracker.report())["context"]["servers"] == [] and keeper.requests == []
        assert len(data_of(tracker.report(catalog="servers.json"))["context"]["servers"]) == 3
        assert keeper.requests == []
        assert len(data_of(tracker.report(servers=2))["context"]["servers"]) == 2 and len(keeper.requests) == 1


def test_report_shows_the_run_as_ended_after_stop(stand_in_reporter):
    """Bug: a page created after stop() showed "still running"."""
    stand_in_reporter()
    with ResourceTracker(interval=0.05, discover_cloud=False) as finished:
        run = data_of(finished.report())["run"]
        assert run["still_running"] is True and run["exit_code"] is None
    with pytest.raises(KeyError):
        with ResourceTracker(interval=0.05, discover_cloud=False) as failed:
            raise KeyError
    with ResourceTracker(pid=os.getppid(), interval=0.05, discover_cloud=False) as other:
        pass
    for tracker, exit_code in (finished, 0), (failed, 1), (other, None):
        for stopped in tracker, ResourceTracker.loads(tracker.dumps()):
            run = data_of(stopped.report())["run"]
            assert "still_running" not in run and run["exit_code"] == exit_code


def test_recommendation_of_a_short_run_equals_recommend_resources(stand_in_reporter):
    """Bug: the card of a flow of 3 s had no recommendation."""
    with ResourceTracker(interval=0.1, discover_cloud=False) as tracker:
        tracker.wait_for_samples(1)
    stand_in_reporter()
    recommendation = data_of(tracker.report())["context"]["recommendation"]
    assert get_needs(recommendation) == tracker.recommend_resources()
    assert recommendation["note"] == (
        "These amounts follow the formulas of resource-tracker; those of 'spoor recommend' differ.")
    assert recommendation["choices"] == []


@pytest.mark.parametrize("switch", ["track_processes", "track_system"])
def test_report_needs_only_one_table(stand_in_reporter, switch):
    with ResourceTracker(interval=0.1, discover_cloud=False, **{switch: False}) as tracker:
        tracker.wait_for_samples(1)
    stand_in_reporter()
    data = data_of(tracker.report(historical_stats=[LONG]))
    has_process = switch != "track_processes"
    assert ("job_cpu_seconds" in data["curve"]["columns"]) == has_process
    assert ("host_cpu_seconds" in data["curve"]["columns"]) != has_process
    assert (data["context"]["recommendation"] is not None) == has_process


def test_report_without_rows_is_an_error(stand_in_reporter):
    stand_in_reporter()
    with pytest.raises(RuntimeError, match="No metrics collected"):
        ResourceTracker(autostart=False).report()


def test_unknown_integration_is_refused():
    with pytest.raises(ValueError, match="^invalid integration 'x': expected"):
        ResourceTracker(autostart=False).report("x")


# ---- the report from the rows ----

@pytest.fixture
def build(stand_in_reporter):
    """Returns the report of these rows, with its figures and its curve."""
    stand_in_reporter()

    def build(frame, facts=FACTS, server=None, totals=None):
        rows = len(frame["timestamp"])
        server = server or {"gpu_count": 1}
        report = build_report(facts, rows, server, None, totals or {}, {})
        return data_of(make_page(report, build_rows(facts, frame, server["gpu_count"] != 0)))
    return build


def test_rate_of_a_row_is_its_growth_per_second(build):
    curve = build({"timestamp": [START + 1, START + 3], "process_utime": [0.5, 1], "process_stime": [0, 0],
                   "process_disk_read_bytes": [100, None], "system_net_recv_bytes": [5, 0],
                   "process_memory_mib": [3, None], "process_children": [None, 2]})["curve"]
    assert curve["seconds"] == [0, 1, 3]
    assert curve["columns"] == {
        "job_cpu_seconds": {"kind": "rate", "high": [None, 0.5, 0.5]},
        "job_rss_bytes": {"kind": "gauge", "high": [None, 3146000, None]},
        "job_processes": {"kind": "gauge", "high": [None, 1, 3]},
        "job_read_bytes": {"kind": "rate", "high": [None, 100, None]},
        "host_network_received_bytes": {"kind": "rate", "high": [None, 5, 0]}}


def test_unknown_column_is_left_out(build):
    columns = build({"timestamp": [START + 1], "process_memory_mib": [None],
                     "process_children": [3]}, facts={**FACTS, "children": False})["curve"]["columns"]
    assert columns == {}


def test_missing_gpus_are_unknown(build):
    frame = {"timestamp": [START + 1], "process_gpu_vram_mib": [0], "process_gpu_usage": [0]}
    report = build(frame, server={"gpu_count": 0})
    assert report["curve"]["columns"] == {}
    assert report["gpu"]["memory"]["combined_bytes"] == {
        "value": None, "source": None, "exact": False, "reason": "this machine has no GPU"}
    assert build(frame)["gpu"]["memory"]["combined_bytes"]["value"] == 0


def test_clock_set_back_is_handled(build):
    curve = build({"timestamp": [START - 5, START + 2, START + 1], "process_memory_mib": [1, 2, 3]})["curve"]
    assert curve["seconds"][-2:] == [2, 2] and curve["columns"]["job_rss_bytes"]["high"][-1] == 3146000


def test_totals_take_precedence_over_rows(build):
    total = {"value": 3.0, "source": "cgroup.cpu.stat", "exact": True}
    frame = {"timestamp": [START + 5, START + 10], "process_utime": [1, 1], "process_stime": [0.5, 0],
             "process_memory_mib": [1, 1]}
    rows = {"value": 2.5, "source": "samples", "exact": False}
    assert build(frame)["cpu"]["total_seconds"] == rows
    assert build(frame)["cpu"]["mean_cores"] == {**rows, "value": 0.25}
    report = build(frame, totals={"cpu.total_seconds": total})
    assert report["cpu"]["total_seconds"] == total and report["cpu"]["max_cores"]["value"] == 0.3
    assert report["cpu"]["system"]["max_cores"] == {
        "value": None, "source": None, "exact": False, "reason": "not in the samples"}


def test_column_names_of_older_versions_are_accepted(build):
    report = build({"timestamp": [START + 1], "process_utime": [50], "process_stime": [50],
                    "process_memory": [1024], "process_read_bytes": [7]},
                   facts={**FACTS, "dialect": README})
    columns = report["curve"]["columns"]
    assert columns["job_cpu_seconds"]["high"] == [None, 1] and columns["job_rss_bytes"]["high"] == [None, 1049000]
    assert report["cpu"]["total_seconds"]["value"] == 1 and report["io"]["read_bytes"]["value"] == 7


def test_report_contains_facts_of_the_run_and_the_machine():
    report = build_report(FACTS, 1, {
        "os": "Linux", "vcpus": 4, "memory_mib": 1024.0, "gpu_count": 1, "gpu_names": ["T4"],
        "gpu_memory_mib": 16.0, "cpu_model": "m"}, {"vendor": "aws"}, {}, {})
    assert report["schema"] == "spoor/1"
    assert report["run"]["started_at"] == "2026-11-14T23:46:40.000Z"
    assert report["run"]["elapsed_seconds"] == 10 and report["run"]["exit_code"] is None
    assert "still_running" not in report["run"]
    assert report["host"]["cpus"] == 4 and report["host"]["memory_bytes"] == 1 << 30
    assert report["host"]["gpus"][0]["name"] == "T4" and report["gpu"]["count"] == 1
    assert report["host"]["gpus"][0]["memory_bytes"] == 16 * MIB
    assert report["host"]["cloud"] == {"vendor": "aws"}


# ---- additions of an integration ----

STATS = {"process_cpu_usage": {"mean": 1.5, "max": 2.0}, "process_memory_mib": {"mean": 10, "max": 20},
         "process_gpu_usage": {"mean": 0.5, "max": 1}, "process_gpu_vram_mib": {"mean": 1, "max": 2},
         "system_net_recv_bytes": {"sum": 3}, "system_net_sent_bytes": {"sum": 4},
         "timestamp": {"duration": 7200},
         "run_totals": {"memory.combined.total_rss_bytes": 30 * MIB}}


def test_earlier_runs_are_converted_to_base_units():
    assert describe_run(STATS) == {
        "elapsed_seconds": 7200, "cpu_mean_cores": 1.5, "cpu_max_cores": 2.0, "gpu_mean_gpus": 0.5,
        "gpu_max_gpus": 1, "received_bytes": 3, "sent_bytes": 4, "memory_mean_bytes": 10 * MIB,
        "memory_peak_bytes": 30 * MIB, "gpu_memory_peak_bytes": 2 * MIB}
    assert set(describe_run({}).values()) == {None}


def test_unused_gpus_are_left_out():
    idle = {**STATS, "process_gpu_usage": {"mean": 0, "max": 0}, "process_gpu_vram_mib": {"max": 0}}
    for history, value in ([idle], None), ([STATS], 0):
        context = build_context("R", False, history, idle, None, [], None, None, None)
        assert context["current"]["gpu_max_gpus"] == value
        assert context["current"]["gpu_memory_peak_bytes"] == value


def test_unknown_facts_of_a_cloud_are_left_out():
    unknown = {"vendor": "unknown", "instance_type": "unknown", "region": "unknown",
               "discovery_time": 0.1}
    assert describe_cloud(None) is None and describe_cloud(unknown) is None
    assert describe_cloud({**unknown, "vendor": "aws", "region": "eu-west-1"}) == {
        "vendor": "aws", "region": "eu-west-1"}


def test_context_contains_earlier_runs_and_costs():
    server = {"vendor_id": "aws", "api_reference": "a1.large", "vcpus": 2, "memory_amount": 4096,
              "gpu_count": 0, "min_price_ondemand": 0.05}
    context = build_context("Metaflow", True, [STATS], STATS, None, [server], None, 0.5, "shared")
    assert context["status_failed"] is True and context["integration"] == "Metaflow"
    assert context["cost_usd"] == 1.0 and context["current"] == context["historical"][0]
    assert context["servers"] == [{"vendor": "aws", "name": "a1.large", "cpus": 2, "gpus": 0,
                                   "memory_bytes": 4 << 30, "usd_per_hour": 0.05}]
