# SPDX-License-Identifier: Apache-2.0
"""Precedence of settings: option, variable, config file, default."""
import json

import pytest

from conftest import load

pytestmark = pytest.mark.any_user


@pytest.fixture
def interval(spoor, tmp_path, clean_environment):
    """interval(option, variable, config) returns the interval that a run used."""

    def run(option=None, variable=None, config=None):
        arguments, environment = [], dict(clean_environment)
        if option:
            arguments += ["-i", option]
        if variable:
            environment["SPOOR_INTERVAL"] = variable
        if config:
            (tmp_path / "config.json").write_text(json.dumps({"interval": config}))
            arguments += ["--config", tmp_path / "config.json"]
        path = spoor.new_path("result.json")
        done = spoor("run", "-q", "-o", path, *arguments, "--", "true", env=environment)
        assert done.returncode == 0, done.stderr
        return load(path)["run"]["interval_seconds"]

    return run


def test_options_override_variables_and_the_config_file(interval):
    assert interval() == 1
    assert interval(config="4s") == 4
    assert interval(config="4s", variable="3s") == 3
    assert interval(config="4s", variable="3s", option="2s") == 2


@pytest.mark.parametrize("text, seconds", [("0.5", 0.5), ("500ms", 0.5), ("2m", 120), ("1h", 3600),
                                           ("0.001", 0.001), ("1ms", 0.001), ("3600", 3600),
                                           ("1.5s", 1.5)])
def test_an_interval_may_have_a_unit(interval, text, seconds):
    assert interval(option=text) == pytest.approx(seconds)


@pytest.mark.parametrize("arguments", [["-i2"], ["-i", "2"], ["--interval", "2"], ["--interval=2"],
                                       ["-qi2"]], ids=str)
def test_a_value_may_follow_its_option_in_any_form(spoor, arguments):
    path = spoor.new_path("result.json")
    assert spoor("run", "-q", "-o", path, *arguments, "--", "true").returncode == 0
    assert load(path)["run"]["interval_seconds"] == 2


def test_a_variable_may_name_the_config_file(spoor, tmp_path, clean_environment):
    (tmp_path / "config.json").write_text('{"interval": 7, "name": "from the file"}')
    path = spoor.new_path("result.json")
    environment = {**clean_environment, "SPOOR_CONFIG": str(tmp_path / "config.json")}
    assert spoor("run", "-q", "-o", path, "--", "true", env=environment).returncode == 0
    run = load(path)["run"]
    assert (run["interval_seconds"], run["name"]) == (7, "from the file")


def test_result_contains_name_and_tags(spoor):
    _, result = spoor.result("true", options=["--name", "my run", "--tag", "a=1", "--tag", "b=x=y"])
    assert result["run"]["name"] == "my run"
    assert result["run"]["tags"] == {"a": "1", "b": "x=y"}


def test_options_after_the_command_belong_to_the_command(spoor):
    """Arguments after the command belong to the command, with or without "--"."""
    done = spoor("run", "-q", "echo", "-q", "--help", "--", "-i")
    assert done.stdout == "-q --help -- -i\n"


def test_doctor_lists_sources_and_fixes(spoor):
    done = spoor("doctor")
    assert done.returncode == 0 and done.stderr == ""
    assert "CPU" in done.stdout and "yes" in done.stdout and "procfs" in done.stdout.lower()


def test_doctor_and_a_run_agree_on_the_cgroup(spoor):
    """Regression test: doctor did not search for a cgroup, and reported none although runs had
    one."""
    _, result = spoor.result("true")
    first = spoor("doctor").stdout.partition("CPU time of a job\n")[2].splitlines()[0]
    assert first.split()[1] == "cgroup.cpu.stat"
    has_cgroup = result["cpu"]["total_seconds"]["source"] == "cgroup.cpu.stat"
    assert first.split()[0] == ("used" if has_cgroup else "no")
