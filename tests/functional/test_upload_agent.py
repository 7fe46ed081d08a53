# SPDX-License-Identifier: Apache-2.0
"""Uploads by the agent of the Python package."""
import json
import os

import pytest

from conftest import eventually
from fake_sentinel import PREFIX, TOKEN, spools
from test_agent import Agent, ready

pytestmark = pytest.mark.any_user

COLUMNS = 32


@pytest.fixture
def order(resource_tracker, sentinel, tmp_path, monkeypatch):
    """Returns a function that writes the file for --upload; the environment has no token."""
    for name, value in sentinel.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SENTINEL_API_TOKEN")
    monkeypatch.delenv("SENTINEL_API_URL")

    def write(**members):
        path = resource_tracker.new_path("upload.json")
        path.write_text(json.dumps({"token": TOKEN, "api_url": sentinel.url, "interval": 0.2,
                                    "metadata": None, **members}))
        return str(path)
    return write


def cells(line):
    return line.split(",")


def test_the_combined_table_is_uploaded(resource_tracker, sentinel, tmp_path, held, order):
    path = order(metadata={"team": "blue", "pid": 7, "tags": {"a": "b"}})
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "0.05", "--upload", path)
    os.unlink(path)
    eventually(lambda: len(sentinel.puts) >= 2, "two batches")
    assert agent.ask("stop")["warnings"] == []
    result = agent.ask("finish", "0", "finished")["upload"]
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (0, "finished")
    assert result == {"is_complete": True, "message": None, "kept_rows": 0, "dropped_rows": 0,
                      "folder": None, "result": {"run_id": "run-0", "stats": {"rows": 1}}}
    assert sentinel.puts == [f"{PREFIX}/{number:04}.csv.gz" for number in range(len(sentinel.puts))]
    header, *rows = sentinel.rows(sentinel.puts)
    assert len(cells(header)) == COLUMNS and cells(header)[0] == '"timestamp"'
    assert {cells(row)[21] for row in rows} == {str(held.pid)}
    described = sentinel.runs["run-0"]
    assert (described["team"], described["pid"], described["tags"]) == ("blue", 7, {"a": "b"})
    assert described["host_vcpus"] == os.cpu_count()
    assert agent.ask("finish", "0", "finished")["code"] == "EINVAL"
    assert agent.end() == b""
    assert spools(tmp_path) == []


def test_samples_of_the_machine_alone_are_uploaded(resource_tracker, sentinel, order):
    agent = ready(resource_tracker, "--interval", "0.05", "--upload", order(interval=3600))
    assert agent.ask("finish", "3", "failed")["upload"]["is_complete"]
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"], end["data_source"]) == (3, "failed", "inline")
    header, *rows = sentinel.received()
    assert rows and all(len(cells(row)) == len(cells(header)) == COLUMNS for row in rows)


def test_unsent_rows_are_kept(resource_tracker, sentinel, tmp_path, held, order):
    sentinel.go_away()
    agent = ready(resource_tracker, "--pid", str(held.pid), "--interval", "3600", "--upload", order())
    result = agent.ask("finish", "0", "finished")["upload"]
    folder, = spools(tmp_path)
    assert (result["is_complete"], result["kept_rows"], result["folder"],
            result["result"]) == (False, 1, str(folder), None)
    assert "Failed to connect" in result["message"]
    assert agent.end() == b""


def test_run_without_a_finish_request_is_reported_as_failed(resource_tracker, sentinel, held, order):
    agent = ready(resource_tracker, "--pid", str(held.pid), "--upload", order())
    assert agent.end() == b""
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (1, "failed")


@pytest.mark.parametrize("members, message", [
    ({"token": None}, "there is no token to upload with"),
    ({"token": 7}, "there is no token to upload with"),
    ({"token": "a\nb"}, "SENTINEL_API_TOKEN is not a token: it has a blank or a character that is "
                        "not ASCII"),
    ({"interval": "x"}, "invalid upload interval: expected 0.1 to 86400 seconds"),
    ({"metadata": []}, "upload file: 'metadata' must be an object"),
])
def test_an_invalid_upload_file_is_refused(resource_tracker, sentinel, tmp_path, order, members, message):
    agent = Agent(resource_tracker, "--upload", order(**members))
    answer = agent.answer()
    assert (answer["code"], answer["message"]) == ("EINVAL", message)
    assert spools(tmp_path) == []


@pytest.mark.parametrize("arguments", [("x", "finished"), ("0", "done")])
def test_an_invalid_finish_request_is_refused(resource_tracker, sentinel, order, arguments):
    agent = ready(resource_tracker, "--upload", order())
    assert agent.ask("finish", *arguments)["code"] == "EINVAL"
    assert agent.ask("finish", "0", "finished")["upload"]["is_complete"]
