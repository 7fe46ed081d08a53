# SPDX-License-Identifier: Apache-2.0
"""The cgroup in which the tracker was started: it is read if the job gets none of its own, as in
a Slurm step."""
import os

import pytest

from cgroups import HIERARCHIES
from conftest import cpu_time, eventually, load, read_line, wait_for_samples, warnings_of

MIB = 1 << 20
STEP = {"SLURM_JOB_ID": "7"}
NO_OWN = "the cgroups of a Slurm step are managed by Slurm"


@pytest.fixture
def step(spoor, group):
    """Creates a cgroup in every hierarchy, as Slurm does for a step."""
    job = group(*HIERARCHIES)
    options = {"env": {**os.environ, **STEP}, "preexec_fn": job.add}
    job.result = lambda *command: spoor.result(*command, **options)
    job.start = lambda *arguments: spoor.start(*arguments, **options)
    return job


def test_cpu_time_comes_from_the_cgroup_of_the_step(step, workload):
    """The job's CPU time does not include the tracker's."""
    done, result = step.result(workload("burn"), "0.4", "2")
    cpu = result["cpu"]["total_seconds"]
    assert cpu["source"] == "cgroup.cpu.stat" and cpu["exact"]
    assert cpu["value"] == cpu_time(float(done.stdout))


def test_memory_comes_from_the_cgroup_of_the_step(step, workload):
    if "memory" not in HIERARCHIES:
        pytest.skip("needs a memory cgroup of version 1")
    _, result = step.result(workload("hold"), "200")
    peak = result["memory"]["job_peak_bytes"]
    assert peak["exact"] and peak["source"] == "cgroup.memory.max_usage_in_bytes"
    assert peak["value"] == pytest.approx(200 * MIB, rel=0.02)
    assert not result["warnings"]


def test_limit_of_the_step_is_the_limit_of_the_job(step):
    if "memory" not in HIERARCHIES:
        pytest.skip("needs a memory cgroup of version 1")
    (step.path("memory") / "memory.limit_in_bytes").write_text(str(512 * MIB), encoding="ascii")
    _, result = step.result("true")
    assert result["limits"]["memory_bytes"] == 512 * MIB
    assert result["limits"]["memory_source"] == "cgroup.memory.limit_in_bytes"


def test_cgroup_of_the_step_is_not_changed(step):
    before = [sorted(entry.name for entry in step.path(tree).iterdir()) for tree in step.trees]
    done, _ = step.result("sh", "-c", "ls -d " + " ".join(
        f"{step.path(tree)}/spoor*" for tree in step.trees))
    assert done.returncode == 2 and not done.stdout
    assert [sorted(entry.name for entry in step.path(tree).iterdir()) for tree in step.trees] == before


def test_cgroup_of_a_step_with_foreign_processes_gives_only_an_upper_bound(step, group, workload):
    other = group.start(step, workload("hold"), "50")
    assert read_line(other.stdout)
    _, result = step.result(workload("hold"), "20")
    assert result["cpu"]["total_seconds"]["source"] == "wait4"
    peak = result["memory"]["job_peak_bytes"]
    assert peak["value"] is None and peak["reason"] == NO_OWN
    if "memory" in HIERARCHIES:
        assert 70 * MIB <= peak["high"] <= 100 * MIB


def test_foreign_processes_that_enter_the_step_later_make_its_counts_inexact(spoor, step, group, workload):
    path = spoor.new_path("result.json")
    tracker = step.start("run", "-q", "-i", "0.02", "-o", path, "--", workload("hold"), "100")
    assert read_line(tracker.stdout)
    wait_for_samples(tracker.pid)
    other = group.start(step, workload("hold"), "300")
    assert read_line(other.stdout)
    wait_for_samples(tracker.pid)
    tracker.stdin.close()
    assert tracker.wait() == 0
    result = load(path)
    assert result["cpu"]["total_seconds"]["source"] == "wait4"
    if "memory" in HIERARCHIES:
        peak = result["memory"]["job_peak_bytes"]
        assert not peak["exact"]
        assert peak["value"] == pytest.approx(100 * MIB, rel=0.1)
        assert peak["high"] >= 400 * MIB


def test_processes_that_leave_the_cgroup_of_the_step_are_counted(spoor, step, workload):
    """A container runtime moves its processes to another cgroup."""
    if "memory" not in HIERARCHIES:
        pytest.skip("moves a process to another memory cgroup of version 1")
    root, path = HIERARCHIES["memory"] / "cgroup.procs", spoor.new_path("result.json")
    tracker = step.start("run", "-q", "-i", "0.02", "-o", path, "--", "sh", "-c",
                         f"echo $$ >{root}; exec {workload('hold')} 100")
    assert read_line(tracker.stdout)
    wait_for_samples(tracker.pid)
    tracker.stdin.close()
    assert tracker.wait() == 0
    result = load(path)
    assert "left-cgroup" in warnings_of(result)
    assert not result["memory"]["job_peak_bytes"]["exact"]


def test_doctor_names_the_cgroup_of_the_step(spoor, step):
    done = spoor("doctor", env={**os.environ, **STEP}, preexec_fn=step.add)
    assert "the cgroup around spoor" in done.stdout
    eventually(lambda: step.path().exists(), "it is still there")


def test_doctor_names_no_cgroup_outside_a_step(spoor):
    assert "the cgroup around spoor" not in spoor("doctor").stdout
