# SPDX-License-Identifier: Apache-2.0
"""spoor in steps of a real Slurm."""
import json
import os
import re

import pytest
import slurm
from conftest import TOP
from ranks import CHARGED_FLOOR, CHARGED_TOLERANCE, MB, SIZES, Group, build_programs, check_ranks, is_near, truths

NOBODY = 65534
pytestmark = pytest.mark.skipif(bool(slurm.missing_program()), reason=slurm.missing_program())
# The ranks use 100, 200, 300 and 400 MB.
STEADY = "export TRUTH=truth.$SLURM_PROCID; exec $BIN/spoor run -q -- $BIN/steady $((100 * SLURM_PROCID + 100)) 500"
RANK = "export TRUTH=truth.${0}; exec $BIN/spoor run -q -i 0.2 -- $BIN/rank {0} 4 {1} 600"


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster():
    with slurm.cluster() as cluster:
        build_programs(cluster.folder)
        cluster.environment |= {"BIN": str(cluster.folder), "TRUTH": "/dev/null"}
        yield cluster


@pytest.fixture(name="limited", scope="module", autouse=True)
def fixture_limited(cluster, tmp_path_factory):
    """Starts a job that reaches Slurm's shortest time limit, one minute, while the other tests
    run."""
    folder = tmp_path_factory.mktemp("limited")
    return folder, cluster.submit(folder, "srun -n 2 $BIN/spoor run -q -- sh -c '$BIN/steady 50 200; exec sleep 600'",
                                  "--time=1", "-n2")


def need_cgroups():
    if slurm.missing_controller():
        pytest.skip(slurm.missing_controller())


def check_cgroup_peak(report, true_bytes):
    """Checks that the peak of the task's cgroup includes this rank only."""
    peak = report["memory"]["job_peak_bytes"]
    if slurm.missing_controller():
        assert peak["value"] is None
    else:
        assert peak["exact"] and is_near(peak["value"], true_bytes, CHARGED_TOLERANCE, CHARGED_FLOOR), peak


def test_ranks_on_two_nodes_are_merged(cluster, tmp_path):
    cluster.srun("-N2", "-n4", "--ntasks-per-node=2", "-J", "steady", "sh", "-c", STEADY, folder=tmp_path)
    group, true = Group(tmp_path), truths(tmp_path)
    assert [path.name for path in group.files] == ["node1.jsonl", "node2.jsonl"]
    merged = check_ranks(group, true)
    job = group.ranks[0]["launch"]["job"]
    assert group.folder.name == f"spoor-{job}.0"
    for rank, report in group.ranks.items():
        launch = report["launch"]
        assert launch["restart"] in (None, 0) and launch["local_ranks"] in (None, 2)  # depends on the version of Slurm
        assert {key: value for key, value in launch.items()
                if value is not None and key not in ("restart", "local_ranks")} == {
            "launcher": "slurm", "scheduler": "slurm", "job": job, "step": "0", "rank": rank, "ranks": 4,
            "local_rank": rank % 2, "node": rank // 2, "nodes": 2, "node_name": f"node{rank // 2 + 1}",
            "job_name": "steady", "cluster": "truth"}
        check_cgroup_peak(report, true[rank]["peak_rss_bytes"])
        assert report["limits"]["memory_bytes"] == 3000 << 20
    assert [(node["host"], node["ranks"], node["reported"]) for node in merged["nodes"]] == [("node1", 2, 2), ("node2", 2, 2)]
    assert merged["group"]["deciding_node"] == "node2"
    memory = merged["memory"]["combined"]["total_rss_bytes"]
    assert is_near(memory["high"] or memory["value"], SIZES[2] + SIZES[3], 0.05, 0), memory


def test_ranks_of_an_unprivileged_user_are_merged(cluster, tmp_path):
    """Slurm makes the user of the job the owner of a task's cgroups."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    os.chown(tmp_path, NOBODY, NOBODY)
    cluster.srun("-n2", "sh", "-c", STEADY, folder=tmp_path, user=NOBODY, group=NOBODY, extra_groups=[])
    group, true = Group(tmp_path), truths(tmp_path)
    check_ranks(group, true)
    for rank, report in group.ranks.items():
        check_cgroup_peak(report, true[rank]["peak_rss_bytes"])


@pytest.mark.parametrize("order, expected", [("together", 1000 * MB), ("in-turn", 400 * MB)])
def test_memory_of_a_node_matches_the_truth(cluster, tmp_path, order, expected):
    """In both cases, Slurm reports at most the largest task: 400 MB. It samples, so a busy machine may show less."""
    # If the job ends before Slurm has gathered the figures of a step, the step has none.
    job = cluster.submit(tmp_path, f"srun sh -c '{RANK.format('SLURM_PROCID', order)}'\n"
                         "until sacct -n -P -j $SLURM_JOB_ID.0 -o MaxRSS | grep -q K; do sleep 0.1; done", "-N1", "-n4")
    maximum = int(cluster.sacct(job, "MaxRSS")[f"{job}.0"]["MaxRSS"].rstrip("K")) << 10
    merged = check_ranks(Group(tmp_path), truths(tmp_path))
    memory = merged["memory"]["combined"]["total_rss_bytes"]
    assert is_near(memory["value"], expected, 0.05, 0), memory
    assert 0 < maximum <= 1.05 * SIZES[3]


def test_report_of_an_array_job_has_its_array_index(cluster, tmp_path):
    """Each element of the array is a job; its report contains the number of the array."""
    job = cluster.submit(tmp_path, "$BIN/spoor run -q -o run.{job}.json -- $BIN/steady 50 100", "--array=3,5", "--mem=200M")
    steps = cluster.sacct(job, "JobIDRaw", elements=(3, 5))
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("run.*.json")]
    assert sorted(report["launch"]["array_index"] for report in reports) == [3, 5]
    for report in reports:
        launch = report["launch"]
        assert launch["array_job"] == job and launch["rank"] is None and report["limits"]["memory_bytes"] == 200 << 20
        assert steps[f"{job}_{launch['array_index']}"]["JobIDRaw"] == launch["job"]
        assert (tmp_path / f"run.{launch['job']}.json").exists()


def test_each_step_of_a_batch_script_is_a_group(cluster, tmp_path):
    """Each step is a group. The script is not a rank, and its cgroup contains only its own
    children."""
    job = cluster.submit(tmp_path, "srun $BIN/spoor run -q -- true\nsrun -n2 $BIN/spoor run -q -- true\n"
                         "$BIN/spoor run -q -o batch.json -- $BIN/steady 50 200", "-n4")
    assert {row["State"] for row in cluster.sacct(job).values()} == {"COMPLETED"}
    folders = sorted(tmp_path.glob("spoor-*/"))
    assert [folder.name for folder in folders] == [f"spoor-{job}.0", f"spoor-{job}.1"]
    for folder, ranks in zip(folders, (4, 2)):
        merged = json.loads((folder / "merged.json").read_text())
        assert merged["group"]["reported"] == merged["group"]["ranks"] == ranks
    batch = json.loads((tmp_path / "batch.json").read_text())
    assert batch["launch"]["rank"] is None and batch["launch"]["step"] is None and batch["launch"]["job"] == job
    assert "group" not in batch


def test_reports_of_a_step_killed_for_memory_are_written(cluster, tmp_path):
    need_cgroups()
    cluster.srun("-n2", "--mem=300M", "sh", "-c", "exec $BIN/spoor run -q -- $BIN/steady $((50 + 400 * SLURM_PROCID)) 200",
                 folder=tmp_path, status=None)
    group = Group(tmp_path)
    killed, other = group.ranks[1], group.ranks[0]
    assert killed["run"]["signal"] == "SIGKILL" and killed["events"]["oom_kills"]["value"] == 1
    assert killed["limits"]["memory_bytes"] == 300 << 20
    assert other["run"]["exit_code"] == 0 and not other["events"]["oom_kills"]["value"]
    state = cluster.sacct(killed["launch"]["job"])[f"{killed['launch']['job']}.0"]["State"]
    # Without spoor, the state also depends on what Slurm sees first: the report of the cgroup, its own end of the step, or
    # the status of the task. The status of srun depends on the state.
    assert state in ("OUT_OF_MEMORY", "CANCELLED", "FAILED")
    assert [row["signal"] for row in group.merged["rank_table"]] == [None, "SIGKILL"]


def test_killed_rank_is_missing_in_the_merged_report(cluster, tmp_path):
    cluster.srun("-N2", "-n4", "--ntasks-per-node=2", "-K0", "sh", "-c",
                 "exec $BIN/spoor run -q -- sh -c '[ $SLURM_PROCID != 2 ] || kill -9 $PPID'", folder=tmp_path, status=None)
    group = Group(tmp_path)
    assert sorted(group.begins) == [0, 1, 2, 3] and sorted(group.ranks) == [0, 1, 3]
    assert not (group.folder / "merged.json").exists()
    merged = json.loads(cluster.run(cluster.folder / "spoor", "merge", group.folder, "-f", "json"))
    assert merged["group"]["reported"] == 3
    [missing] = merged["group"]["missing"]
    assert (missing["rank"], missing["host"], missing["reason"]) == (2, "node2", "it has no end")


@pytest.mark.parametrize("launcher, variable", [("mpirun.openmpi --allow-run-as-root --oversubscribe", "OMPI_COMM_WORLD_RANK"),
                                                ("mpirun.mpich", "PMI_RANK")], ids=["openmpi", "mpich"])
def test_ranks_started_by_mpirun_in_a_batch_script_are_merged(cluster, tmp_path, launcher, variable):
    """All ranks are in the cgroup of the batch script."""
    job = cluster.submit(tmp_path, f"{launcher} -n 4 sh -c '{RANK.format(variable, 'together')}'", "-n4", "-N1")
    steps = cluster.sacct(job, "MaxRSS")
    group = Group(tmp_path)
    merged = check_ranks(group, truths(tmp_path))
    assert {report["launch"]["scheduler"] for report in group.ranks.values()} == {"slurm"}
    memory = merged["memory"]["combined"]["total_rss_bytes"]
    assert is_near(memory["value"], 1000 * MB, 0.05, 0), memory
    assert any(is_near(int(step["MaxRSS"].rstrip("K") or 0) << 10, 1000 * MB, 0.05, 0) for step in steps.values()), steps


def test_documented_task_prolog_saves_every_run(cluster, tmp_path):
    """As described in docs/CLUSTER.md, spoor saves every run of a job, and each rank is found by
    the job ID."""
    [prolog] = re.findall(r"```sh\n(#!/bin/sh\n# task-prolog\n[^`]*)```", (TOP / "docs/CLUSTER.md").read_text())
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o1777)
    cluster.write("task-prolog", prolog.replace("/shared/spoor", str(shared)).encode(), 0o755)
    try:
        job = cluster.submit(tmp_path, "$BIN/spoor run -- true\nsrun -n2 $BIN/spoor run --group off -- true", "-n2")
        cluster.sacct(job)
    finally:
        cluster.write("task-prolog", b"#!/bin/sh\n", 0o755)
    assert (tmp_path / f"slurm-{job}.out").read_text() == ""
    listed = cluster.run(cluster.folder / "spoor", "history", f"--history={shared}/root", f"job={job}", "--columns=job,rank",
                         "-f", "csv")
    assert sorted(listed.splitlines()[1:]) == [f"{job},", f"{job},0", f"{job},1"]


def test_reports_of_a_step_killed_at_its_time_limit_are_written(cluster, limited):
    """Slurm sends SIGTERM first, so the reports are written. This test is the last one, because
    its job is slow."""
    folder, job = limited
    assert cluster.sacct(job)[job]["State"] == "TIMEOUT"
    group = Group(folder)
    assert sorted(group.ranks) == [0, 1]
    for report in group.ranks.values():
        assert report["run"]["signal"] == "SIGTERM"
        assert is_near(report["memory"]["combined"]["total_rss_bytes"]["value"], 50 * MB, 0.1, 0)
    assert group.merged["group"]["missing"] == []
