# SPDX-License-Identifier: Apache-2.0
"""Runs every command in the documentation of the predecessor's versions, from examples/."""
import json
import pathlib
import shlex
import shutil

import pytest

from gpu_tracker_report import STATUS, json_paths, parse_text, paths, split_output

pytestmark = pytest.mark.any_user

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"

# The label paths missing in version 2; the rest of the report is the same.
SINCE_VERSION_2 = ("CPU utilization", "GPU utilization", "cpu_utilization", "gpu_utilization")

SCRIPT = [
    'gpu-tracker -e "bash example-script.sh" --st=0.3',
    "gpu-tracker -e 'bash example-script.sh' --tu=seconds --gru=megabytes --ru=megabytes --st=0.2",
    "gpu-tracker -e 'bash example-script.sh' -o out.txt --st=0.2",
    "gpu-tracker -e 'bash example-script.sh' -f json --st=0.2",
    "gpu-tracker -e 'bash example-script.sh' -f json -o out.json --st=0.3",
]
SLEEP = [
    "gpu-tracker -e 'sleep 2'",
    "gpu-tracker -e 'sleep 2' --tu=seconds --ru=megabytes",
    "gpu-tracker -e 'sleep 2' -o out.txt",
    "gpu-tracker -e 'sleep 2' -f json",
    "gpu-tracker -e 'sleep 2' -f json -o out.json",
]


def run_all(gpu_tracker, commands, *options):
    """Runs all commands concurrently. Returns the reports, as {path: value}, and their formats."""
    for name in EXAMPLES.glob("*.sh"):
        shutil.copy(name, gpu_tracker.folder)
    running = [gpu_tracker.start(*shlex.split(command)[1:], *options, cwd=gpu_tracker.folder)
               for command in commands]
    for command, process in zip(commands, running):
        process.stdin.close()
        output = process.stdout.read().decode()
        assert process.wait() == 0
        status, report = split_output(output)
        assert status == 0
        if "-o out" in command:
            assert output == STATUS + "0\n"
            name = "out.json" if "json" in command else "out.txt"
            report = (gpu_tracker.folder / name).read_text()
        else:
            assert report.endswith("\n")
            report = report[:-1]
        yield command, report


def flat(report, above=()):
    for key, value in report.items():
        if isinstance(value, dict):
            yield from flat(value, (*above, key))
        else:
            yield (*above, key), value


@pytest.mark.parametrize("spelling, commands", [("descendants", SCRIPT), ("descendents", SCRIPT[2:4])])
def test_documented_commands_of_versions_3_to_5_work(gpu_tracker, spelling, commands):
    """Version 3 uses the spelling "descendents": the names in text and JSON differ."""
    def expected(column):
        return [tuple(name.replace("escendants", "e" + spelling[2:]) for name in path)
                for path in paths(column=column)]

    for command, report in run_all(gpu_tracker, commands, f"--spelling={spelling}"):
        if "json" in command:
            values = json.loads(report)
            assert report == json.dumps(values, indent=1)
            assert list(json_paths(values)) == expected(0)
            check_load(dict(flat(values)), spelling)
        else:
            found = parse_text(report)
            assert list(found) == expected(1)
            unit = "megabytes" if "megabytes" in command else "gigabytes"
            assert found["Max RAM", "Unit"] == found["Max GPU RAM", "Unit"] == unit


def check_load(values, spelling):
    """The script holds 200 MB in its children and computes in another child."""
    assert 0.2 <= values["max_ram", spelling, "total_rss"] < 0.3
    assert values["max_ram", "main", "total_rss"] < 0.02
    assert values["max_ram", "combined", "total_rss"] >= values["max_ram", spelling, "total_rss"]
    assert values["cpu_utilization", spelling, "mean_sum_percent"] > \
        10 * values["cpu_utilization", "main", "mean_sum_percent"]
    assert values["cpu_utilization", spelling + "_n_threads"] >= 3
    assert values["compute_time", "time"] >= 1 / 3600


def test_documented_commands_of_version_2_work(gpu_tracker):
    for command, report in run_all(gpu_tracker, SLEEP, "--spelling=descendents"):
        found = dict(flat(json.loads(report))) if "json" in command else parse_text(report)
        time = next(float(value) for path, value in found.items()
                    if path[-1] in ("Time", "time"))
        seconds = time if "--tu=seconds" in command else time * 3600
        assert 2 <= seconds < 60  # text shows hours with three decimals: 0.001 for 2 s
        assert {path[0] for path in found} - set(SINCE_VERSION_2) in (
            {"Max RAM", "Max GPU RAM", "Compute time"}, {"max_ram", "max_gpu_ram", "compute_time"})
