# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker agent sub-track: requests of the Python package, as lines of JSON."""
import json
import subprocess

import pytest

from sub_tracking import GOLDEN, STATISTICS, golden, read_events, succeeded, write_events

pytestmark = pytest.mark.any_user

TRACKING = GOLDEN / "tracking.csv"


@pytest.fixture
def ask(spoor, tmp_path):
    """ask(op, ...) returns the answer to a request."""
    def ask(op, *arguments):
        request = {"id": 5, "op": op, "arguments": [str(argument) for argument in arguments]}
        done = subprocess.run(["gpu-tracker", "agent", "sub-track"], text=True, cwd=tmp_path,
                              executable=spoor.binary, capture_output=True, check=False,
                              input=json.dumps(request) + "\n")
        assert done.returncode == 0 and done.stderr == "" and done.stdout.endswith("}\n")
        ready, answer = [json.loads(line) for line in done.stdout.splitlines()]
        assert (ready["event"], ready["protocol"]) == ("ready", 2) and answer.pop("id") == 5
        return answer
    return ask


def refused(error, code, message):
    assert (error["event"], error["code"]) == ("error", code) and message in error["message"]


def test_analysis_is_returned_as_json_and_text(ask, sub_track):
    result = ask("analyze", TRACKING, GOLDEN / "phases.csv")
    files = ("--tf", TRACKING, "--stf", GOLDEN / "phases.csv")
    assert result["text"] == golden("analyze.txt")
    assert result["results"] == json.loads(succeeded(sub_track("analyze", *files, "-fjson")))
    overall = ask("analyze", TRACKING)
    assert overall["results"] == {**result["results"], "code_block_results": []}


def test_calls_of_a_block_are_listed(ask, tmp_path):
    events = write_events(tmp_path / "e.csv", [
        (7, "b", 0, 1.0), (7, "b", 0, 2.0), (7, "b", 1, 3.0), (7, "b", 1, 4.5), (8, "b", 0, 1.5),
        (8, "b", 1, 2.5), (8, "b", 0, 9.0), (7, "bad", 1, 0.5)])
    assert ask("calls", events, "b") == {
        "event": "done", "calls": [[7, 2, 3], [7, 1, 4.5], [8, 1.5, 2.5]]}
    assert ask("calls", events, "other") == {"event": "done", "calls": []}
    refused(ask("calls", events, "bad"), "EBADMSG", "a stop (0.5) of process ID 7 without a start")


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_single_file_can_be_combined(ask, tmp_path, kind):
    rows = [(7, "b", 0, 1.0), (7, "b", 1, 2.5)]
    part = write_events(tmp_path / f"part.{kind}", rows)
    assert ask("combine", tmp_path / f"one.{kind}", part) == {"event": "done"}
    assert ask("combine", tmp_path / f"two.{kind}", part, part) == {"event": "done"}
    assert read_events(tmp_path / f"one.{kind}") == rows
    assert read_events(tmp_path / f"two.{kind}") == rows * 2
    refused(ask("combine", tmp_path / f"two.{kind}", part), "EEXIST", "already exists")


def test_every_statistic_can_be_compared(ask, sub_track, tmp_path):
    first = json.loads(golden("analyze.json"))
    (tmp_path / "A.json").write_text(json.dumps(first))
    first["code_block_results"][-1]["name"] = "train.py:12"
    (tmp_path / "B.json").write_text(json.dumps(first))
    result = ask("compare", "A", "A.json", "B", "B.json")
    warning, = result["warnings"]
    assert "differ by line number" in warning
    assert list(result["statistics"]) == STATISTICS
    for statistic, found in result["statistics"].items():
        options = ("-m", "A=A.json", "-m", "B=B.json", f"--stat={statistic}")
        assert found["text"] + "\n" == sub_track("compare", *options).stdout
        assert found["results"] == json.loads(sub_track("compare", *options, "-fjson").stdout)


@pytest.mark.parametrize("words, code, message", [
    (("dance", "a.csv"), "EINVAL", "unknown operation 'dance'"),
    (("analyze",), "EINVAL", "operation 'analyze': wrong number of arguments"),
    (("analyze", "a.csv", "b.csv", "c.csv"), "EINVAL", "wrong number of arguments"),
    (("analyze", "a.txt"), "EINVAL", "Invalid file name"),
    (("analyze", "none.csv"), "ENOENT", "none.csv"),
    (("analyze", TRACKING, "none.csv"), "ENOENT", "none.csv"),
    (("calls", "none.csv", "b"), "ENOENT", "none.csv"),
    (("compare", "A", "none.json"), "ENOENT", "none.json"),
    (("compare", "A", GOLDEN / "analyze.json", "B"), "EINVAL", "'B' has no results file"),
    (("compare", "A", TRACKING), "EBADMSG", "tracking.csv"),
    (("combine", "new.csv", "none.csv"), "ENOENT", "none.csv"),
    (("combine", "new.csv", "x.sqlite"), "EINVAL", "does not end with the same extension"),
])
def test_errors_carry_an_error_code(ask, words, code, message):
    refused(ask(*words), code, message)


def test_sessions_with_different_code_blocks_are_refused(ask, tmp_path):
    """The message lists code blocks, and may be longer than other messages."""
    results = json.loads(golden("analyze.json"))
    (tmp_path / "A.json").write_text(json.dumps(results))
    results["code_block_results"][-1]["name"] = "x" * 500
    (tmp_path / "B.json").write_text(json.dumps(results))
    refused(ask("compare", "A", "A.json", "B", "B.json"), "EINVAL", "x" * 500)


def test_operation_on_the_command_line_is_refused(spoor):
    done = subprocess.run(["gpu-tracker", "agent", "sub-track", "analyze", "a.csv"], text=True,
                          executable=spoor.binary, capture_output=True, check=False)
    assert done.returncode == 125
    refused(json.loads(done.stdout), "EINVAL", "takes no arguments")
