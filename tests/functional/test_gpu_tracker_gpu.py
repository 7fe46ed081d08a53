# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker on machines with GPUs, with a stand-in for NVIDIA's library."""
import csv
import json
import shlex

import pytest

from conftest import read_line
from gpu_tracker_report import split_output
from gpus import (GIB, LOST, MOVED_BYTES, QUICK, SLOW, USED_BYTES, VERSION_MISMATCH, WAIT,
                  card)

pytestmark = pytest.mark.any_user

UUIDS = "GPU-0000-aaaa, GPU-1000-aaaa"


class Job:
    """gpu-tracker around a job that waits for end of file on its input."""

    def __init__(self, gpu_tracker, machine, *options):
        self.process = gpu_tracker.start("-e", shlex.join(WAIT), "-f", "json", *options,
                                         env=machine.environment, cwd=gpu_tracker.folder)
        self.pid = int(read_line(self.process.stdout))

    def end(self):
        self.process.stdin.close()
        output, self.stderr = self.process.stdout.read().decode(), self.process.stderr.read()
        status, report = split_output(output)
        assert (self.process.wait(), status) == (0, 0)
        return json.loads(report)


def test_figures_cover_all_gpus_by_default(gpu_tracker, machine):
    """Memory units are powers of ten; the hardware share is the sum divided by the number of
    GPUs."""
    machine.play(card(0), card(1), "stream 0 gpu 200 50", "stream 1 gpu 200 100")
    job = Job(gpu_tracker, machine, "--gru=megabytes")
    machine.play(f"process 0 compute {job.pid} {GIB}")
    machine.wait_for(SLOW, times=4)
    report = job.end()
    assert report["max_gpu_ram"] == {
        "unit": "megabytes", "system_capacity": 300000.0, "system": pytest.approx(6000, abs=0.01),
        "main": GIB * 1e-6, "descendants": 0.0, "combined": GIB * 1e-6}
    assert report["gpu_utilization"]["system_gpu_count"] == 2
    assert report["gpu_utilization"]["n_expected_gpus"] == 2
    percentages = report["gpu_utilization"]["gpu_percentages"]
    assert percentages["mean_sum_percent"] == pytest.approx(150, abs=5)
    assert percentages["mean_hardware_percent"] == percentages["mean_sum_percent"] / 2
    assert percentages["max_hardware_percent"] == percentages["max_sum_percent"] / 2
    assert job.stderr == b""


def test_utilization_covers_only_selected_gpus(gpu_tracker, machine):
    machine.play(card(0), card(1), "stream 0 gpu 200 50", "stream 1 gpu 200 100")
    job = Job(gpu_tracker, machine, "--guuids=GPU-0000-aaaa")
    machine.play(f"process 0 compute {job.pid} {GIB}")  # otherwise GPUs are read only every 10 s
    machine.wait_for(SLOW, times=4)
    utilization = job.end()["gpu_utilization"]
    assert (utilization["system_gpu_count"], utilization["n_expected_gpus"]) == (2, 1)
    for name, percent in utilization["gpu_percentages"].items():
        assert percent == pytest.approx(50, abs=2), name


def test_rows_contain_gpu_figures(gpu_tracker, machine):
    machine.play(card(0), "stream 0 gpu 100 50")
    job = Job(gpu_tracker, machine, "--tf=rows.csv", "--st=0.1", "--gru=bytes")
    machine.play(f"process 0 compute {job.pid} {GIB}")
    machine.wait_for(SLOW, times=2)
    job.end()
    lines = (gpu_tracker.folder / "rows.csv").read_text().splitlines()
    assert lines[1].split(",")[4] == "150000000000.0" and lines[1].endswith(",1,1")
    rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines[2:])]
    assert rows[-1]["main_gpu_ram"] == rows[-1]["combined_gpu_ram"] == GIB
    assert rows[-1]["descendants_gpu_ram"] == 0
    assert rows[-1]["system_gpu_ram"] >= USED_BYTES - MOVED_BYTES
    assert max(row["gpu_sum_utilization_percent"] for row in rows) == pytest.approx(50, abs=5)
    for row in rows:
        assert row["gpu_hardware_utilization_percent"] == row["gpu_sum_utilization_percent"]


@pytest.mark.parametrize("options, message", [
    (["--guuids=GPU-x"], f"GPU UUID of GPU-x is not valid. Available UUIDs are: {UUIDS}"),
    (["--guuids=0"], f"GPU UUID of 0 is not valid. Available UUIDs are: {UUIDS}"),
    (["--guuids=GPU-1000-aaaa,"], f"GPU UUID of  is not valid. Available UUIDs are: {UUIDS}"),
    (["--guuids="], "gpu_uuids is not None but the set is empty. Please provide a set of at least "
                    "one GPU UUID."),
    (["--gb=amd"], 'No GPU of the brand "amd" was found.'),
])
def test_missing_gpu_is_refused(gpu_tracker, machine, options, message):
    machine.play(card(1), card(0))
    trace = gpu_tracker.folder / "trace"
    done = gpu_tracker("-e", f"touch {trace}", *options, env=machine.environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ERROR:root:{message}\n"
    assert not trace.exists()


def test_empty_list_in_a_config_file_is_refused(gpu_tracker, machine):
    machine.play(card(0))
    path = gpu_tracker.folder / "config.json"
    path.write_text('{"gpu_uuids": []}')
    done = gpu_tracker("-e", "true", f"--tconfig={path}", env=machine.environment)
    assert done.returncode == 1 and "the set is empty" in done.stderr


def test_available_brand_is_accepted(gpu_tracker, machine):
    machine.play(card(0))
    assert Job(gpu_tracker, machine, "--gb=nvidia").end()["gpu_utilization"]["n_expected_gpus"] == 1


def test_driver_that_does_not_respond_causes_a_warning(gpu_tracker, machine):
    """The predecessor warned too if its tool was installed but could not connect."""
    machine.play(card(0), f"fail nvmlInit {VERSION_MISMATCH}")
    done = gpu_tracker("-e", "sleep 0.2", "-f", "json", env=machine.environment)
    assert done.returncode == 0
    assert done.stderr.count("WARNING:root:") == 1
    assert done.stderr.endswith(" The GPU RAM and GPU utilization values will remain 0.0.\n")
    assert "Neither the nvidia-smi" not in done.stderr
    report = json.loads(split_output(done.stdout)[1])
    assert report["gpu_utilization"]["system_gpu_count"] == 0
    done = gpu_tracker("-e", "true", "--gb=nvidia", env=machine.environment)
    assert done.returncode == 1 and done.stderr.startswith("ERROR:root:")


BLOCKED = "WARNING:root:The GPU driver does not respond. The GPU RAM and GPU utilization values " \
    "will remain 0.0.\n"


@pytest.mark.parametrize("options", [[], ["--guuids=GPU-0000-aaaa"], ["--gb=nvidia"],
                                     ["--tf=rows.csv"]])
def test_command_does_not_wait_for_a_driver(gpu_tracker, machine, options):
    """The command does not wait even if the driver is needed to identify the GPUs. The warning
    is printed at the end."""
    machine.play(card(0), "block nvmlInit 60000")
    done = gpu_tracker("-e", "sh -c 'echo started >&2'", "-f", "json", *options,
                       env=machine.environment, cwd=gpu_tracker.folder)
    assert done.returncode == 0
    assert done.stderr.startswith("started\n" + BLOCKED), done.stderr
    report = json.loads(split_output(done.stdout)[1])
    assert report["gpu_utilization"]["system_gpu_count"] == 0


@pytest.mark.parametrize("options", [[], ["--guuids=GPU-1000-aaaa"]])
def test_gpus_of_a_slow_driver_are_in_the_final_report(gpu_tracker, machine, options):
    """The driver responds after the timeout of the GPU list, while the command is still running."""
    machine.play(card(0), card(1), "block nvmlInit 2500")
    job = Job(gpu_tracker, machine, *options)
    machine.wait_for(SLOW)
    report = job.end()
    assert report["gpu_utilization"]["system_gpu_count"] == 2
    assert report["gpu_utilization"]["n_expected_gpus"] == (1 if options else 2)
    assert report["max_gpu_ram"]["system_capacity"] == 300.0
    assert report["max_gpu_ram"]["system"] > 0


def test_warning_lists_all_figures_that_are_shown_as_0(gpu_tracker, machine):
    machine.play(card(0), f"fail {QUICK} {LOST}")
    done = gpu_tracker("-e", "sleep 0.5", env=machine.environment)
    assert "GPU RAM and GPU utilization could not be measured and are shown as 0.0: the driver " \
        "has lost the device.\n" in done.stderr
    assert "WARNING:root:System GPU RAM" in done.stderr
