# SPDX-License-Identifier: Apache-2.0
"""One file given by two names, and rows that cannot be written."""
import os
import subprocess

import pytest

from conftest import eventually
from test_output_files import RUN, refused

pytestmark = pytest.mark.any_user


@pytest.mark.parametrize("other", ["./x.csv", "folder/../x.csv", "{}/x.csv", "link/x.csv", "hard.csv",
                                   "/dev/stdout"])
@pytest.mark.parametrize("first, second", [("-o", "--samples"), ("-o", "-o"), ("--samples", "--samples")])
def test_one_output_file_under_two_names_is_refused(spoor, tmp_path, first, second, other):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(".")
    path = tmp_path / "x.csv"
    path.write_text("old")
    (tmp_path / "hard.csv").hardlink_to(path)
    with path.open("a", encoding="utf-8") as stdout:
        done = spoor("run", first, "x.csv", second, other.format(tmp_path), "true", cwd=tmp_path,
                     stdout=stdout, stderr=subprocess.PIPE, capture_output=False)
    assert refused(done, second.replace("-o", "--output"), "the same file")
    assert path.read_text() == "old"


def test_new_output_file_under_two_names_is_refused(spoor, tmp_path):
    done = spoor(*RUN, "-o", "x.csv", "--samples", "./x.csv", "--", "true", cwd=tmp_path)
    assert refused(done, "--output and --samples name the same file")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("source, options", [("s.csv", []), ("s.csv", ["-f", "json"]), ("r.json", ["-f", "csv"]),
                                             ("r.json", ["--append"]), ("r.json", ["--text"])])
def test_report_refuses_to_replace_its_input(spoor, tmp_path, source, options):
    spoor(*RUN, "--samples", "s.csv", "-o", "r.json", "--", "true", cwd=tmp_path)
    path = tmp_path / source
    old = path.read_bytes()
    output = source
    if options == ["--text"]:
        path.rename(tmp_path / "r")
        path, output = tmp_path / "r", "r"
    done = spoor("report", *options, "-o", output, f"./{output}", cwd=tmp_path)
    assert refused(done, f"--output '{output}' is a file to read")
    with path.open("rb") as stdin:
        done = spoor("report", *options, "-o", output, "-", cwd=tmp_path, stdin=stdin)
    assert refused(done, f"--output '{output}' is a file to read")
    assert path.read_bytes() == old


@pytest.mark.parametrize("options", [["--samples", "/dev/full"], ["--stream", "/dev/full"],
                                     ["--samples", "/dev/full", "-o", "r.json"]])
def test_lost_rows_are_reported_without_a_summary(spoor, tmp_path, options):
    done = spoor(*RUN, *options, "--", "true", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("spoor: could not write ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith(" to '/dev/full': No space left on device\n")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("options", [[], ["--append"]], ids=str)
def test_a_second_run_does_not_empty_the_samples_of_the_first(spoor, tmp_path, suffix, options):
    path = tmp_path / f"s.{suffix}"
    first = spoor.start(*RUN, *options, "-i", "10ms", "--samples", path, "--", "cat")
    eventually(lambda: path.exists() and path.read_bytes().count(b"\n") > 2, "rows")
    old = path.read_bytes()
    assert refused(spoor(*RUN, "--samples", path, "--", "true"), "another run is writing to it")
    assert spoor(*RUN, "--append", "--samples", path, "--", "true").stderr == ""
    assert path.read_bytes().startswith(old)
    first.stdin.close()
    assert first.wait() == 0
    assert spoor(*RUN, "--samples", path, "--", "true").stderr == ""
    assert not path.read_bytes().startswith(old)
