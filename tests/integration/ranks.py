# SPDX-License-Identifier: Apache-2.0
"""Ranks that record their own usage (tests/truth/programs), and the folder in which spoor groups their reports."""
import json
import pathlib
import shutil
import subprocess
import sys

from conftest import BINARY, TOP

sys.path.insert(0, str(TOP / "tests/truth"))
import truth  # noqa: E402

MB = 1_000_000
CPU_TOLERANCE, CPU_FLOOR = 0.02, 0.03
MEMORY_TOLERANCE, MEMORY_FLOOR = 0.03, 3 * MB
# spoor and its pages belong to the cgroup of a rank, too.
CHARGED_TOLERANCE, CHARGED_FLOOR = 0.03, 12 * MB
SIZES = {rank: (rank + 1) * 100 * MB for rank in range(4)}


def build_programs(folder):
    """Creates a folder, readable by every user, that contains spoor and the programs."""
    shutil.copy(BINARY, folder / "spoor")
    programs = TOP / "tests/truth/programs"
    for name in ("rank", "steady"):
        subprocess.run(["cc", *truth.COMPILER_FLAGS, "-o", folder / name,
                        *(programs / f"{source}.c" for source in (name, "ledger", "workload"))], check=True)


def is_near(value, true, tolerance, floor):
    return value is not None and abs(value - true) <= true * tolerance + floor


class Group:
    """The folder of a group: the reports of its ranks, by rank number, and the merged report."""

    def __init__(self, folder):
        [self.folder] = pathlib.Path(folder).glob("spoor-*/")
        self.files = sorted(self.folder.glob("*.jsonl"))
        lines = [json.loads(line) for path in self.files for line in path.read_text().splitlines()]
        self.begins = {line["launch"]["rank"]: line for line in lines if "begin" in line}
        self.ranks = {line["launch"]["rank"]: line for line in lines if "run" in line}

    @property
    def merged(self):
        assert (self.folder / "merged.html").stat().st_size > 10_000
        return json.loads((self.folder / "merged.json").read_text())


def truths(folder):
    """Returns the figures that the ranks have written to truth.RANK."""
    return {int(path.suffix[1:]): json.loads(path.read_text()) for path in folder.glob("truth.*")}


def faults_of(report, true):
    """Returns the figures in a rank's report that differ from the rank's own figures."""
    cpu, memory = report["cpu"]["total_seconds"]["value"], report["memory"]["combined"]["total_rss_bytes"]["value"]
    if not is_near(cpu, true["cpu_seconds"], CPU_TOLERANCE, CPU_FLOOR):
        yield f"CPU {cpu} s, true {true['cpu_seconds']:.3f} s"
    if not is_near(memory, true["peak_rss_bytes"], MEMORY_TOLERANCE, MEMORY_FLOOR):
        yield f"memory {memory}, true {true['peak_rss_bytes']}"
    if report["processes"]["started"]["value"] != true["processes"]:
        yield f"{report['processes']['started']} processes, true {true['processes']}"


def check_ranks(group, true):
    """Checks that the reports of all ranks, and their sums, agree with the ranks' own figures."""
    assert group.ranks.keys() == true.keys() == group.begins.keys()
    assert {rank: list(faults_of(report, true[rank])) for rank, report in group.ranks.items()} == {rank: [] for rank in true}
    merged = group.merged
    assert merged["group"]["ranks"] == merged["group"]["reported"] == len(true) and merged["group"]["missing"] == []
    cpu = sum(one["cpu_seconds"] for one in true.values())
    assert is_near(merged["cpu"]["total_seconds"]["value"], cpu, CPU_TOLERANCE, len(true) * CPU_FLOOR)
    assert [row["rank"] for row in merged["rank_table"]] == sorted(true)
    for row in merged["rank_table"]:
        assert is_near(row["cpu_seconds"], true[row["rank"]]["cpu_seconds"], CPU_TOLERANCE, CPU_FLOOR), row
        assert is_near(row["peak_rss_bytes"], true[row["rank"]]["peak_rss_bytes"], MEMORY_TOLERANCE, MEMORY_FLOOR), row
    return merged
