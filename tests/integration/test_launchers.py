# SPDX-License-Identifier: Apache-2.0
"""Ranks started by Open MPI, MPICH, torchrun (real, and simulated by a stand-in) and Dask, and in containers."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import DEADLINE_SECONDS
from ranks import CHARGED_FLOOR, CHARGED_TOLERANCE, MB, SIZES, Group, build_programs, check_ranks, is_near, truths

LAUNCHERS = {"openmpi": (["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], "OMPI_COMM_WORLD_RANK", "open-mpi"),
             "mpich": (["mpirun.mpich"], "PMI_RANK", "mpich")}


@pytest.fixture(name="programs", scope="module")
def fixture_programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    build_programs(folder)
    return folder


@pytest.fixture(name="run")
def fixture_run(tmp_path, programs):
    """Returns a function that runs a command in the folder of the test; $BIN contains the
    programs."""
    def run(*command, status=0, **environment):
        done = subprocess.run([str(word) for word in command], cwd=tmp_path, check=False, capture_output=True, text=True,
                              timeout=DEADLINE_SECONDS, env={**os.environ, "BIN": str(programs), **environment})
        assert status is None or done.returncode == status, done
        return done.stdout
    return run


@pytest.fixture(name="launcher", params=LAUNCHERS)
def fixture_launcher(request):
    if not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"mpirun.{request.param} is not installed")
    return LAUNCHERS[request.param]


@pytest.mark.parametrize("order, expected", [("together", 1000 * MB), ("in-turn", 400 * MB)])
def test_memory_of_ranks_matches_the_truth(run, tmp_path, launcher, order, expected):
    command, variable, name = launcher
    run(*command, "-n", 4, "sh", "-c",
        f"export TRUTH=truth.${variable}; exec $BIN/spoor run -q -i 0.2 -- $BIN/rank {variable} 4 {order} 600")
    group = Group(tmp_path)
    merged = check_ranks(group, truths(tmp_path))
    assert {report["launch"]["launcher"] for report in group.ranks.values()} == {name}
    assert len(group.files) == 1 and len(merged["nodes"]) == 1
    assert merged["nodes"][0]["ranks"] == 4
    memory = merged["memory"]["combined"]["total_rss_bytes"]
    assert is_near(memory["value"], expected, 0.05, 0), memory
    assert is_near(merged["group"]["imbalance"]["memory"], SIZES[3] / (sum(SIZES.values()) / 4), 0.05, 0)


def test_consecutive_runs_have_their_own_groups(run, tmp_path, launcher):
    """MPICH gives a run no number, so the second run replaces the first."""
    for ranks in (3, 2):
        run(*launcher[0], "-n", ranks, "sh", "-c", "exec $BIN/spoor run -q -- true")
    groups = [json.loads((folder / "merged.json").read_text())["group"] for folder in tmp_path.glob("spoor-*/")]
    assert sorted((group["ranks"], group["reported"]) for group in groups) == {
        "open-mpi": [(2, 2), (3, 3)], "mpich": [(2, 2)]}[launcher[2]]


def test_merged_report_of_an_earlier_run_is_removed(run, tmp_path):
    """Rank 1 of the second run is killed, so no rank merges the reports."""
    for program in ("true", "sh -c '[ $RANK = 0 ] || kill -9 $PPID'"):
        run(sys.executable, "-c", TORCHRUN, "sh", "-c", f"exec $BIN/spoor run -q -- {program}", status=None)
    assert [path.name for path in Group(tmp_path).folder.glob("merged.*")] == []


def test_shared_window_of_an_mpi_program_is_counted_once(run, tmp_path, launcher):
    """A window that several ranks share is counted only once."""
    compiler = f"mpicc.{launcher[0][0].split('.')[1]}"
    source = pathlib.Path(__file__).parent / "barrier.c"
    if subprocess.run([compiler, "-O2", "-o", tmp_path / "barrier", source], check=False, capture_output=True).returncode:
        pytest.skip(f"{compiler} cannot compile: its headers are not installed")
    true = int(run(*launcher[0], "-n", 3, "sh", "-c", "exec $BIN/spoor run -q -i 0.2 --detail always -- ./barrier")) << 10
    merged = Group(tmp_path).merged
    assert merged["group"]["reported"] == 3
    memory = merged["memory"]["combined"]["total_rss_bytes"]
    assert memory["low"] <= true * 1.05 and memory["high"] >= true * 0.95, (memory, true)
    assert memory["value"] <= memory["high"] - 64 * MB, (memory, true)


TORCHRUN = """
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
         "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1", "ROLE_NAME": "default", "ROLE_RANK": str(rank),
         "TORCHELASTIC_RUN_ID": "7c8d", "TORCHELASTIC_RESTART_COUNT": "1", "TORCHELASTIC_MAX_RESTARTS": "3",
         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}) for rank in range(2)]
sys.exit(max(rank.wait() for rank in ranks))
"""


def test_torchrun_with_spoor_in_each_rank_gives_a_group(run, tmp_path):
    run(sys.executable, "-c", TORCHRUN, "sh", "-c", "export TRUTH=truth.$RANK; exec $BIN/spoor run -q -- $BIN/steady 80 300")
    group = Group(tmp_path)
    check_ranks(group, truths(tmp_path))
    launch = group.ranks[1]["launch"]
    assert (launch["launcher"], launch["job"], launch["restart"], launch["local_ranks"]) == ("torchrun", "7c8d", 1, 2)


def test_ranks_of_the_real_torchrun_are_merged(run, tmp_path):
    if subprocess.run([sys.executable, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip("PyTorch is not installed")
    # PyTorch 1.13 with Python 3.11 accepts only this redirection.
    run("torchrun", "--nproc_per_node=2", "--redirects=1", "--tee=1", f"--log_dir={tmp_path}/log", "--no_python", "sh", "-c",
        "export TRUTH=truth.$RANK; exec $BIN/spoor run -q -- $BIN/steady 80 300")
    check_ranks(Group(tmp_path), truths(tmp_path))


def test_torchrun_under_spoor_gives_one_report_per_node(run, tmp_path, programs):
    """The agent is not a rank; the ranks are its children."""
    run(programs / "spoor", "run", "-q", "-o", "node.json", "--", sys.executable, "-c", TORCHRUN, "sh", "-c",
        "export TRUTH=truth.$RANK; exec $BIN/steady 80 300")
    report, true = json.loads((tmp_path / "node.json").read_text()), truths(tmp_path)
    assert not list(tmp_path.glob("spoor-*/")) and "launch" not in report
    assert report["processes"]["started"]["value"] == 3
    assert report["cpu"]["total_seconds"]["value"] >= sum(one["cpu_seconds"] for one in true.values())


def container(folder, *options):
    """Runs podman with the programs of this machine, without a network. crun refuses to run if
    one controller is on cgroup v2 and the others are on v1."""
    root = folder / "root"
    root.mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink(f"/{name}"):
            (root / name).symlink_to(f"usr/{name}")
    return ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm", "--network", "none", "--ulimit",
            "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "-v", "/usr:/usr:ro", "-v", f"{folder}:/data", *options,
            "--rootfs", root]


@pytest.mark.skipif(os.geteuid() != 0, reason="runs podman as root")
@pytest.mark.parametrize("namespace", ["private", "host"])
def test_report_of_a_container_entrypoint_has_the_limits_of_the_container(run, tmp_path, programs, namespace):
    """The report has the cgroup and the limit of the container. cgroup v1 does not list processes of
    outer PID namespaces: the cgroup may contain such processes too, so its peak is an upper
    bound."""
    for program in ("podman", "runc"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    run(*container(tmp_path, "-v", f"{programs}:/programs:ro", "--memory", "400m", "-e", "TRUTH=/data/truth.0",
                   *(["--pid=host"] if namespace == "host" else [])),
        "/programs/spoor", "run", "-q", "-o", "/data/run.json", "--", "/programs/steady", 200, 300)
    report, true = json.loads((tmp_path / "run.json").read_text()), truths(tmp_path)[0]
    peak = report["memory"]["job_peak_bytes"]
    is_exact = namespace == "host" or not os.path.exists("/sys/fs/cgroup/memory")
    assert peak["exact"] == is_exact, peak
    assert is_near(peak["value" if is_exact else "high"], true["peak_rss_bytes"], CHARGED_TOLERANCE, CHARGED_FLOOR), peak
    assert report["limits"]["memory_bytes"] == 400 << 20
    assert is_near(report["cpu"]["total_seconds"]["value"], true["cpu_seconds"], 0.02, 0.03)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces as root")
def test_ranks_in_namespaces_are_merged_by_host_name(run, tmp_path):
    """Simulates four machines with different host names that share one folder."""
    rank = "export TRUTH=truth.$RANK; exec $BIN/spoor run -q --group spoor-x -- $BIN/steady 60 300"
    node = f"hostname n$GROUP_RANK; for i in 0 1; do export LOCAL_RANK=$i RANK=$((2 * GROUP_RANK + i)); ({rank}) & done; wait"
    run("sh", "-c", "for GROUP_RANK in 0 1 2 3; do export GROUP_RANK; unshare --uts --mount --pid --fork --mount-proc "
        f"sh -c '{node}' & done; wait", WORLD_SIZE="8", LOCAL_WORLD_SIZE="2", GROUP_WORLD_SIZE="4", TORCHELASTIC_RUN_ID="x")
    group = Group(tmp_path)
    merged = check_ranks(group, truths(tmp_path))
    assert [path.name for path in group.files] == [f"n{node}.jsonl" for node in range(4)]
    assert [node["host"] for node in merged["nodes"]] == ["n0", "n1", "n2", "n3"]


WORKERS = """
import dask, sys
from distributed import Client, LocalCluster

def hold(megabytes):
    return len(bytearray(b"x" * (megabytes * 1000000)))

if __name__ == "__main__":
    dask.config.set({"distributed.worker.multiprocessing-method": "spawn"})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster) as c:
        print(sum(c.gather(c.map(hold, [100, 101]))))
"""


def test_dask_workers_are_children(run, tmp_path, programs):
    if subprocess.run([sys.executable, "-c", "import distributed"], check=False, capture_output=True).returncode:
        pytest.skip("Dask is not installed")
    (tmp_path / "work.py").write_text(WORKERS)
    assert run(programs / "spoor", "run", "-q", "-o", "run.json", "--", sys.executable, "work.py") == "201000000\n"
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["memory"]["combined"]["total_rss_bytes"]["value"] > 201 * MB
