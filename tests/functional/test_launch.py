# SPDX-License-Identifier: Apache-2.0
"""Runs started by a scheduler or by MPI: every output contains their rank and job."""
import csv
import json
import os
import subprocess

import pytest

import schema

SLURM = {"SLURM_JOB_ID": "1234", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "16",
         "SLURM_LOCALID": "1", "SLURM_NODEID": "2", "SLURM_STEP_NUM_NODES": "4", "SLURMD_NODENAME": "n\u00f63",
         "SLURM_JOB_NAME": "train", "SLURM_CLUSTER_NAME": "alps"}
LAUNCH = {"launcher": "slurm", "scheduler": "slurm", "job": "1234", "step": "0", "rank": 3, "ranks": 16,
          "local_rank": 1, "local_ranks": None, "node": 2, "nodes": 4, "node_name": "n\u00f63", "array_job": None,
          "array_index": None, "restart": None, "job_name": "train", "cluster": "alps"}
LINE = "Rank 3 of 16 on n\u00f63, Slurm job 1234.0"


@pytest.fixture(name="environment")
def fixture_environment():
    """Returns the environment without the variables of a launcher that runs the tests."""
    names = ("SLURM", "PMI", "OMPI", "PBS", "LSB", "FLUX", "JOB_COMPLETION", "_CONDOR")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(names)},
            "LC_ALL": "C.UTF-8", "SPOOR_GROUP": "off"}


def run(spoor, environment, *args):
    done = subprocess.run([spoor.binary, *args], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done


def test_rank_is_part_of_every_output(spoor, environment):
    report, table, text, page = (spoor.new_path(f"run.{suffix}") for suffix in ("json", "csv", "txt", "md"))
    run(spoor, {**environment, **SLURM}, "run", "-q", "-o", report, "-o", table, "-o", text, "-o", page, "--", "true")
    loaded = json.loads(report.read_text())
    schema.check(loaded)
    assert loaded["launch"] == LAUNCH
    [row] = csv.DictReader(table.open(encoding="utf-8"))
    assert {name: row[name] for name in LAUNCH} == {name: "" if value is None else str(value)
                                                    for name, value in LAUNCH.items()}
    assert LINE in text.read_text().splitlines()
    assert f"| Job | {LINE} |" in page.read_text().splitlines()
    assert LINE in run(spoor, environment, "report", "-f", "text", report).stdout
    assert run(spoor, environment, "report", "--print", "{launch.rank}/{launch.ranks}", report).stdout == "3/16\n"
    assert run(spoor, environment, "run", "--print", "{launch.rank}", "--", "true").stderr == "null\n"


def test_report_of_a_run_without_a_launcher_has_no_launch_section(spoor, environment):
    report = spoor.new_path("run.json")
    run(spoor, {**environment, "RANK": "3", "JOB_ID": "7"}, "run", "-q", "-o", report, "--", "true")
    assert "launch" not in json.loads(report.read_text())


def test_launch_of_an_attached_process_comes_from_its_own_environment(spoor, environment):
    report = spoor.new_path("run.json")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**environment, "PMI_RANK": "1", "PMI_SIZE": "2"}) as job:
        run(spoor, {**environment, **SLURM}, "attach", "-q", "-o", report, "--duration", "0.1", str(job.pid))
        job.stdin.close()
    launch = json.loads(report.read_text())["launch"]
    assert (launch["launcher"], launch["scheduler"], launch["rank"], launch["ranks"]) == ("mpich", None, 1, 2)


def test_history_finds_runs_by_scheduler_job(spoor, environment):
    history = spoor.new_path("history")
    for job in ("1234", "5678"):
        run(spoor, {**environment, **SLURM, "SLURM_JOB_ID": job}, "run", "-q", f"--history={history}", "--", "true")
    found = run(spoor, environment, "history", f"--history={history}", "-f", "csv",
                "--columns", "job,launch.rank,ranks,restart", "job=1234").stdout
    assert found.splitlines()[1:] == ["1234,3,16,"]
    again = run(spoor, environment, "report", f"--history={history}", "-f", "json", "@job=1234").stdout
    assert json.loads(again)["launch"] == LAUNCH


def test_brief_report_has_six_lines(spoor, environment):
    report = spoor.new_path("run.json")
    run(spoor, {**environment, **SLURM}, "run", "-q", "-o", report, "--", "true")
    loaded = json.loads(report.read_text())
    loaded["cpu"]["mean_cores"].update(value=1.9)
    loaded["limits"].update(cpus=4, memory_bytes=2 << 30, memory_source="slurm")
    loaded["memory"]["combined"]["total_rss_bytes"].update(value=512 << 20, low=512 << 20, high=512 << 20)
    loaded["memory"]["job_peak_bytes"].update(value=None)
    loaded["run"].update(started_at="2026-03-14T09:26:53.589Z", elapsed_seconds=300, exit_code=3)
    report.write_text(json.dumps(loaded))
    assert run(spoor, environment, "report", "--brief", report).stdout.splitlines() == [
        f"Job          {LINE}: true",
        "State        exit code 3, started 2026-03-14 09:26:53 UTC",
        "Wall time    5 min 00 s",
        "Cores        1.90 of 4 used on average (48 %)",
        "Memory       537 MB of 2 GiB used at peak (25 %)",
        "GPUs         none"]
    loaded["limits"].update(cpus=None, memory_bytes=None)
    loaded["cpu"]["mean_cores"].update(value=None)
    report.write_text(json.dumps(loaded))
    assert run(spoor, environment, "report", "--brief", report).stdout.splitlines()[3:5] == [
        "Cores        n/a used on average", "Memory       537 MB used at peak, no limit"]


@pytest.mark.parametrize("other, message", [
    (["-f", "json"], "--brief and --format cannot be combined"), (["--text"], "--text and --brief cannot be combined"),
    (["-o", "a.json"], "--brief cannot write 'a.json': name a .txt file, or omit --brief")], ids=str)
def test_brief_report_refuses_other_formats_and_outputs(spoor, other, message):
    done = spoor("report", "--brief", *other, "x.json")
    assert done.returncode == 125 and message in done.stderr


def test_request_for_a_group_contains_nodes_and_tasks(spoor, environment):
    folder = spoor.new_path("group")
    for rank in ("0", "1"):
        run(spoor, {**environment, "PMI_RANK": rank, "PMI_SIZE": "2"}, "run", "-q", "--group", folder, "--", "true")
    for name in ("slurm", "sbatch"):
        lines = run(spoor, environment, "recommend", "--for", name, folder / "merged.json").stdout.splitlines()
        assert lines[1:4] == ["#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=2", "#SBATCH --cpus-per-task=1"]
    line = run(spoor, environment, "report", "--brief", folder / "merged.json").stdout.splitlines()[0]
    assert line == "Job          2 ranks, MPICH: true"
