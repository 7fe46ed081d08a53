# SPDX-License-Identifier: Apache-2.0
"""Checks that the commands in the documents have the documented output."""
import json
import subprocess
import sys

import pytest

from conftest import BINARY, DEADLINE_SECONDS, TOP

pytestmark = pytest.mark.any_user

PAGES = [page.name for page in (TOP / "docs").glob("*.md") if "\n```console\n" in page.read_text()]


def test_documents_with_commands_are_found():
    assert {"TUTORIAL.md", "FAQ.md", "FROM-GPU-TRACKER.md", "FROM-SLURM.md"} <= set(PAGES)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_commands_in_the_documents_print_the_documented_output(page):
    done = subprocess.run(["/usr/bin/python3", TOP / "tools/run-docs", BINARY, TOP / "docs" / page], text=True,
                          check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=5 * DEADLINE_SECONDS)
    assert done.returncode == 0, done.stdout


def test_example_tracks_with_all_packages(tmp_path):
    done = subprocess.run([sys.executable, TOP / "examples/track.py", tmp_path], text=True, check=False,
                          capture_output=True, timeout=DEADLINE_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    names = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert names == {"block", "1", "command", "gpu_tracker", "resource_tracker"}
    assert json.loads((tmp_path / "command.json").read_text(encoding="utf-8"))["run"]["exit_code"] == 0
    phases = json.loads((tmp_path / "block.json").read_text(encoding="utf-8"))["phases"]
    assert [phase["name"] for phase in phases] == ["fill", "sum"]
