# SPDX-License-Identifier: Apache-2.0
"""spoor run --max and --on-exit, and file names that contain fields of the run."""
import os
import re
import signal

import pytest

from conftest import load

pytestmark = pytest.mark.any_user


def run(spoor, *arguments, **options):
    return spoor("run", "-q", *arguments, **options)


def test_exceeded_limit_sets_the_exit_code_of_a_successful_job(spoor):
    done = run(spoor, "--max", "memory=1K", "--max", "time=1h", "--", "true")
    assert done.returncode == 1
    assert re.fullmatch(r"spoor: limit broken: memory: .* is more than 1.02 kB.*\n", done.stderr)
    assert run(spoor, "--max", "memory=1T", "--", "true").returncode == 0
    assert run(spoor, "--max", "memory=1K", "--", "sh", "-c", "exit 7").returncode == 7
    assert run(spoor, "--max", "memory=1K", "--", "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL


def test_invalid_limit_is_refused_before_the_job_starts(spoor):
    done = run(spoor, "--max", "memory=much", "--", "echo", "started")
    assert (done.returncode, done.stdout) == (125, "")
    assert "invalid value 'much' of memory: expected a size" in done.stderr


def test_on_exit_command_gets_the_figures_of_the_run(spoor):
    report, to = spoor.new_path("report.json"), spoor.new_path("environment")
    done = run(spoor, "-o", report, "--name", "two words", "--on-exit",
               f"env >{to}; test -s \"$SPOOR_RUN_REPORT\" && echo found; exit 9", "--", "sh", "-c", "exit 3")
    assert (done.returncode, done.stdout) == (3, "")
    assert "found\n" in done.stderr and "--on-exit: the command ended with exit code 9" in done.stderr
    variables = dict(line.split("=", 1) for line in to.read_text().splitlines() if line.startswith("SPOOR_RUN_"))
    found = load(report)
    assert variables["SPOOR_RUN_ID"] == found["run"]["id"]
    assert variables["SPOOR_RUN_NAME"] == "two words"
    assert variables["SPOOR_RUN_EXIT_CODE"] == "3"
    assert variables["SPOOR_RUN_COMMAND"] == "sh -c 'exit 3'"
    assert float(variables["SPOOR_RUN_TIME"]) == found["run"]["elapsed_seconds"]
    assert float(variables["SPOOR_RUN_MEMORY"]) == found["memory"]["combined"]["total_rss_bytes"]["value"]
    assert variables["SPOOR_RUN_REPORT"] == str(report)


def test_on_exit_command_runs_with_default_signals(spoor):
    # The job is killed, and so is the --on-exit command: neither affects the other.
    done = run(spoor, "--on-exit", "echo called; kill -INT $$", "--", "sh", "-c", "kill -TERM $$")
    assert done.returncode == -signal.SIGTERM
    assert "called\n" in done.stderr and "killed by signal 2" in done.stderr


def test_placeholders_in_file_names_are_replaced_by_properties_of_the_run(spoor):
    folder = spoor.new_path("folder")
    folder.mkdir()
    done = run(spoor, "--name", "a/b", "--tag", "v=2", "-o", "{name}-{tag.v}-{rank}-{job}-{step}-{node}-{host}-{pid}-{id}.json",
               "--samples", "{date}-{time}-{id}.csv", "--report", "{{{id}}}.html", "--", "true", cwd=folder,
               env={**os.environ, "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "1", "SLURM_PROCID": "3", "SLURMD_NODENAME": "n/3"})
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(os.listdir(folder))
    report = next(name for name in names if name.endswith(".json"))
    run_id = load(folder / report)["run"]["id"]
    assert re.fullmatch(rf"a_b-2-3-77-1-n_3-{re.escape(os.uname().nodename)}-\d+-{run_id}\.json", report)
    assert f"{{{run_id}}}.html" in names
    samples = next(name for name in names if name.endswith(".csv"))
    assert re.fullmatch(rf"20\d\d-\d\d-\d\d-\d{{6}}-{run_id}\.csv", samples)
    assert run_id in (folder / samples).read_text()


@pytest.mark.parametrize("name, message", [
    ("{color}.json", "unknown {color}: use {name}"), ("{name}.json", "{name}: the run has none; give it with --name"),
    ("{tag.x}.json", "{tag.x}: the run has none; give it with --tag"), ("{id.json", "a brace is not closed"),
    ("{}.json", "unknown {}")])
def test_unknown_placeholders_in_file_names_are_refused(spoor, name, message):
    done = run(spoor, "-o", name, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (125, "")
    assert message in done.stderr
