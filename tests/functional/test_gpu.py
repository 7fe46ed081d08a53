# SPDX-License-Identifier: Apache-2.0
"""GPU figures, read from a stand-in for NVIDIA's library."""
import json
import os
import signal

import pytest

from conftest import continue_after_the_end, eventually, load, read_line, rows_of, value
from gpus import (GIB, LIST, LOST, MOVED_BYTES, NOT_LOADED, NOT_SUPPORTED, NO_PERMISSION, QUICK,
                  SLOW, UNKNOWN_ERROR, USED_BYTES, VERSION_MISMATCH, Run, card, gpu_warnings,
                  newest_memory, thread_switches, until_called)


@pytest.mark.threads
def test_gpu_memory_of_a_process_is_reported(spoor, machine):
    machine.play(card(0))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    result = run.end()
    assert result["gpu"]["count"] == 1
    assert result["gpu"]["selected"] == result["limits"]["gpus"] == ["GPU-0000-aaaa"]
    assert value(result, "gpu.memory.main_bytes") == GIB
    assert value(result, "gpu.memory.descendants_bytes") == 0
    assert value(result, "gpu.memory.combined_bytes") == GIB
    assert value(result, "gpu.memory.system_bytes") == USED_BYTES
    assert result["gpu"]["memory"]["main_bytes"]["source"] == "nvml.processes"
    device = result["gpu"]["devices"][0]
    assert (device["uuid"], device["name"], device["vendor"]) == \
        ("GPU-0000-aaaa", "NVIDIA H200", "nvidia")
    assert device["memory"]["job_peak_bytes"]["value"] == GIB
    assert result["host"]["gpus"][0]["memory_bytes"] == 150000000000
    assert gpu_warnings(result) == []


# Holds back the opening of the driver until the script lists the job's process: in the stand-in,
# the process is busy from the start.
HELD, RELEASED = "block nvmlInit 60000", "block nvmlInit 0"


def test_gpu_memory_spike_between_two_samples_is_measured(spoor, machine):
    machine.play(card(0))
    run = Run(spoor, machine, "-i", "1h")
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    machine.play(f"process 0 compute {run.pid} {5 * GIB}")
    machine.wait_for()
    machine.play(f"device 0 used {20 * GIB}")  # includes other processes
    machine.wait_for(QUICK)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    result = run.end()
    assert value(result, "gpu.memory.combined_bytes") == 5 * GIB
    assert value(result, "gpu.memory.system_bytes") == 20 * GIB
    assert result["gpu"]["devices"][0]["memory"]["peak_bytes"]["value"] == 20 * GIB
    assert result["gpu"]["devices"][0]["memory"]["job_peak_bytes"]["value"] == 5 * GIB


def test_gpus_of_an_idle_job_are_not_read_until_it_runs(spoor, machine):
    machine.play(card(0))
    samples = spoor.new_path("samples.csv")
    run = Run(spoor, machine, "-i", "0.1", "--samples", samples,
              command=("bash", "-c", "echo $$; read; : {1..20000}; echo awake; read; :"))
    machine.play(f"process 0 compute {run.pid} {GIB}")
    eventually(lambda: newest_memory(samples) == [str(GIB)], "a row with its memory")
    sleeps = lambda: thread_switches(run.process.pid, "spoor-gpu")

    def is_left_alone():
        """Checks half a second of samples."""
        before, count = sleeps(), len(rows_of(samples))
        eventually(lambda: len(rows_of(samples)) >= count + 5, "rows")
        return sleeps() - before <= 1

    eventually(is_left_alone, "it is left alone")
    machine.play(f"process 0 compute {run.pid} {5 * GIB}")
    looks, slow_looks = machine.calls(QUICK), machine.calls(SLOW)
    run.process.stdin.write(b"\n")
    run.process.stdin.flush()
    assert read_line(run.process.stdout) == "awake"
    # A slow look makes this call several times too, but would come seconds later.
    eventually(lambda: machine.calls(QUICK) - looks > 4 * (machine.calls(SLOW) - slow_looks),
               "quick looks")
    assert value(run.end(), "gpu.memory.combined_bytes") == 5 * GIB


def test_descendants_belong_to_the_job_and_foreign_processes_do_not(spoor, machine):
    """A child belongs to the job even if no sample has seen it."""
    machine.play(card(0), f"process 0 compute 1 {2 * GIB}")
    job = "echo $$; bash -c 'echo $$; until read -t 0; do :; done'; read line"
    run = Run(spoor, machine, "-i", "1h", command=("bash", "-c", job))
    child = int(read_line(run.process.stdout))
    machine.play(f"process 0 compute {run.pid} {GIB}", f"process 0 graphics {child} {GIB // 2}")
    machine.wait_for("nvmlDeviceGetGraphicsRunningProcesses_v3")
    machine.wait_for()
    run.process.stdin.write(b"\n")
    run.process.stdin.flush()
    result = run.end(opens=False)  # the job may have ended
    assert value(result, "gpu.memory.main_bytes") == GIB
    assert value(result, "gpu.memory.descendants_bytes") == GIB // 2
    assert value(result, "gpu.memory.combined_bytes") == GIB * 3 // 2
    assert value(result, "gpu.memory.system_bytes") == 2 * GIB + GIB * 3 // 2


def test_device_and_job_have_their_own_utilization(spoor, machine):
    machine.play(card(0), "stream 0 gpu 200 50", HELD)
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"busy 0 {run.pid} 200 30",
                 "busy 0 1 200 20", RELEASED)
    machine.wait_for(SLOW, times=2)
    result = run.end()
    assert value(result, "gpu.utilization.mean_gpus") == pytest.approx(0.5, abs=0.02)
    assert value(result, "gpu.utilization.max_gpus") == pytest.approx(0.5, abs=0.02)
    assert value(result, "gpu.job_utilization.mean_gpus") == pytest.approx(0.3, abs=0.02)
    assert value(result, "gpu.job_utilization.max_gpus") == pytest.approx(0.3, abs=0.02)
    device = result["gpu"]["devices"][0]
    assert device["utilization"]["mean"]["value"] == pytest.approx(0.5, abs=0.02)
    assert device["job_utilization"]["max"]["value"] == pytest.approx(0.3, abs=0.02)


def test_usage_before_the_first_driver_sample_is_unknown(spoor, machine, tmp_path):
    """The job first held no GPU and then one. Its usage before the first driver sample is
    unknown, not 0."""
    samples = tmp_path / "samples.csv"
    machine.play(card(0), "stream 0 gpu 200 50")
    run = Run(spoor, machine, "-i", "20ms", "--samples", samples)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"busy 0 {run.pid} 200 30")
    eventually(lambda: newest_memory(samples) == [str(GIB)], "its memory")
    result = run.end()
    row = next(row for row in rows_of(samples) if row["job_gpu_memory_bytes"] == str(GIB))
    assert row["job_gpu_seconds"] == row["job_gpu_utilization_gpus"] == ""
    assert row["gpu0_job_utilization"] == ""
    if value(result, "gpu.utilization.mean_gpus") is None:  # true on every machine except a slow one
        assert value(result, "gpu.job_utilization.mean_gpus") is None
        assert value(result, "gpu.job_utilization.max_gpus") is None
        assert "no samples" in result["gpu"]["job_utilization"]["mean_gpus"]["reason"]
        assert result["gpu"]["devices"][0]["job_utilization"]["mean"]["value"] is None


def test_other_processes_on_the_jobs_gpu_cause_a_warning(spoor, machine):
    machine.play(card(0), "stream 0 gpu 200 50", f"process 0 compute 1 {GIB}")
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"busy 0 {run.pid} 200 30",
                 "busy 0 1 200 20")
    machine.wait_for(SLOW, times=2)
    assert gpu_warnings(run.end()) == ["gpu-shared"]


def test_late_driver_samples_do_not_raise_utilization_above_the_gpus(spoor, machine):
    """All driver samples of one second arrive within a single interval of 10 ms."""
    machine.play(card(0), "stream 0 gpu 20 100")
    run = Run(spoor, machine, "-i", "10ms")
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for(SLOW, times=2)
    result = run.end()
    assert value(result, "gpu.utilization.max_gpus") <= 1
    assert value(result, "gpu.utilization.mean_gpus") <= 1.01


def test_utilization_after_the_end_of_the_job_is_not_counted(spoor, machine):
    """The tracker is stopped when the job ends, and looks at the GPUs later."""
    machine.play(card(0), "stream 0 gpu 20 100")
    run = Run(spoor, machine, "-i", "10ms")
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for(SLOW, times=2)
    run.process.send_signal(signal.SIGSTOP)
    run.process.stdin.close()
    continue_after_the_end(run.process, 1)
    assert value(load(run.path), "gpu.utilization.mean_gpus") == pytest.approx(1, rel=0.02)


def test_energy_and_sensors_are_reported(spoor, machine):
    machine.play(card(0), "device 0 power 300000", "device 0 energy 1000000",
                 "device 0 temperature 51", "device 0 clock 1980", "device 0 throttle 4")
    run = Run(spoor, machine)
    machine.wait_for()
    machine.play("device 0 energy 1250000", "device 0 temperature 48")
    result = run.end()
    assert value(result, "energy.gpu_joules") == 250
    assert result["energy"]["gpu_joules"]["exact"] is True
    device = result["gpu"]["devices"][0]
    assert device["energy_joules"]["value"] == 250
    assert device["max_temperature_celsius"]["value"] == 51
    assert device["max_power_watts"]["value"] == 300
    assert device["throttled"] == ["power"]


def test_an_unavailable_figure_is_null_with_a_reason(spoor, machine):
    """Uses a card that reports only its name, and a process without memory figures."""
    machine.play("device 0 name NVIDIA H200", "device 0 uuid GPU-0000-aaaa")
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} -")
    machine.wait_for()
    result = run.end()
    assert result["gpu"]["count"] == 1
    for path in ("memory.combined_bytes", "memory.main_bytes", "memory.descendants_bytes",
                 "utilization.mean_gpus", "utilization.max_gpus"):
        assert value(result["gpu"], path) is None, path
    assert value(result, "energy.gpu_joules") is None
    reason = result["gpu"]["memory"]["combined_bytes"]["reason"]
    assert "does not report the memory of processes" in reason
    device = result["gpu"]["devices"][0]
    for key in ("energy_joules", "max_temperature_celsius", "max_power_watts"):
        assert device[key]["value"] is None, key
    assert device["throttled"] is None


def test_a_job_without_a_gpu_used_zero_bytes(spoor, machine):
    """The memory is a measured 0 if the driver lists processes; otherwise it is unknown."""
    machine.play(card(0))
    run = Run(spoor, machine)
    machine.wait_for()
    assert value(run.end(), "gpu.memory.combined_bytes") == 0
    for name in ("Compute", "Graphics", "MPSCompute"):
        machine.play(f"fail nvmlDeviceGet{name}RunningProcesses_v3 {NOT_SUPPORTED}")
    run = Run(spoor, machine)
    machine.wait_for()
    result = run.end()
    assert value(result, "gpu.memory.combined_bytes") is None
    assert "does not list" in result["gpu"]["memory"]["combined_bytes"]["reason"]


@pytest.mark.parametrize("code, words", [(NO_PERMISSION, "permission denied"),
                                         (NOT_SUPPORTED, "not supported"),
                                         (UNKNOWN_ERROR, "unknown error")])
def test_memory_is_unknown_instead_of_0_if_the_driver_refuses_the_process_list(spoor, machine, code, words):
    """The other lists work, and the driver's samples show the job's busy time."""
    machine.play(card(0), "stream 0 gpu 200 50", f"fail {LIST} {code}", HELD)
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}", f"busy 0 {run.pid} 200 30", RELEASED)
    machine.wait_for(SLOW, times=2)
    result = run.end()
    memory = result["gpu"]["memory"]
    for figure in (memory["main_bytes"], memory["descendants_bytes"], memory["combined_bytes"],
                   result["gpu"]["devices"][0]["memory"]["job_peak_bytes"]):
        assert figure["value"] is None
        assert figure["reason"] == f"the driver does not list compute processes: {words}"
    assert value(result, "gpu.job_utilization.mean_gpus") == pytest.approx(0.3, abs=0.02)


def refused_after_2_gib(spoor, machine, code):
    """The job holds 2 GiB when the driver starts to refuse the list of processes."""
    machine.play(card(0))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {2 * GIB}")
    machine.wait_for()
    machine.play(f"fail {LIST} {code}")
    machine.wait_for(SLOW, times=2)
    return run


def test_peak_is_kept_after_the_process_list_works_again(spoor, machine):
    run = refused_after_2_gib(spoor, machine, UNKNOWN_ERROR)
    machine.play(f"fail {LIST} 0", f"process 0 compute {run.pid} {GIB}")
    machine.wait_for(SLOW, times=2)
    result = run.end()
    assert value(result, "gpu.memory.combined_bytes") == 2 * GIB
    assert gpu_warnings(result) == []


def test_possibly_incomplete_peak_causes_a_warning(spoor, machine):
    result = refused_after_2_gib(spoor, machine, NO_PERMISSION).end()
    assert value(result, "gpu.memory.combined_bytes") == 2 * GIB
    assert gpu_warnings(result) == ["gpu-memory-unreported"]
    assert "permission denied" in result["warnings"][0]["message"]


def test_figures_of_a_lost_device_are_kept(spoor, machine):
    machine.play(card(0))
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    for name in (LIST, "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"):
        machine.play(f"fail {name} {LOST}")
    machine.wait_for()
    result = run.end()
    assert gpu_warnings(result) == ["gpu-lost"]
    assert value(result, "gpu.memory.combined_bytes") == GIB
    assert value(result, "gpu.memory.system_bytes") in (USED_BYTES - MOVED_BYTES, USED_BYTES)


def test_mig_parts_have_their_own_figures(spoor, machine):
    """With MIG, the memory of the part is reported, and utilization comes from GPM; figures that the
    whole device reports take precedence."""
    machine.play(card(0), "device 0 mig 1", "device 0.0 uuid MIG-1", "device 0.0 name part",
                 "device 0.0 total 70000000000", "device 0.0 used 1500000000",
                 "device 0.0 instance 3", "gpm 0 3 40", "gpm 0 all 25",
                 *(f"fail nvmlDeviceGet{name} {NOT_SUPPORTED}"
                   for name in ("Samples", "UtilizationRates", "ProcessUtilization")))
    run = Run(spoor, machine)
    machine.play(f"process 0.0 compute {run.pid} {GIB}")
    machine.wait_for("nvmlGpmMetricsGet", times=4)
    result = run.end()
    assert result["gpu"]["count"] == 1
    assert result["gpu"]["selected"] == ["GPU-0000-aaaa", "MIG-1"]
    assert value(result, "gpu.memory.combined_bytes") == GIB
    assert value(result, "gpu.memory.system_bytes") == USED_BYTES - MOVED_BYTES
    whole, part = result["gpu"]["devices"]
    assert part["memory"]["job_peak_bytes"]["value"] == GIB
    assert part["utilization"]["max"]["value"] == pytest.approx(0.4, abs=0.02)
    assert whole["utilization"]["max"]["value"] == pytest.approx(0.25, abs=0.02)
    for figure in (part["utilization"]["mean"], whole["utilization"]["max"],
                   result["gpu"]["utilization"]["mean_gpus"]):
        assert figure["source"] == "nvml.gpm"
    assert "MIG" in part["job_utilization"]["mean"]["reason"]
    assert whole["memory"]["job_peak_bytes"]["value"] == GIB  # the sum over its parts
    assert "parts" in whole["job_utilization"]["max"]["reason"]
    assert value(result, "gpu.utilization.max_gpus") == pytest.approx(0.25, abs=0.02)
    assert value(result, "gpu.job_utilization.mean_gpus") is None
    assert "MIG" in result["gpu"]["job_utilization"]["mean_gpus"]["reason"]


def test_accounting_data_of_the_driver_raises_the_peak(spoor, machine):
    machine.play(card(0), "device 0 accounting 1")
    run = Run(spoor, machine)
    machine.play(f"process 0 compute {run.pid} {GIB}",
                 f"account 0 {run.pid} {7 * GIB} 1000 0 1 0")
    machine.wait_for()
    result = run.end()
    # Accounting data has the host's PIDs; in a container these are not the job's.
    is_host = os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
    peak, source = (7 * GIB, "nvml.accounting") if is_host else (GIB, "nvml.processes")
    assert value(result, "gpu.memory.combined_bytes") == peak
    assert result["gpu"]["memory"]["combined_bytes"]["source"] == source
    assert result["gpu"]["devices"][0]["memory"]["job_peak_bytes"]["value"] == peak


@pytest.mark.parametrize("generation", ["bare", "v340", "v470", "v510", "v530", "full"])
def test_every_generation_of_drivers_is_supported(spoor, machine, standin, generation):
    machine.environment["LD_LIBRARY_PATH"] = str(standin / generation)
    machine.play(card(0))
    result = Run(spoor, machine).end()
    assert result["gpu"]["count"] == 1
    assert gpu_warnings(result) == []


# ---- drivers that fail --------------------------------------------------------------------

def test_nothing_about_gpus_is_printed_without_a_gpu(spoor, tmp_path):
    done, result = spoor.result("true")
    assert result["gpu"]["count"] == 0
    assert result["gpu"]["devices"] == result["gpu"]["selected"] == result["host"]["gpus"] == []
    assert result["warnings"] == []
    assert result["gpu"]["memory"]["combined_bytes"]["reason"] == "this machine has no GPU"
    done = spoor("run", "--", "true")
    assert "gpu" not in done.stderr.lower()


def result_without_driver(spoor, machine):
    """Returns the result of a command that exits at once; None if the machine was so busy that
    it ran longer."""
    machine.log.unlink(missing_ok=True)
    _, result = spoor.result("true", env=machine.environment)
    return result if machine.calls("nvmlInit") == 0 else None


def test_no_driver_is_opened_for_a_job_that_ends_at_once(spoor, machine):
    """The text report does not mention GPUs, as on a machine without GPUs."""
    machine.play(card(0))
    result = eventually(lambda: result_without_driver(spoor, machine), "one that ends soon enough")
    assert result["gpu"]["count"] is None
    for figure in (result["gpu"]["memory"]["combined_bytes"], result["energy"]["gpu_joules"]):
        assert figure["value"] is None
        assert figure["reason"] == "the job ended before the GPU driver was opened"
    assert gpu_warnings(result) == []
    path = spoor.new_path("kept.json")
    path.write_text(json.dumps(result))
    assert "gpu" not in spoor("report", "-f", "text", path).stdout.lower()


def test_disabled_gpus_are_not_read(spoor, machine):
    machine.play(card(0))
    for name in ("gpu", "nvidia"):
        result = Run(spoor, machine, SPOOR_DISABLE=name).end(opens=False)
        assert result["gpu"]["count"] == 0
        assert gpu_warnings(result) == []
    result = Run(spoor, machine, SPOOR_DISABLE="amd,intel").end()
    assert result["gpu"]["count"] == 1


def test_driver_version_mismatch_causes_a_warning(spoor, machine):
    machine.play(card(0), f"fail nvmlInit {VERSION_MISMATCH}")
    result = Run(spoor, machine).end()
    assert result["gpu"]["count"] == 0
    assert gpu_warnings(result) == ["gpu-driver"]
    assert any("different versions" in warning["message"] for warning in result["warnings"])
    assert "cannot be used" in result["gpu"]["memory"]["combined_bytes"]["reason"]


def gpu_messages(result):
    return [warning["message"] for warning in result["warnings"]
            if warning["code"].startswith("gpu")]


def test_gpu_that_cannot_be_opened_causes_a_warning(spoor, machine):
    machine.play(card(0), card(1), f"fail nvmlDeviceGetHandleByIndex@0 {LOST}")
    result = Run(spoor, machine).end()
    assert result["gpu"]["selected"] == ["GPU-1000-aaaa"]
    assert gpu_warnings(result) == ["gpu-driver"]
    assert "cannot open the driver's GPU 0: GPU is lost" in gpu_messages(result)[0]
    assert "GPU is lost" in spoor("info", env=machine.environment).stdout


def test_driver_that_cannot_count_its_gpus_causes_a_warning(spoor, machine):
    machine.play(card(0), f"fail nvmlDeviceGetCount {UNKNOWN_ERROR}")
    result = Run(spoor, machine).end()
    assert "Unknown Error (error 999)" in gpu_messages(result)[0]
    assert "cannot be used" in result["gpu"]["memory"]["combined_bytes"]["reason"]


def test_library_without_a_loaded_driver_causes_no_warning(spoor, machine):
    """For example, an image that contains the library runs on a machine without a GPU. A user
    who requires GPUs gets an error."""
    machine.play(card(0), f"fail nvmlInit {NOT_LOADED}")
    result = Run(spoor, machine).end()
    assert gpu_warnings(result) == []
    assert "its driver is not loaded" in result["gpu"]["memory"]["combined_bytes"]["reason"]
    for command in ("info", "doctor"):
        said = " ".join(spoor(command, env=machine.environment).stdout.split())
        assert "the NVIDIA driver is not loaded" in said


def test_library_without_required_functions_causes_a_warning(spoor, machine, standin):
    machine.environment["LD_LIBRARY_PATH"] = str(standin / "broken")
    machine.play(card(0))
    result = Run(spoor, machine).end()
    assert gpu_warnings(result) == ["gpu-driver"]


@pytest.mark.threads
def test_a_blocked_driver_delays_nothing_else(spoor, machine):
    """Samples are taken on time, and Ctrl-C ends the run before the driver responds."""
    machine.play(card(0), "device 0 energy 1000000")
    samples = spoor.new_path("samples.csv")
    run = Run(spoor, machine, "-i", "50ms", "--samples", samples,
              command=("sh", "-c", "echo $$; trap 'exit 0' INT; while :; do sleep 0.05; done"))
    machine.play(f"process 0 compute {run.pid} {GIB}")
    eventually(lambda: newest_memory(samples) == [str(GIB)], "a row with its memory")
    machine.play(f"block {LIST} 60000")
    eventually(lambda: newest_memory(samples) == [""], "it is noticed")
    looks, before = machine.calls(QUICK), len(rows_of(samples))
    eventually(lambda: len(rows_of(samples)) >= before + 20, "samples while the driver blocks")
    assert machine.calls(QUICK) == looks
    times = [float(row["elapsed_seconds"]) for row in rows_of(samples)[before:]]
    assert min(later - earlier for earlier, later in zip(times, times[1:])) < 0.5  # the interval is 50 ms
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait(timeout=20) == 0  # the driver would respond after 60 s
    result = load(run.path)
    assert value(result, "gpu.memory.combined_bytes") == GIB
    assert gpu_warnings(result) == ["gpu-blocked"]
    assert value(result, "cpu.total_seconds") is not None
    device = result["gpu"]["devices"][0]
    for figure in (device["energy_joules"], device["utilization"]["max"],
                   result["energy"]["gpu_joules"], result["gpu"]["utilization"]["max_gpus"]):
        assert figure["value"] is None  # the counter was read only once, at the start
        # If the reading thread waits for a CPU at the end, the reason does not name the driver.
        assert any(text in figure["reason"] for text in
                   ("stopped responding", "was not read again", "no samples"))
    assert {row["gpu0_energy_joules"] for row in rows_of(samples)} == {""}


@pytest.mark.threads
@pytest.mark.parametrize("line", ["block nvmlInit 60000", "cost nvmlInit 60000000"],
                         ids=["sleeps", "spins"])
def test_driver_that_blocks_during_initialization_makes_only_gpu_figures_unknown(spoor, machine, line):
    machine.play(card(0), line)
    run = Run(spoor, machine)
    eventually(lambda: machine.calls("nvmlInit") > 0, "it is started")
    result = run.end()
    assert result["tracker"]["cpu_seconds"] < 10  # spoor did not wait for the driver
    assert result["gpu"]["count"] is None
    assert value(result, "gpu.memory.combined_bytes") is None
    assert value(result, "memory.main.total_rss_bytes") > 0


def test_name_that_the_driver_does_not_report_is_null(spoor, machine):
    machine.play("device 0 uuid GPU-0000-aaaa", "device 0 total 150000000000")
    result = Run(spoor, machine).end()
    assert result["gpu"]["devices"][0]["name"] is result["host"]["gpus"][0]["name"] is None


def test_hostile_names_are_escaped(spoor, machine):
    machine.play(card(0), "device 0 name_hex 1b5b33316d22ff0a4720")
    done = spoor("run", "--", *until_called(machine), env=machine.environment)
    assert "\x1b" not in done.stderr
    path = spoor.new_path("result.json")
    assert spoor("run", "-q", "-o", path, "--", *until_called(machine),
                 env=machine.environment).returncode == 0
    assert json.loads(path.read_text(encoding="utf-8"))["gpu"]["count"] == 1
