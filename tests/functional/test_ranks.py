# SPDX-License-Identifier: Apache-2.0
"""One of many ranks on a node: its tracker does not repeat what another rank measures for it."""
import os
import pathlib

import pytest

from conftest import count_waits, eventually, load, read_line, rows_of, value
from gpus import GIB, Run, card

REASON = "measured by local rank 0: no process of this rank was seen to use a GPU"
INIT = "nvmlInit_v2"


def rank(number, ranks):
    return {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number),
            "SLURM_LOCALID": str(number), "SLURM_STEP_NUM_TASKS": str(ranks),
            "SLURM_NODEID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_TASKS_PER_NODE": str(ranks)}


def wait_for_seconds(samples, seconds):
    """Waits until the tracker has taken a sample this late in the run."""
    eventually(lambda: samples.exists() and
               any(float(row["elapsed_seconds"]) >= seconds for row in rows_of(samples)), "a late sample")


def test_driver_is_opened_only_by_the_first_rank(spoor, machine):
    machine.play(card(0))
    samples = spoor.new_path("rows.csv")
    run = Run(spoor, machine, "-i", "0.2", "--samples", samples, **rank(3, 64))
    wait_for_seconds(samples, 1.5)  # after the first check
    result = run.end(opens=False)
    assert result["launch"]["local_rank"] == 3
    assert result["gpu"]["memory"]["combined_bytes"]["reason"] == REASON
    assert machine.calls(INIT) == 0


@pytest.mark.parametrize("environment", [
    {**rank(0, 64)},
    {**rank(3, 8), "CUDA_VISIBLE_DEVICES": "0"},  # may be a GPU of its own
])
def test_driver_is_opened_by_the_first_rank_of_its_gpus(spoor, machine, environment):
    machine.play(card(0))
    run = Run(spoor, machine, **environment)
    assert run.end()["gpu"]["count"] == 1


def test_driver_is_opened_once_a_process_uses_a_gpu(spoor, machine):
    """The job opens a plain file whose name looks like a device."""
    if os.geteuid() != 0:
        pytest.skip("makes a file in /dev, which needs root")
    device = pathlib.Path(f"/dev/nvidia-spoor-test-{os.getpid()}")
    machine.play(card(0))
    try:
        device.touch()
        run = Run(spoor, machine, command=("sh", "-c", f"exec 9<{device}; echo $$; read line; :"), **rank(3, 64))
        machine.play(f"process 0 compute {run.pid} {GIB}")
        machine.wait_for()
        result = run.end()
    finally:
        device.unlink()
    assert value(result, "gpu.memory.main_bytes") == GIB


def test_sentinel_is_not_read_for_a_single_process(spoor):
    """The sentinel is read 40 times a second once there is a second process."""
    path, samples = spoor.new_path("result.json"), spoor.new_path("rows.csv")
    job = "echo; read line; sleep 600 & echo; read line; kill $!"
    tracker = spoor.start("run", "-q", "-i", "0.5", "-o", path, "--samples", samples, "--", "sh", "-c", job,
                          env={**os.environ, **rank(3, 64)})
    rates = []
    for _ in range(2):
        assert read_line(tracker.stdout) == ""
        first = len(rows_of(samples)) if samples.exists() else 0
        wait_for_rows(samples, first + 2)  # the sampling has settled
        waits, rows = count_waits(tracker.pid), len(rows_of(samples))
        wait_for_rows(samples, rows + 4)
        rates.append((count_waits(tracker.pid) - waits) / (len(rows_of(samples)) - rows))
        tracker.stdin.write(b"\n")
        tracker.stdin.flush()
    assert tracker.wait() == 0
    started = load(path)["processes"]["started"]
    assert started["value"] == 2
    assert started["source"] != "proc-connector"  # the connector reports the processes of all ranks to each of them
    assert rates[1] > 2 * rates[0], rates


def wait_for_rows(samples, count):
    eventually(lambda: samples.exists() and len(rows_of(samples)) >= count, f"{count} samples")
