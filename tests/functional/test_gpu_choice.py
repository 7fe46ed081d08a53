# SPDX-License-Identifier: Apache-2.0
"""The GPUs assigned to the job, with a stand-in for NVIDIA's library."""
import os
import re
import subprocess

import pytest

from conftest import eventually, load, read_line, rows_of, value
from gpus import GIB, SLOW, USED_BYTES, VERSION_MISMATCH, WAIT, Run, card, gpu_warnings

pytestmark = pytest.mark.any_user


@pytest.mark.parametrize("options, variables, selected", [
    ((), {}, [0, 1, 2]),
    (("--gpus", "1"), {}, [1]),
    (("--gpus", "GPU-2,0"), {"CUDA_VISIBLE_DEVICES": "1"}, [0, 2]),
    (("--gpus", "0000:3c:00.0"), {}, [1]),
    (("--gpus", "all"), {"CUDA_VISIBLE_DEVICES": ""}, [0, 1, 2]),
    ((), {"CUDA_VISIBLE_DEVICES": "2"}, [2]),
    ((), {"CUDA_VISIBLE_DEVICES": ""}, []),
    ((), {"NVIDIA_VISIBLE_DEVICES": "GPU-1000-aaaa"}, [1]),
    ((), {"NVIDIA_VISIBLE_DEVICES": "void"}, [0, 1, 2]),
    ((), {"SLURM_JOB_GPUS": "0,1"}, [0, 1]),
    ((), {"NVIDIA_VISIBLE_DEVICES": "all", "SLURM_JOB_GPUS": "0,1"}, [0, 1]),
    ((), {"CUDA_VISIBLE_DEVICES": "all"}, []),
    ((), {"ROCR_VISIBLE_DEVICES": "0"}, [0, 1, 2]),
    ((), {"SPOOR_GPUS": "1"}, [1]),
])
def test_gpus_are_selected_by_options_and_variables(spoor, machine, options, variables, selected):
    machine.play(card(0), card(1), card(2))
    run = Run(spoor, machine, *options, **variables)
    machine.play(*(f"process {i} compute {run.pid} {GIB}" for i in range(3)))
    machine.wait_for(times=3)
    result = run.end()
    assert result["gpu"]["selected"] == [f"GPU-{i}000-aaaa" for i in selected]
    assert result["gpu"]["count"] == 3
    assert [device["index"] for device in result["gpu"]["devices"]] == selected
    expected = len(selected) * GIB if selected else None
    assert value(result, "gpu.memory.combined_bytes") == expected
    assert value(result, "gpu.memory.system_bytes") == 3 * USED_BYTES


def maps_nvml(process):
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        return "libnvidia-ml" in maps.read()


@pytest.mark.parametrize("word", ["none", "None"])
def test_gpus_none_opens_no_driver(spoor, machine, tmp_path, word):
    """The library is not even loaded, long after the time at which a run loads it."""
    machine.play(card(0))
    samples = tmp_path / "samples.csv"
    run = Run(spoor, machine, "--gpus", word, "-i", "50ms", "--samples", samples)
    eventually(lambda: samples.exists() and any(float(row["elapsed_seconds"]) > 0.3
                                                for row in rows_of(samples)), "samples")
    assert not maps_nvml(run.process)
    result = run.end(opens=False)
    assert not machine.log.exists()
    assert result["gpu"]["count"] is None and result["gpu"]["devices"] == []
    for figure in ("combined_bytes", "system_bytes"):
        assert result["gpu"]["memory"][figure] == {
            **result["gpu"]["memory"][figure], "value": None,
            "reason": "--gpus none: GPUs are not looked at"}
    assert gpu_warnings(result) == []


def test_reason_names_the_variable_that_excludes_all_gpus(spoor, machine):
    """The variable's value is untrusted: its escape sequences must not reach a terminal."""
    machine.play(card(0))
    why = "CUDA_VISIBLE_DEVICES=foo\x1b[31m matches none of this machine's GPUs"
    run = Run(spoor, machine, CUDA_VISIBLE_DEVICES="foo\x1b[31m")
    machine.wait_for(SLOW)
    result = run.end()
    for path in ("memory.main_bytes", "memory.combined_bytes", "utilization.mean_gpus",
                 "job_utilization.max_gpus"):
        section, name = path.split(".")
        figure = result["gpu"][section][name]
        assert figure["value"] is None and figure["reason"] == why
    run = spoor.start("run", "--", *WAIT,
                      env={**machine.environment, "CUDA_VISIBLE_DEVICES": "foo\x1b[31m"})
    read_line(run.stdout)
    machine.wait_for(SLOW)
    _, text = run.communicate()
    assert "CUDA_VISIBLE_DEVICES=foo" in text.decode() and "\x1b" not in text.decode()


@pytest.mark.parametrize("options, expected", [((), ["gpu-not-selected"]),
                                               (("--gpus", "all"), [])])
def test_use_of_an_unassigned_gpu_causes_a_warning(spoor, machine, options,
                                                                  expected):
    machine.play(card(0), card(1))
    run = Run(spoor, machine, *options, CUDA_VISIBLE_DEVICES="1")
    machine.play(f"process 0 compute {run.pid} 2000000000")
    machine.wait_for(times=2)
    result = run.end()
    assert gpu_warnings(result) == expected
    if expected:
        assert value(result, "gpu.memory.combined_bytes") == 0
        assert any("2.00 GB on GPU 0" in warning["message"] for warning in result["warnings"])


@pytest.mark.parametrize("options, variables, source", [
    (("--gpus", "0,GPU-9"), {}, "--gpus"),
    ((), {"SPOOR_GPUS": "GPU-9"}, "SPOOR_GPUS"),
    (("--config", "c.json"), {}, "c.json: gpus"),
])
def test_a_missing_gpu_is_refused(spoor, machine, tmp_path, options, variables, source):
    """The error names the source of the setting, and the job is not started."""
    machine.play(card(0), card(1), card(2))
    (tmp_path / "c.json").write_text('{"gpus": "1,GPU-9"}')
    done = spoor("run", *options, "--", "touch", tmp_path / "ran", cwd=tmp_path,
                 env={**machine.environment, **variables})
    assert done.returncode == 125
    assert re.fullmatch(f"spoor: {source}: no GPU 'GPU-9'; this machine has GPUs 0 to 2 "
                        r"\(see 'spoor info'\)\n", done.stderr)
    assert not (tmp_path / "ran").exists()


def test_a_missing_gpu_is_refused_before_attaching(spoor, machine):
    machine.play(card(0))
    done = spoor("attach", "--gpus", "1", str(os.getpid()), env=machine.environment)
    assert done.returncode == 125
    assert "this machine has only GPU 0 (see 'spoor info')" in done.stderr


@pytest.mark.parametrize("lines", [[], [card(0), f"fail nvmlInit {VERSION_MISMATCH}"]],
                         ids=["no GPU", "no driver"])
def test_wrong_gpu_number_without_a_driver_causes_a_warning(spoor, machine, lines):
    machine.play(*lines)
    assert "gpu-unknown" in gpu_warnings(Run(spoor, machine, "--gpus", "9").end())


@pytest.mark.parametrize("text", ["", "0,,1", ",", "0;1", "$(x)"])
def test_an_invalid_list_of_gpus_is_refused_before_the_start(spoor, tmp_path, text):
    done = spoor("run", "--gpus", text, "--", "touch", tmp_path / "ran")
    assert done.returncode == 125
    assert done.stderr.startswith("spoor: --gpus: ")
    assert not (tmp_path / "ran").exists()


def test_attach_uses_the_environment_of_the_process(spoor, machine):
    machine.play(card(0), card(1))
    job = subprocess.Popen(["cat"], stdin=subprocess.PIPE,
                           env={**os.environ, "CUDA_VISIBLE_DEVICES": "1"})
    machine.play(f"process 1 compute {job.pid} {GIB}")
    path = spoor.new_path("result.json")
    process = spoor.start("attach", "-q", "-o", path, str(job.pid),
                          env={**machine.environment, "CUDA_VISIBLE_DEVICES": "0"})
    machine.wait_for(times=3)
    job.communicate()
    assert process.wait() == 0
    result = load(path)
    assert result["gpu"]["selected"] == ["GPU-1000-aaaa"]
    assert value(result, "gpu.memory.main_bytes") == GIB
