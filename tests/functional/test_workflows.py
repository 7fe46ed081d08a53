# SPDX-License-Identifier: Apache-2.0
"""Reports in the formats of workflow systems and schedulers."""
import json

import pytest

from conftest import load
from nextflow import parse_trace

pytestmark = pytest.mark.any_user

MIB = 1 << 20


def report_of(spoor, *command, **run):
    """The path of a report, and its content; `run` replaces members of its section run."""
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


def test_a_table_of_snakemake_has_the_figures_of_the_report(spoor):
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
def test_a_time_is_written_as_snakemake_does(spoor, seconds, clock):
    path, _ = report_of(spoor, "true", elapsed_seconds=seconds)
    assert rows_of(spoor("report", "-f", "snakemake", path).stdout)[0]["h:m:s"] == clock


@pytest.mark.parametrize("dialect, seconds", [("snakemake-7", "1.2346"), ("snakemake-8", "1.2346"), ("snakemake-9", "1.23")])
def test_a_dialect_selects_the_version_of_the_table(spoor, dialect, seconds):
    path, _ = report_of(spoor, "true", elapsed_seconds=1.23456)
    assert rows_of(spoor("report", "-f", "snakemake", "--dialect", dialect, path).stdout)[0]["s"] == seconds


def test_runs_are_appended_below_one_header(spoor, tmp_path):
    """As repetitions of a benchmark; the samples of a run keep their own columns."""
    for _ in range(2):
        spoor("run", "-q", "--append", "-f", "snakemake", "--dialect", "snakemake-9", "-o", tmp_path / "table.tsv",
              "--samples", tmp_path / "samples.csv", "--", "true")
    assert len(rows_of((tmp_path / "table.tsv").read_text())) == 2
    assert "job_cpu_seconds" in (tmp_path / "samples.csv").read_text()


@pytest.mark.parametrize("command", [["run", "--dialect", "snakemake-9", "--", "true"],
                                     ["run", "-f", "json", "--dialect", "snakemake-9", "--", "true"]])
def test_a_version_without_its_format_is_refused(spoor, command):
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
    assert len(text.splitlines()) == 1 + len(trace)  # no name is there twice


def test_nextflow_gets_no_line_of_a_figure_that_is_unknown(spoor):
    path, report = report_of(spoor, "true")
    report["io"]["read_chars"] = {"value": None, "reason": "for a test"}
    report["host"]["cpu_model"] = "a=b\nrss=7"
    path.write_text(json.dumps(report))
    trace = parse_trace(spoor("report", "-f", "nextflow", path).stdout)
    assert "rchar" not in trace and trace["cpu_model"] == "a" and trace["rss"] > 8192
