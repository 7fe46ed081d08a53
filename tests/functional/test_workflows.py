# SPDX-License-Identifier: Apache-2.0
"""Reports in the formats of workflow systems and schedulers."""
import base64
import gzip
import json
import re

import made_up_ranks
import pytest

from conftest import load
from nextflow import parse_trace

pytestmark = pytest.mark.any_user

MIB = 1 << 20


def report_of(spoor, *command, **run):
    """Stores a report with members of its section "run" replaced by `run`; returns its path and
    content."""
    path = spoor.new_path("r.json")
    assert spoor("run", "-q", "-o", path, "--", *command).returncode in (0, 3)
    report = load(path)
    report["run"].update(run)
    path.write_text(json.dumps(report))
    return path, report


def value_of(report, path):
    for name in path.split("."):
        report = report[name]
    return report["value"]


# ---- Snakemake --------------------------------------------------------------

COLUMNS = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split()


def rows_of(text):
    header, *rows = [line.split("\t") for line in text.splitlines()]
    assert header == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def test_snakemake_table_contains_the_figures_of_the_report(spoor):
    path, report = report_of(spoor, "sh", "-c", "head -c 3000000 /dev/zero | tail >/dev/null", elapsed_seconds=7384.56789)
    [row] = rows_of(spoor("report", "-f", "snakemake", path).stdout)
    assert (row["s"], row["h:m:s"], row["max_vms"]) == ("7384.5679", "2:03:04", "NA")
    for column, figure, unit in (("max_rss", "memory.combined.total_rss_bytes", MIB), ("io_in", "io.read_bytes", MIB),
                                 ("max_uss", "memory.combined.private_rss_bytes", MIB), ("io_out", "io.written_bytes", MIB),
                                 ("max_pss", "memory.combined.pss_bytes", MIB), ("mean_load", "cpu.mean_cores", 0.01),
                                 ("cpu_time", "cpu.total_seconds", 1)):
        value = value_of(report, figure)
        assert row[column] == ("NA" if value is None else f"{value / unit:.2f}"), column


@pytest.mark.parametrize("seconds, clock", [(59.99, "0:00:59"), (86400, "1 day, 0:00:00"), (200000, "2 days, 7:33:20")])
def test_times_are_formatted_as_by_snakemake(spoor, seconds, clock):
    path, _ = report_of(spoor, "true", elapsed_seconds=seconds)
    assert rows_of(spoor("report", "-f", "snakemake", path).stdout)[0]["h:m:s"] == clock


@pytest.mark.parametrize("dialect, seconds", [("snakemake-7", "1.2346"), ("snakemake-8", "1.2346"), ("snakemake-9", "1.23")])
def test_dialect_selects_the_version_of_the_snakemake_table(spoor, dialect, seconds):
    path, _ = report_of(spoor, "true", elapsed_seconds=1.23456)
    assert rows_of(spoor("report", "-f", "snakemake", "--dialect", dialect, path).stdout)[0]["s"] == seconds


def test_runs_are_appended_below_one_header(spoor, tmp_path):
    """Reports are appended as repetitions of a benchmark; the samples of a run keep their own
    columns."""
    for _ in range(2):
        spoor("run", "-q", "--append", "-f", "snakemake", "--dialect", "snakemake-9", "-o", tmp_path / "table.tsv",
              "--samples", tmp_path / "samples.csv", "--", "true")
    assert len(rows_of((tmp_path / "table.tsv").read_text())) == 2
    assert "job_cpu_seconds" in (tmp_path / "samples.csv").read_text()


@pytest.mark.parametrize("command", [["run", "--dialect", "snakemake-9", "--", "true"],
                                     ["run", "-f", "json", "--dialect", "snakemake-9", "--", "true"]])
def test_dialect_of_snakemake_is_refused_with_another_format(spoor, command):
    done = spoor(*command)
    assert (done.returncode, done.stderr) == (125, "spoor: --dialect snakemake-9 requires -f snakemake\n")


# ---- Nextflow ---------------------------------------------------------------

def test_nextflow_reads_the_figures_of_the_report(spoor):
    path, report = report_of(spoor, "sh", "-c", "head -c 3000000 /dev/zero | tail >/dev/null", elapsed_seconds=7384.56789)
    text = spoor("report", "-f", "nextflow", path).stdout
    trace = parse_trace(text)
    assert trace["realtime"] == 7384568 and trace["cpu_model"] == report["host"]["cpu_model"]
    assert trace["%cpu"] == pytest.approx(100 * value_of(report, "cpu.mean_cores"), abs=0.06)
    rss = value_of(report, "memory.combined.total_rss_bytes")
    assert trace["rss"] == trace["peak_rss"] == pytest.approx(rss, abs=512)
    assert trace["%mem"] == pytest.approx(100 * rss / report["host"]["memory_bytes"], abs=0.06)
    for name, figure in (("rchar", "io.read_chars"), ("wchar", "io.written_chars"), ("read_bytes", "io.read_bytes"),
                         ("write_bytes", "io.written_bytes"), ("vol_ctxt", "cpu.context_switches.voluntary"),
                         ("inv_ctxt", "cpu.context_switches.involuntary")):
        assert trace.get(name) == value_of(report, figure), name
    assert len(text.splitlines()) == 1 + len(trace)  # each name occurs once


def test_unknown_figures_are_left_out_for_nextflow(spoor):
    path, report = report_of(spoor, "true")
    report["io"]["read_chars"] = {"value": None, "reason": "for a test"}
    report["host"]["cpu_model"] = "a=b\nrss=7"
    path.write_text(json.dumps(report))
    trace = parse_trace(spoor("report", "-f", "nextflow", path).stdout)
    assert "rchar" not in trace and trace["cpu_model"] == "a" and trace["rss"] > 8192


# ---- Slurm ------------------------------------------------------------------

def measured(value):
    return {"value": value, "source": "made.up", "exact": True}


def slurm_report(spoor, **run):
    """Stores the report of a Slurm job with 3 CPUs, 4 GiB, two hours and one of two GPUs."""
    path, report = report_of(spoor, "true", user="ada", host="n01", elapsed_seconds=7384.0, **run)
    report["launch"] = {**made_up_ranks.launch(0, 1, 1), "job": "77", "cluster": "big"}
    report["limits"].update(cpus=3, memory_bytes=4 << 30, memory_source="slurm", cpus_source="slurm")
    report["cpu"]["total_seconds"] = measured(90000)
    report["memory"]["combined"]["total_rss_bytes"] = measured(1 << 30)
    gpus = [{"index": index, "uuid": f"GPU-{index}", "name": "x", "memory_bytes": 80 << 30} for index in range(2)]
    report["host"]["gpus"] = gpus
    report["gpu"].update(count=2, devices=[{**gpus[1], "memory": {"peak_bytes": measured(20 << 30)},
                                            "utilization": {"mean": measured(0.25)}}])
    path.write_text(json.dumps(report))
    return path, report


def test_seff_format_has_the_same_layout_as_slurms_seff(spoor):
    path, _ = slurm_report(spoor)
    assert spoor("report", "-f", "seff", path).stdout == """\
Job ID: 77
Cluster: big
User/Group: ada
State: COMPLETED (exit code 0)
Nodes: 1
Cores per node: 3
CPU Utilized: 1-01:00:00
CPU Efficiency: 406.28% of 06:09:12 core-walltime
Job Wall-clock time: 02:03:04
Memory Utilized: 1.00 GB
Memory Efficiency: 25.00% of 4.00 GB (4.00 GB/node)
"""


@pytest.mark.parametrize("run, kills, state", [
    ({"exit_code": 7}, 0, "FAILED (exit code 7)"), ({"exit_code": 137}, 1, "OUT_OF_MEMORY (exit code 137)"),
    ({"exit_code": None}, 0, "UNKNOWN"), ({"exit_code": None, "still_running": True}, 0, "RUNNING")])
def test_seff_format_contains_the_state_of_the_job(spoor, run, kills, state):
    path, report = slurm_report(spoor, **run)
    report["events"]["oom_kills"] = measured(kills)
    report["limits"]["cpus"] = 1
    report["launch"].update(array_job="70", array_index=3)
    path.write_text(json.dumps(report))
    lines = spoor("report", "-f", "seff", path).stdout.splitlines()
    assert f"State: {state}" in lines and "Cores: 1" in lines and "Array Job ID: 70_3" in lines


def statistics_of(text):
    """Decodes an AdminComment as jobstats and reportseff do."""
    assert re.fullmatch(r"JS1:[A-Za-z0-9+/]+=*\n", text)
    return json.loads(gzip.decompress(base64.b64decode(text.strip()[4:])))


def efficiency_of(data):
    """Returns {node: (CPU, memory, {GPU: (utilization, memory)})} in percent, computed as in
    reportseff."""
    found = {}
    for name, node in data["nodes"].items():
        gpus = {gpu: (node["gpu_utilization"].get(gpu, 0), 100 * node["gpu_used_memory"].get(gpu, 0) / total)
                for gpu, total in node.get("gpu_total_memory", {}).items()} if data["gpus"] else {}
        found[name] = (100 * node["total_time"] / node["cpus"] / data["total_time"],
                       100 * node["used_memory"] / node["total_memory"], gpus)
    return found


def test_jobstats_and_reportseff_can_read_the_comment(spoor):
    path, _ = slurm_report(spoor)
    data = statistics_of(spoor("report", "-f", "jobstats", path).stdout)
    assert data == {"total_time": 7384, "gpus": 1, "nodes": {"n01": {
        "total_memory": 4 << 30, "used_memory": 1 << 30, "total_time": 90000, "cpus": 3, "gpu_total_memory": {"1": 80 << 30},
        "gpu_used_memory": {"1": 20 << 30}, "gpu_utilization": {"1": 25}}}}
    assert efficiency_of(data) == {"n01": (pytest.approx(100 * 90000 / 3 / 7384), 25, {"1": (25, 25)})}


def test_unknown_figures_are_not_written_as_0_for_slurm(spoor):
    path, report = slurm_report(spoor)
    report["memory"]["combined"]["total_rss_bytes"] = report["cpu"]["total_seconds"] = {"value": None, "reason": "for a test"}
    report["gpu"]["devices"] = []
    path.write_text(json.dumps(report))
    assert statistics_of(spoor("report", "-f", "jobstats", path).stdout) == {
        "nodes": {"n01": {"cpus": 3}}, "total_time": 7384, "gpus": 0}
    text = spoor("report", "-f", "seff", path).stdout
    assert "CPU Utilized: unknown\nCPU Efficiency: unknown of 06:09:12 core-walltime\n" in text
    assert "Memory Utilized: unknown\nMemory Efficiency: unknown of 4.00 GB (4.00 GB/node)\n" in text


def test_ranks_are_summed_by_node_for_slurm(spoor, tmp_path):
    """Also tests the comment of 1,000 nodes, which is longer than a gzip block."""
    folder = made_up_ranks.write(tmp_path / "group")
    text = spoor("merge", "-f", "seff", "-o", "-", folder).stdout
    assert "\nNodes: 4\n" in text and "CPU Utilized: 00:06:40\n" in text and f"Memory Utilized: {4e9 / 2**30:.2f} GB\n" in text
    assert f"% of {8e9 / 2**30:.2f} GB ({2e9 / 2**30:.2f} GB/node)\n" in text
    data = statistics_of(spoor("merge", "-f", "jobstats", "-o", "-", folder).stdout)
    assert {name: (node["total_time"], node["used_memory"]) for name, node in data["nodes"].items()} == {
        f"n{node:02}": (100, 1000 * made_up_ranks.MB) for node in range(4)}
    data = statistics_of(spoor("merge", "-f", "jobstats", "-o", "-", made_up_ranks.write(tmp_path / "large", 1000, 1000)).stdout)
    assert len(json.dumps(data)) > 1 << 16 and len(data["nodes"]) == 1000


# ---- Chrome trace -----------------------------------------------------------

def check_nesting(slices):
    """Checks that slices of a track end before the next one begins, or within the enclosing
    slice."""
    open_ends = []
    for start, end in sorted(slices, key=lambda slice: (slice[0], -slice[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1]
        open_ends.append(end)


def events_of(text):
    """Returns the events by kind, and checks that they follow the rules of the trace event
    format."""
    document = json.loads(text)
    assert document["displayTimeUnit"] in ("ms", "ns")
    kinds, slices, begun = {}, {}, {}
    for event in document["traceEvents"]:
        kinds.setdefault(event["ph"], []).append(event)
        assert all(type(event[key]) is int and 0 <= event[key] < 1 << 32 for key in ("pid", "tid")) and event["name"]
        assert event["ph"] == "M" or (type(event["ts"]) is int and event["ts"] >= 0)
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "C":
            assert event["args"] and all(type(value) in (int, float) for value in event["args"].values())
        elif event["ph"] == "M":
            assert set(event["args"]) == {{"process_name": "name", "process_sort_index": "sort_index"}[event["name"]]}
        elif event["ph"] == "b":
            begun[event["pid"], event["cat"], event["id"]] = event
        else:
            assert event["ph"] == "e"
            begin = begun.pop((event["pid"], event["cat"], event["id"]))
            assert begin["name"] == event["name"] and begin["ts"] <= event["ts"]
    assert not begun
    for track in slices.values():
        check_nesting(track)
    return kinds


def test_trace_contains_processes_phases_and_counters(spoor):
    path, trace = spoor.new_path("r.json"), spoor.new_path("trace.json")
    spoor("run", "-q", "-i", "10ms", "-o", path, "--", "sh", "-c", '"$0" phase start "a\t1"; "$0" phase start b; sleep 0.1; '
          '"$0" phase stop "a\t1"; head -c 50000000 /dev/zero | tail >/dev/null; "$0" phase stop b', spoor.binary)
    report = load(path)
    assert spoor("report", "-f", "trace", "-o", trace, path).returncode == 0
    kinds = events_of(trace.read_text())
    processes = report["processes"]["largest"]
    assert {event["pid"]: (event["name"], event["args"]["peak_rss_bytes"]) for event in kinds["X"]} == {
        process["pid"]: (process["command"], process["peak_rss_bytes"]) for process in processes}
    times = {process["pid"]: (process["started_seconds"], process["ended_seconds"]) for process in processes}
    for event in kinds["X"]:
        assert (event["ts"], event["ts"] + event["dur"]) == pytest.approx(
            tuple(1e6 * seconds for seconds in times[event["pid"]]), abs=1000)
    assert [event["name"] for event in kinds["b"]] == [phase["name"] for phase in report["phases"]] == ["a\t1", "b"]
    [job] = {event["pid"] for event in kinds["C"]}
    assert job > 1 << 22 and job in {event["pid"] for event in kinds["M"]}
    highest = max(event["args"]["value"] for event in kinds["C"] if event["name"] == "job_rss_bytes")
    assert highest == pytest.approx(max(filter(None, report["curve"]["columns"]["job_rss_bytes"]["high"])))
    assert any(event["name"] == "job_cpu_seconds" and event["args"]["per second"] > 0 for event in kinds["C"])


def test_trace_contains_counters_for_gpus(spoor):
    path, report = slurm_report(spoor)
    report["curve"] = {"samples": 2, "seconds": [1.0, 2.0], "columns": {
        "gpu1_utilization": {"kind": "gauge", "high": [0.5, None]}, "host_cpu_seconds": {"kind": "rate", "high": [1, 1]}}}
    path.write_text(json.dumps(report))
    [counter] = events_of(spoor("report", "-f", "trace", "-o", "-", path).stdout)["C"]
    assert (counter["name"], counter["ts"], counter["args"]) == ("gpu1_utilization", 0, {"value": 0.5})


def test_runs_in_a_trace_have_their_own_tracks_and_times(spoor):
    first, report = report_of(spoor, "true", started_at="2026-11-18T06:00:00.000Z")
    report["run"]["started_at"] = "2026-11-18T06:00:10.000Z"
    second = spoor.new_path("r.json")
    second.write_text(json.dumps(report))
    slices = events_of(spoor("report", "-f", "trace", "-o", "-", first, second).stdout)["X"]
    assert len({event["pid"] for event in slices}) == len(slices) == 2
    assert slices[1]["ts"] - slices[0]["ts"] == 10000000 and slices[0]["args"]["pid"] == slices[1]["args"]["pid"]


def test_process_started_before_the_run_begins_at_the_start_of_the_trace(spoor):
    path, report = report_of(spoor, "true", elapsed_seconds=5.0)
    [process] = report["processes"]["largest"]
    process.update(started_seconds=-100.5, ended_seconds=None)
    path.write_text(json.dumps(report))
    [event] = events_of(spoor("report", "-f", "trace", "-o", "-", path).stdout)["X"]
    assert (event["ts"], event["dur"]) == (0, 5000000)


# ---- all of them ------------------------------------------------------------

def test_every_format_accepts_a_report_with_absurd_numbers(spoor):
    path, report = report_of(spoor, "true", elapsed_seconds=1e300)
    report["host"]["memory_bytes"] = 0
    report["processes"]["largest"][0].update(started_seconds=-1e300, ended_seconds=1e300)
    path.write_text(json.dumps(report))

    def written(name):
        return spoor("report", "-f", name, "-o", "-", path).stdout
    assert "%mem" not in parse_trace(written("nextflow"))
    assert rows_of(written("snakemake"))[0]["h:m:s"] == "104249991374 days, 7:36:32"
    assert "Job Wall-clock time: 104249991374-07:36:32\n" in written("seff")
    assert statistics_of(written("jobstats"))["total_time"] == 1e300
    assert max(event["ts"] + event["dur"] for event in events_of(written("trace"))["X"]) == 1 << 53
