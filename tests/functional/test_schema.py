# SPDX-License-Identifier: Apache-2.0
"""docs/spoor.schema.json: reports of every kind match it, and it defines every key. All other
tests check their reports against it, too (conftest.load)."""
import copy
import json
import pathlib
import re

import jsonschema
import pytest

import schema
from gpus import GIB, Run, card

pytestmark = pytest.mark.any_user
EXPECTED = pathlib.Path(__file__).resolve().parents[1] / "replay/expected"


@pytest.fixture
def gpu_report(spoor, machine):
    """Returns the report of a run with a GPU and a phase, which has every section."""
    machine.play(card(0), "device 0 power 250500")
    command = ("bash", "-c", f"echo $$; {spoor.binary} phase start a; read; {spoor.binary} phase stop a")
    run = Run(spoor, machine, "--tag", "a=b", command=command)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    return run.end()


def test_schema_is_valid_and_allows_future_keys(gpu_report):
    opened = json.loads(schema.PATH.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(opened)
    jsonschema.validate({**gpu_report, "later": 1}, opened)
    assert gpu_report["phases"] and gpu_report["gpu"]["devices"]


@pytest.mark.parametrize("command", [("sh", "-c", "kill -9 $$"), ("sh", "-c", "exit 3"), ("/nonexistent",),
                                     ("/dev/null",)])
def test_reports_of_failed_runs_match_the_schema(spoor, command):
    path = spoor.new_path("report.json")
    assert spoor("run", "-q", "-o", path, "--", *command).returncode != 0
    if path.exists():  # there may be no report of a command that never ran
        schema.check_schema(json.loads(path.read_text("utf-8")))
    else:
        assert command[0].startswith("/")


def test_reports_of_an_unfinished_attach_and_of_the_system_match_the_schema(spoor, held):
    for arguments in (("attach", "-q", "--duration", "0.1", str(held.pid)), ("system", "-i", "0.05")):
        path = spoor.new_path("report.json")
        assert spoor(*arguments, "-o", path).returncode == 0
        schema.check_schema(json.loads(path.read_text("utf-8")))


def test_reports_made_from_samples_and_recordings_match_the_schema(spoor, tmp_path):
    rows = tmp_path / "rows.csv"
    assert spoor("run", "-q", "--samples", rows, "--", "true").returncode == 0
    schema.check_schema(json.loads(spoor("report", "-f", "json", rows).stdout))
    schema.check_schema(json.loads((EXPECTED / "worker-pool.json").read_text("utf-8")))


def test_runs_embedded_in_a_page_match_the_schema(spoor, tmp_path, gpu_report):
    (tmp_path / "run.json").write_text(json.dumps(gpu_report))
    done = spoor("report", "-o", tmp_path / "page.html", tmp_path / "run.json")
    if "has no report page" in done.stderr:
        pytest.skip("this build has no report page")
    data = re.search(r'<script id="?spoor-data"?[^>]*>(.*?)</script>', (tmp_path / "page.html").read_text("utf-8"), re.S)
    run, = json.loads(data[1])["runs"]
    assert run["recommendation"]["requests"]
    schema.check_schema(run)


def objects(node, place=()):
    """Yields the place of every object in a report whose keys are defined by the schema; for
    measures, only the first."""
    if isinstance(node, dict) and place not in (("run", "tags"), ("curve", "columns")):
        yield place
    if isinstance(node, (dict, list)):
        for key, item in node.items() if isinstance(node, dict) else enumerate(node[:1]):
            if not (isinstance(item, dict) and "exact" in item) or (*place, key) == ("cpu", "total_seconds"):
                yield from objects(item, (*place, key))


def test_schema_check_detects_new_and_missing_keys(gpu_report):
    """Uses the schema as the tests do: with unlisted keys forbidden."""
    places = set(objects(gpu_report))
    changed = copy.deepcopy(gpu_report)
    for place in places:
        node_at(changed, place)["new_key"] = 1
    errors = [error for error in schema.VALIDATOR.iter_errors(changed) if "new_key" in error.message]
    assert {tuple(error.absolute_path) for error in errors} == places
    for place in places:
        changed = copy.deepcopy(gpu_report)
        node = node_at(changed, place)
        for key in [key for key in node if key not in ("low", "high", "mean")][:1]:
            del node[key]
            with pytest.raises(AssertionError, match="required|dependency"):
                schema.check_schema(changed)


def node_at(node, place):
    for key in place:
        node = node[key]
    return node


@pytest.mark.parametrize("measure", [
    {"value": None, "source": None, "exact": False}, {"value": 1, "source": None, "exact": True},
    {"value": 1, "source": "x", "exact": True, "reason": "y"}, {"value": -1, "source": "x", "exact": True},
    {"value": 1, "source": "x", "exact": False, "low": 0}, {"value": "1", "source": "x", "exact": True},
    {"value": 1, "source": "x", "exact": True, "low": 0, "high": 2}, {"value": 3, "source": "x", "exact": False, "low": 0, "high": 2},
    {"value": None, "source": None, "exact": False, "reason": "y", "low": 0, "high": None}])
def test_schema_check_detects_contradictory_measures(measure):
    report = json.loads((EXPECTED / "worker-pool.json").read_text("utf-8"))
    report["cpu"]["total_seconds"] = measure
    with pytest.raises(AssertionError):
        schema.check_schema(report)
