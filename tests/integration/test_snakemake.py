# SPDX-License-Identifier: Apache-2.0
"""Benchmark tables of a real Snakemake, compared with spoor's tables."""
import csv
import os
import re
import shutil
import subprocess

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

pytestmark = pytest.mark.skipif(not shutil.which("snakemake"), reason="snakemake is not installed")

PAGE = (TOP / "docs/FROM-SNAKEMAKE.md").read_text(encoding="utf-8")
WORKFLOW = r"""
rule all:
    input: expand("{rule}.done", rule=["short", "tree", "cpu"])

rule short:  # the pages are touched, and held while the rule waits
    output: touch("short.done"), bench="spoor/short.tsv"
    benchmark: "snakemake/short.tsv"
    shell: "spoor run -q -f snakemake -o {output.bench} -- python3 -c 'import time; x = b\"x\" * 300_000_000; time.sleep(0.1)'"

rule tree:
    input: "short.done"
    output: touch("tree.done"), bench="spoor/tree.tsv"
    benchmark: "snakemake/tree.tsv"
    shell: "spoor run -q -f snakemake -o {output.bench} -- sh -c 'for i in $(seq 200); do python3 -S -c \"\" || exit; done'"

rule cpu:
    input: "tree.done"
    output: touch("cpu.done"), bench="spoor/cpu.tsv"
    benchmark: repeat("snakemake/cpu.tsv", 2)
    shell: "spoor run -q --append -f snakemake -o {output.bench} -- sh -c 'python3 burn.py & python3 burn.py; wait'"
"""
BURN = "import time\nwhile time.process_time() < 0.7: pass\n"


@pytest.fixture(name="snakemake")
def fixture_snakemake(tmp_path):
    """Returns a function that runs a workflow with the program under test in PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/spoor").symlink_to(BINARY)
    (tmp_path / "burn.py").write_text(BURN)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(workflow):
        (tmp_path / "Snakefile").write_text(workflow)
        done = subprocess.run(["snakemake", "-j1"], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              check=False, timeout=DEADLINE_SECONDS)
        assert done.returncode == 0, done.stderr
        return tmp_path
    return run


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def check_readers(folder):
    """Checks that pandas, and the import into a history, read spoor's tables in the same way as
    Snakemake's."""
    pandas = pytest.importorskip("pandas")
    for path in folder.glob("s*/*.tsv"):
        numbers = pandas.read_csv(path, sep="\t").drop(columns=["h:m:s", "max_vms"])
        assert {column.kind for column in numbers.dtypes} == {"f"}, path
    done = subprocess.run([BINARY, "history", "import", folder / "spoor/cpu.tsv"], check=True, capture_output=True, text=True,
                          env={**os.environ, "SPOOR_HISTORY": f"{folder}/history"})
    assert "2 runs" in done.stdout + done.stderr


def print_side_by_side(folder):
    print("rule      table      s        max_rss  max_pss  mean_load  cpu_time")
    for rule in ("short", "tree", "cpu"):
        for table in ("snakemake", "spoor"):
            for row in rows_of(folder / table / f"{rule}.tsv"):
                print(f"{rule:<9} {table:<10} {row['s']:<8} {row['max_rss']:<8} {row['max_pss']:<8} "
                      f"{row['mean_load']:<10} {row['cpu_time']}")


def test_tables_have_the_columns_of_snakemake(snakemake):
    """The usage that Snakemake misses depends on timing, so Snakemake's own figures are printed,
    not checked."""
    folder = snakemake(WORKFLOW)
    print_side_by_side(folder)
    tables = {rule: (rows_of(folder / "spoor" / f"{rule}.tsv"), rows_of(folder / "snakemake" / f"{rule}.tsv"))
              for rule in ("short", "tree", "cpu")}
    for ours, theirs in tables.values():
        assert list(ours[0]) == list(theirs[0]) and len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            assert re.fullmatch(r"\d+\.\d{4}", mine["s"]) and re.fullmatch(r"\d+\.\d{4}", other["s"])
            assert float(mine["s"]) < float(other["s"])  # includes the shell and spoor
    [short], _ = tables["short"]
    assert 300e6 / 2**20 < float(short["max_rss"]) < 320
    assert float(short["max_uss"]) <= float(short["max_pss"]) <= float(short["max_rss"])
    [tree], _ = tables["tree"]
    assert float(tree["cpu_time"]) > 200 * 0.001 and float(tree["max_rss"]) < 60
    for row in tables["cpu"][0]:
        assert 1.4 < float(row["cpu_time"]) < 2.5
        assert float(row["mean_load"]) == pytest.approx(100 * float(row["cpu_time"]) / float(row["s"]), rel=0.02)
    check_readers(folder)


def test_documented_prefix_runs_every_rule(snakemake):
    [prefix] = re.findall(r"```python\n(shell\.executable.*?)```", PAGE, re.DOTALL)
    folder = snakemake(prefix + """
rule all:
    input: "a", "b"

rule one:
    output: "a"
    shell: "echo \\"it's $SHLVL\\" | tee {output} >/dev/null; [ ! ${{SPOOR_RULE+x}} ]"

rule two:
    output: "b"
    shell: "seq 100 >{output}"
""")
    assert (folder / "a").read_text().startswith("it's ") and len((folder / "b").read_text().split()) == 100
    rows = list(csv.DictReader((folder / "spoor.csv").open(newline="")))
    assert len(rows) == 2 and all(row["exit_code"] == "0" for row in rows)
    assert sorted("seq 100" in row["command"] for row in rows) == [False, True]


def test_documented_rule_writes_its_table(snakemake, tmp_path):
    [rule] = re.findall(r"```python\n(rule sort:.*?)```", PAGE, re.DOTALL)
    (tmp_path / "reads.txt").write_text("b\na\n")
    folder = snakemake(rule)
    assert (folder / "sorted.txt").read_text() == "a\nb\n" and len(rows_of(folder / "spoor/sort.tsv")) == 1
