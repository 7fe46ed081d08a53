# SPDX-License-Identifier: Apache-2.0
"""Files of a history, read by other tools as described in docs/HISTORY.md."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

QUERY = """
const { DuckDBInstance } = require("@duckdb/node-api");
DuckDBInstance.create(":memory:").then(async (database) => {
  const connection = await database.connect();
  const reader = await connection.runAndReadAll(process.argv[1]);
  console.log(JSON.stringify(reader.getRowObjectsJson()));
});
"""


@pytest.fixture(name="history")
def fixture_history(tmp_path):
    """Stores two runs with tags, and one without."""
    folder = tmp_path / "history"
    for options in (["--name", "train", "--tag", "lr=0.1"], ["--name", "train", "--tag", "x=1"], []):
        subprocess.run([BINARY, "run", "-q", f"--history={folder}", *options, "--", "true"], check=True)
    return folder


@pytest.fixture(name="duckdb")
def fixture_duckdb(tmp_path):
    """Returns a function that runs a query with DuckDB from npm, in the version of the lock
    file."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pathlib.Path(__file__).parent / "duckdb" / name, tmp_path)
    done = subprocess.run(["npm", "ci", "--include=optional", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tmp_path,
                          check=False, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    if done.returncode != 0:
        pytest.skip("DuckDB cannot be installed from npm")

    def query(text):
        return json.loads(subprocess.run(["node", "-e", QUERY, text], cwd=tmp_path, check=True, text=True,
                                         stdout=subprocess.PIPE, timeout=DEADLINE_SECONDS).stdout)
    return query


def test_duckdb_reads_the_folder(history, duckdb):
    rows = f"read_json('{history}/runs/*/*.jsonl', union_by_name = true)"
    assert [(row["name"], int(row["runs"])) for row in duckdb(
        f"SELECT name, count(*) AS runs FROM {rows} GROUP BY name ORDER BY runs DESC")] == [("train", 2), (None, 1)]
    assert [row["tag.lr"] for row in duckdb(f'SELECT "tag.lr" FROM {rows} WHERE "tag.lr" IS NOT NULL')] == ["0.1"]
    types = {row["column_name"]: row["column_type"] for row in duckdb(f"DESCRIBE SELECT * FROM {rows}")}
    assert types["tag.lr"] == types["id"] == "VARCHAR" and types["started_at"].startswith("TIMESTAMP")
    assert types["elapsed_seconds"] == "DOUBLE" and types["exit_code"] == "BIGINT"


def test_duckdb_reads_the_folders_of_a_team(history, duckdb):
    """Runs the query of docs/TEAM.md."""
    [query] = re.findall(r"```sql\n(SELECT [^`]*read_json[^`]*)```", (TOP / "docs/TEAM.md").read_text())
    shutil.copytree(history / "runs", history.parent / "shared/ada/runs")
    shutil.copytree(history / "runs", history.parent / "shared/bob/runs")
    rows = duckdb(query.replace("/shared/spoor/", f"{history.parent}/shared/"))
    assert sorted((row["name"] or "", int(row["runs"]), int(row["users"])) for row in rows) == [("", 2, 1), ("train", 4, 1)]


def test_pandas_reads_the_files(history):
    pandas = pytest.importorskip("pandas")
    runs = pandas.concat(pandas.read_json(path, lines=True) for path in history.glob("runs/*/*.jsonl"))
    assert list(runs["exit_code"]) == [0, 0, 0] and runs.groupby("name")["elapsed_seconds"].count()["train"] == 2
