# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job in one report: --group, spoor merge, spoor report DIRECTORY. Environment
variables simulate a launcher, and namespaces with their own host names simulate nodes."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import made_up_ranks
import schema
from conftest import DEADLINE_SECONDS, IS_FULL, eventually, read_line, rows_of, warnings_of
from made_up_ranks import MB

HOLD = "x = bytearray({} << 20); print('ready', flush=True); input()"


def rank_environment(rank, ranks, node=0, nodes=1, **more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    return {**kept, "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank),
            "SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_LOCALID": str(rank), "SLURM_NODEID": str(node),
            "SLURM_STEP_NUM_NODES": str(nodes), **more}


def start_rank(spoor, rank, ranks, *options, command=("true",), **popen):
    return spoor.start("run", "-q", *options, "--", *command, env=rank_environment(rank, ranks), **popen)


def hold(megabytes):
    return (sys.executable, "-c", HOLD.format(megabytes))


def latest_memory(samples):
    return next((row["job_rss_bytes"] or 0 for row in rows_of(samples)[:-2:-1]), 0)


def merged(spoor, folder):
    done = spoor("merge", "-f", "json", folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    schema.check_schema(report)
    return report


def test_four_concurrent_ranks_are_merged_into_one_report(spoor, tmp_path):
    sizes = (20, 40, 60, 80)
    ranks = [start_rank(spoor, rank, 4, "-i", "0.1", "--samples", tmp_path / f"{rank}.jsonl", command=hold(size),
                        cwd=tmp_path) for rank, size in enumerate(sizes)]
    for rank, size in enumerate(sizes):
        assert read_line(ranks[rank].stdout) == "ready"
        eventually(lambda path=tmp_path / f"{rank}.jsonl", least=size << 20: latest_memory(path) >= least,
                   "a sample has the memory")
    for rank in ranks:
        rank.stdin.write(b"\n")
        rank.stdin.close()
    for rank in ranks:
        assert rank.wait(timeout=DEADLINE_SECONDS) == 0
    folder = tmp_path / "spoor-77.0"
    report = json.loads((folder / "merged.json").read_text("utf-8"))
    schema.check_schema(report)
    assert (report["group"]["ranks"], report["group"]["reported"], report["group"]["missing"]) == (4, 4, [])
    assert [rank["rank"] for rank in report["rank_table"]] == [0, 1, 2, 3]
    memory = report["memory"]["combined"]["total_rss_bytes"]
    peaks = [rank["peak_rss_bytes"] for rank in report["rank_table"]]
    assert max(peaks) < sum(size << 20 for size in sizes) <= memory["value"] <= sum(peaks)
    assert report["cpu"]["total_seconds"]["value"] == pytest.approx(sum(rank["cpu_seconds"] for rank in report["rank_table"]))
    assert report["launch"]["job"] == "77" and report["launch"]["rank"] is None
    page = spoor("merge", "-f", "html", folder)
    assert (folder / "merged.html").exists() == (page.returncode == 0) == ("no report page" not in page.stderr)
    assert len(list(folder.glob("*.jsonl"))) == 1
    assert merged(spoor, folder) == report
    assert json.loads(spoor("report", "-f", "json", folder / "merged.json").stdout) == report


def test_killed_rank_is_reported_as_missing(spoor, tmp_path):
    folder = tmp_path / "group"
    killed = start_rank(spoor, 0, 2, "--group", folder, command=hold(1))
    assert read_line(killed.stdout) == "ready"
    killed.kill()
    killed.wait()
    assert start_rank(spoor, 1, 2, "--group", folder).wait(timeout=DEADLINE_SECONDS) == 0
    assert not (folder / "merged.json").exists()
    report = merged(spoor, folder)
    missing, = report["group"]["missing"]
    assert (missing["rank"], missing["reason"], missing["host"]) == (0, "it has no end", os.uname().nodename)
    assert report["cpu"]["total_seconds"]["reason"] == "1 of 2 ranks have no end"
    text = spoor("report", "-f", "text", folder).stdout
    assert "of 2 reported; rank 0 on" in text and "has no end" in text


def test_a_group_that_runs_again_is_merged_again(spoor, tmp_path):
    folder = tmp_path / "group"
    for count in (1, 2):
        for rank in range(2):
            done = start_rank(spoor, rank, 2, "--group", folder, command=("sh", "-c", f"exit {count}"))
            assert done.wait(timeout=DEADLINE_SECONDS) == count
    report = json.loads((folder / "merged.json").read_text("utf-8"))
    assert report["run"]["exit_code"] == 2 and report["group"]["reported"] == 2
    assert "repeated" in warnings_of(report)


def test_the_last_rank_merges_whatever_the_order(spoor, tmp_path):
    """The ranks of the previous round have ended: rank 0 merges with them, while rank 1 begins a
    little later each time."""
    folder = tmp_path / "group"
    for round_ in range(0, 60, 1 if IS_FULL else 3):
        ranks = []
        for rank in range(2):
            ranks.append(start_rank(spoor, rank, 2, "--group", folder, command=("sh", "-c", f"exit {round_}")))
            time.sleep(round_ * 0.0004)
        assert [rank.wait(timeout=DEADLINE_SECONDS) for rank in ranks] == 2 * [round_]
        report = json.loads((folder / "merged.json").read_text("utf-8"))
        assert [rank["exit_code"] for rank in report["rank_table"]] == 2 * [round_]


def test_a_run_within_a_rank_is_not_another_attempt(spoor, tmp_path):
    folder = tmp_path / "spoor-77.0"
    command = ("sh", "-c", f"{spoor.binary} run -q -- true; exit 3")
    for rank in range(2):
        assert start_rank(spoor, rank, 2, command=command, cwd=tmp_path).wait(timeout=DEADLINE_SECONDS) == 3
    report = json.loads((folder / "merged.json").read_text("utf-8"))
    assert report["run"]["exit_code"] == 3 and report["warnings"] == []


@pytest.mark.parametrize("options, ranks", [(("--group", "off"), 4), ((), 1), (("-o", "out.json"), 4)])
def test_no_group_is_created_for_a_single_rank_or_with_an_output_file(spoor, tmp_path, options, ranks):
    assert start_rank(spoor, 0, ranks, *options, cwd=tmp_path).wait(timeout=DEADLINE_SECONDS) == 0
    assert not list(tmp_path.glob("spoor-*"))


def test_group_that_cannot_be_written_causes_a_warning(spoor, tmp_path):
    (tmp_path / "file").write_text("")
    rank = start_rank(spoor, 0, 2, "--group", tmp_path / "file/group", command=("sh", "-c", "echo works"))
    out, err = rank.communicate(timeout=DEADLINE_SECONDS)
    assert (rank.returncode, out) == (0, b"works\n")
    assert b"the run is not added to the group" in err


def test_files_of_a_group_are_readable_only_by_their_owner(spoor, tmp_path):
    assert start_rank(spoor, 0, 2, "--group", tmp_path / "group").wait(timeout=DEADLINE_SECONDS) == 0
    file, = (tmp_path / "group").glob("*.jsonl")
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700


def nodes_are_possible(tmp_path):
    done = subprocess.run(["unshare", "--uts", "--mount", "hostname", "n00"], check=False, cwd=tmp_path,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0


def test_sixteen_ranks_on_four_nodes_are_merged_even_if_two_are_killed(spoor, tmp_path):
    if not nodes_are_possible(tmp_path):
        pytest.skip("makes namespaces with host names, which needs root")
    folder = tmp_path / "group"
    ranks = []
    for rank in range(16):
        line = f'hostname n{rank // 4:02} && exec "$@"'
        command = ["unshare", "--uts", "--mount", "sh", "-c", line, "sh", spoor.binary, "run", "-q", "--group", folder,
                   "--", *hold(1)]
        ranks.append(subprocess.Popen(command, env=rank_environment(rank, 16, rank // 4, 4), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE))
    spoor.started += ranks
    for rank in ranks:
        assert read_line(rank.stdout) == "ready"
    for index, rank in enumerate(ranks):
        if index in (7, 9):
            rank.kill()
        else:
            rank.stdin.write(b"\n")
        rank.stdin.close()
    assert [rank.wait(timeout=DEADLINE_SECONDS) for rank in ranks] == [
        -signal.SIGKILL if index in (7, 9) else 0 for index in range(16)]
    report = merged(spoor, folder)
    assert sorted(path.name for path in folder.glob("*.jsonl")) == [f"n{node:02}.jsonl" for node in range(4)]
    assert [(each["rank"], each["host"]) for each in report["group"]["missing"]] == [(7, "n01"), (9, "n02")]
    assert report["group"]["reported"] == 14 and not (folder / "merged.json").exists()
    assert [node["reported"] for node in report["nodes"]] == [4, 3, 3, 4]
    text = spoor("report", "-f", "text", folder).stdout
    assert "14  of 16 reported" in text and "rank 7 on n01" in text and "rank 9 on n02" in text


def test_figures_of_synthetic_ranks_are_merged_correctly(spoor, tmp_path):
    folder = made_up_ranks.write(tmp_path / "group")
    report = merged(spoor, folder)
    assert report["cpu"]["total_seconds"]["value"] == pytest.approx(16 * 25)
    assert report["memory"]["combined"]["total_rss_bytes"]["value"] == pytest.approx(1000 * MB, rel=0.001)
    assert report["limits"]["memory_bytes"] == 2000 * MB
    assert len(report["nodes"]) == 4 and len(report["rank_table"]) == 16
    assert report["group"]["imbalance"]["cpu"] == pytest.approx(1.6)
    assert {len(cells) for cells in report["rank_curves"]["cores"]} == {len(report["rank_curves"]["seconds"])} == {120}


@pytest.mark.parametrize("form", ["text", "csv", "markdown", "html"])
def test_group_report_is_available_in_every_format(spoor, tmp_path, form):
    folder = made_up_ranks.write(tmp_path / "group", missing=(7,))
    done = spoor("merge", "-f", form, "-o", tmp_path / "out", folder)
    if "has no report page" in done.stderr:
        pytest.skip("this build has no report page")
    assert done.returncode == 0 and "simulate" in (tmp_path / "out").read_text("utf-8")


def test_merge_writes_the_files_of_the_folder(spoor, tmp_path):
    folder = made_up_ranks.write(tmp_path / "group", missing=(7,))
    done = spoor("merge", folder)
    assert done.returncode == 0 and "15  of 16 reported" in done.stdout
    assert json.loads((folder / "merged.json").read_text("utf-8"))["group"]["reported"] == 15
    assert spoor("report", "-f", "text", folder).returncode == 0  # merged.json is not read as a rank


def test_page_of_a_group_folder_is_written_next_to_it(spoor, tmp_path):
    made_up_ranks.write(tmp_path / "group")
    done = spoor("report", "group/", cwd=tmp_path)
    if "has no report page" in done.stderr:
        pytest.skip("this build has no report page")
    assert done.returncode == 0 and (tmp_path / "group.html").exists()


@pytest.mark.parametrize("operands, message", [((), "missing argument"), (("nothing",), "no files of ranks"),
                                               ((".",), "no files of ranks")])
def test_a_folder_without_ranks_is_refused(spoor, tmp_path, operands, message):
    done = spoor("merge", *operands, cwd=tmp_path)
    assert done.returncode == 125 and message in done.stderr
