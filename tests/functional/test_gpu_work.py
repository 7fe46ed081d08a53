# SPDX-License-Identifier: Apache-2.0
"""The work of GPUs, from the performance counters of a stand-in for NVIDIA's library."""
import re
import time

import pytest

from conftest import eventually, read_line, rows_of, value
from gpus import GIB, QUICK, SLOW, Run, card, gpu_warnings

pytestmark = pytest.mark.any_user

SHARES = {"sm": (2, 11), "occupancy": (3, 5), "tensor": (5, 0), "fp64": (11, 1), "fp32": (12, 8),
          "fp16": (13, 2), "dram": (10, 40)}
RATES = {"pcie_sent": (20, 70), "pcie_received": (21, 1000), "nvlink_sent": (61, 3),
         "nvlink_received": (60, 5)}
HOPPER = [card(0), "gpm 0 all 97", "stream 0 gpu 200 97"] + \
    [f"gpm 0 metric {number} {amount}" for number, amount in [*SHARES.values(), *RATES.values()]]
SNAPSHOT, METRICS, IN_USE = "nvmlGpmSampleGet", "nvmlGpmMetricsGet", 19


def start(spoor, machine, *options, **more):
    """Starts a job on a GPU that has performance counters."""
    machine.play(*HOPPER)
    run = Run(spoor, machine, *options, **more)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"busy 0 {run.pid} 200 97")
    return run


def test_work_figures_are_means_over_the_run(spoor, machine):
    run = start(spoor, machine)
    machine.wait_for(METRICS)
    ends = time.monotonic()
    result = run.end()
    late = time.monotonic() - ends  # the device may work until it is read for the last time
    device = result["gpu"]["devices"][0]
    seconds = result["run"]["elapsed_seconds"]
    shares = {name: value(result, f"gpu.work.{name}_gpus") for name in SHARES}
    # All shares miss the same time: the time before the first snapshot.
    covered = shares["sm"] / 0.11
    assert 0 < covered <= 1 + late / seconds
    for name, (_, percent) in SHARES.items():
        assert shares[name] == pytest.approx(percent / 100 * covered, rel=0.01, abs=1e-5)
        # The mean of the device goes on until it is read for the last time.
        least = percent / 100 * covered * seconds / (seconds + late)
        assert 0.95 * least - 1e-5 <= device["work"][name]["value"] <= 1.05 * percent / 100 * covered + 1e-5
        assert device["work"][name]["source"] == "nvml.gpm"
    for name, (_, rate) in RATES.items():
        # The last 100 ms may be too short for a reading, and are extrapolated.
        for amount in (result["gpu"]["work"][f"{name}_bytes"], device["work"][f"{name}_bytes"]):
            assert amount["value"] == pytest.approx(rate * (1 << 20) * covered * seconds, rel=0.1)
    measure = result["gpu"]["work"]["sm_gpus"]
    assert (measure["source"], measure["exact"]) == ("nvml.gpm", False)
    assert gpu_warnings(result) == []
    text = spoor("report", "-f", "text", run.path).stdout
    assert re.search(r"GPU work +\d+(\.\d+)? % +of the SMs worked, though busy \d+(\.\d+)? % of the\s+time; "
                     r"the\s+tensor\s+cores\s+were\s+idle,\s+memory\s+bandwidth", text)


def test_work_figures_need_a_gpu_with_counters(spoor, machine):
    machine.play(card(0))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    work = run.end()["gpu"]["work"]["sm_gpus"]
    assert (work["value"], work["reason"]) == \
        (None, "the driver counts it on Hopper and later devices only")
    assert "GPU work" not in spoor("report", "-f", "text", run.path).stdout


def test_counters_are_not_read_unless_the_job_uses_the_gpu(spoor, machine):
    machine.play(*HOPPER, f"process 0 compute 1 {GIB}")
    run = Run(spoor, machine)
    machine.wait_for(SLOW)
    machine.wait_for(QUICK)
    result = run.end()
    assert (machine.calls(SNAPSHOT), machine.calls(METRICS)) == (0, 0)
    assert result["gpu"]["work"]["sm_gpus"]["reason"] == "counted only while the job uses the GPU"
    assert result["gpu"]["devices"][0]["work"]["sm"]["value"] is None


def test_disabled_counters_are_not_read(spoor, machine):
    run = start(spoor, machine, "--gpm", "off")
    machine.wait_for(SLOW)
    result = run.end()
    assert machine.calls(SNAPSHOT) == 0
    for measure in (result["gpu"]["work"]["tensor_gpus"], result["gpu"]["devices"][0]["work"]["tensor"]):
        assert measure["reason"] == "--gpm off: performance counters are not read"


@pytest.mark.parametrize("call", [SNAPSHOT, METRICS])
def test_counters_in_use_by_a_profiler_are_not_read_again(spoor, machine, call):
    """The counters are tried once, then never again."""
    machine.play(f"fail {call} {IN_USE}")
    run = start(spoor, machine)
    eventually(lambda: machine.calls(call) > 0, "the counters are tried")
    machine.wait_for(SLOW)
    result = run.end()
    assert machine.calls(call) == 1 if call == METRICS else machine.calls(METRICS) == 0
    assert machine.calls(SNAPSHOT) == (1 if call == SNAPSHOT else 2)
    measure = result["gpu"]["work"]["sm_gpus"]
    assert measure["value"] is None
    assert measure["reason"] == "the device's performance counters are in use, as by DCGM or a profiler"
    assert value(result, "gpu.memory.combined_bytes") == GIB


def test_a_metric_that_the_driver_lacks_is_unknown(spoor, machine):
    machine.play(*(line for line in HOPPER if "metric 61" not in line))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for(METRICS)
    work = run.end()["gpu"]["work"]
    assert work["nvlink_sent_bytes"]["reason"] == "the driver does not report it"
    assert work["nvlink_received_bytes"]["value"] > 0


def test_work_of_a_process_that_exits_early_is_counted(spoor, machine):
    """The counters are read once more after the process has exited, then never again."""
    run = start(spoor, machine)
    machine.wait_for(SNAPSHOT)
    machine.play(f"process 0 compute {run.pid} gone")
    machine.wait_for(METRICS)
    snapshots = machine.calls(SNAPSHOT)
    machine.wait_for(SLOW)
    assert value(run.end(), "gpu.work.sm_gpus") > 0
    assert machine.calls(SNAPSHOT) == snapshots


POWER = "nvmlDeviceGetPowerUsage"
MARKS = "echo $$; while read -r mark; do \"$SPOOR\" phase $mark; echo marked; done"


@pytest.mark.alone
def test_energy_of_phases_comes_from_the_counter(spoor, machine):
    """In this test the energy counter increases by more than power times time. A phase waits 50 ms for
    the driver, or longer if the driver computes: on a machine so busy that this is not enough, its
    energy is estimated by the power."""
    machine.play(card(0), "device 0 power 700000", "device 0 energy 1000000")
    run = Run(spoor, machine, command=("bash", "-c", MARKS), SPOOR=spoor.binary)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()

    def mark(words, millijoules):
        # Power is read at most once a second, the counter every two seconds.
        before = machine.calls(POWER)
        eventually(lambda: machine.calls(POWER) >= before + 3, "seconds")
        machine.play(f"device 0 energy {millijoules}")
        for word in words:
            run.process.stdin.write(f"{word}\n".encode())
            run.process.stdin.flush()
            assert read_line(run.process.stdout) == "marked"

    mark(["start work"], 101000000)
    mark(["stop work", "start rest"], 181000000)
    machine.play("device 0 power 100000")
    mark(["stop rest"], 211000000)
    work, rest = run.end()["phases"]
    assert work["energy"]["gpu_joules"]["value"] == pytest.approx(80000, rel=0.05)
    assert rest["energy"]["gpu_joules"]["value"] == pytest.approx(30000, rel=0.05)
    assert work["energy"]["gpu_joules"]["exact"]


@pytest.mark.parametrize("has_counters", [True, False])
def test_doctor_has_a_row_for_gpu_work_counters(spoor, machine, has_counters):
    machine.play(*(HOPPER if has_counters else [card(0)]))
    text = spoor("doctor", env=machine.environment).stdout
    row = text.partition("work of NVIDIA GPUs: SMs, tensor cores, bandwidth\n")[2].partition("\n\n")[0]
    assert row.split()[:2] == ["used" if has_counters else "no", "nvml.gpm"]
    assert has_counters or "Hopper" in row
    assert machine.calls(SNAPSHOT) == 0


def test_samples_contain_the_work_of_each_gpu(spoor, machine):
    samples = spoor.new_path("samples.csv")
    run = start(spoor, machine, "-i", "0.1", "--samples", samples)
    eventually(lambda: rows_of(samples)[-1:] and rows_of(samples)[-1]["gpu0_sm_active"], "its work")
    row = rows_of(samples)[-1]
    assert float(row["gpu0_sm_active"]) == pytest.approx(0.11, abs=1e-4)
    assert float(row["gpu0_dram_active"]) == pytest.approx(0.4, abs=1e-4)
    assert float(row["gpu0_pcie_received_bytes"]) > 0
    assert float(row["host_gpu_sm_seconds"]) > 0
    run.end()
