# SPDX-License-Identifier: Apache-2.0
"""Options that all commands share, and the hints for commands that cannot run."""
import csv
import json
import os

import pytest

from conftest import load


def test_two_outputs_are_two_files(spoor, tmp_path):
    done = spoor("run", "-q", "-o", "a.json", "-o", "b.csv", "-o", "c", "-f", "json", "--", "true",
                 cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = load(tmp_path / "a.json")
    assert load(tmp_path / "c") == report, "--format is that of a name without a suffix"
    with open(tmp_path / "b.csv", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["run_id"] == report["run"]["id"]
    done = spoor("report", "-o", "d.json", "-o", "d.txt", "a.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "d.json") == report and "CPU time" in (tmp_path / "d.txt").read_text()
    done = spoor("run", "-o", "a.json", "-o", "./a.json", "--", "touch", "started", cwd=tmp_path)
    assert done.returncode == 125 and "--output: 'a.json' and './a.json' are the same file" in done.stderr
    assert not (tmp_path / "started").exists()


def test_the_strongest_source_has_all_outputs(spoor, tmp_path):
    """A variable holds one path, which may have commas; a config file may hold a list."""
    config = tmp_path / "c"
    config.write_text('{"output": ["1.json", "2.csv"], "quiet": true}')
    for variable, options, names in ((None, [], ["1.json", "2.csv"]), ("a,b.json", [], ["a,b.json"]),
                                     ("a,b.json", ["-o", "3.json"], ["3.json"])):
        environment = {**os.environ, **({"SPOOR_OUTPUT": variable} if variable else {})}
        done = spoor("run", "--config", config, *options, "--", "true", cwd=tmp_path, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
        found = sorted(path.name for path in tmp_path.glob("*.*"))
        assert found == names
        for name in found:
            (tmp_path / name).unlink()


def test_one_file_and_its_format_are_given_together(spoor, tmp_path):
    """A format of the environment is a default: the name of a file is more specific."""
    spoor("run", "-q", "-f", "json", "-o", "a.txt", "--", "true", cwd=tmp_path)
    load(tmp_path / "a.txt")
    spoor("run", "-q", "-o", "b.txt", "--", "true", cwd=tmp_path,
          env={**os.environ, "SPOOR_FORMAT": "json"})
    assert "CPU time" in (tmp_path / "b.txt").read_text()
