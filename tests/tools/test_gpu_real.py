# SPDX-License-Identifier: Apache-2.0
"""tests/gpu/real.py without a GPU: its verdicts, its parser of nvidia-smi's output, and a whole run in which
gpu_fake.py replaces nvidia-smi, the CUDA loads and spoor.
"""
import math
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GPU = HERE.parent / "gpu"
sys.path.insert(0, str(GPU))
import nvidia_smi  # noqa: E402
import real_rows  # noqa: E402
from real_rows import Row  # noqa: E402

MIB = 1 << 20


def near(spoor, true=None, smi=None, **more):
    return Row("a case", "a_bytes", spoor, true, smi, "near", 0.02, **more)


@pytest.mark.parametrize("row, verdict", [
    (near(102, 100), "ok"),
    (near(103, 100), "FAILED"),
    (near(97, 100), "FAILED"),
    (near(100, 100, 103), "FAILED"),
    (near(100, 100, 200, judged=("true",)), "ok"),
    (near(100), "FAILED"),
    (near(None, 100, 100), "FAILED"),
    (near(0, 0), "ok"),
    (near(1, 0), "FAILED"),
    (near(math.nan, 100), "FAILED"),
    (Row("c", "x_gpus", 0.47, 0.5, None, "apart", 0.0301), "ok"),
    (Row("c", "x_gpus", 0.46, 0.5, None, "apart", 0.0301), "FAILED"),
    (Row("c", "gpu.count", 1, 1, None, "apart", 0), "ok"),
    (Row("c", "gpu.count", None, 1, None, "apart", 0), "FAILED"),
    (Row("c", "x_share", 0.006, judge="most", limit=0.006), "ok"),
    (Row("c", "x_share", 0.0061, judge="most", limit=0.006), "FAILED"),
    (Row("c", "x_share", None, judge="most", limit=0.006), "FAILED"),
    (Row("c", "x_seconds", 0.001, None, 0.05, "times", 50), "ok"),
    (Row("c", "x_seconds", 0.0011, None, 0.05, "times", 50), "FAILED"),
    (Row("c", "x_seconds", None, None, 0.05, "times", 50), "FAILED"),
    (Row("c", "x_seconds", 0.0, None, 0.05, "times", 50), "FAILED"),
    (Row("c", "x_joules", None, None, 5.0), ""),
    (Row("c", "x_seconds", 0.02, None, 0.05, "times"), ""),
    (Row("c", "run", None, fault="it broke"), "FAILED: it broke"),
])
def test_verdict_depends_on_the_deviation(row, verdict):
    assert row.verdict == verdict
    assert row.is_failed == verdict.startswith("FAILED")
    assert len(row.cells()) == len(real_rows.HEADER)


def test_the_largest_deviation_is_shown():
    assert near(100 * MIB, 101 * MIB, 200 * MIB).cells() == [
        "a case", "a_bytes", "101.0 MiB", "200.0 MiB", "100.0 MiB", "-50.0%", "±2%", "FAILED"]


def test_unknown_figures_are_null_not_0():
    assert near(None, 100).cells()[4:7] == ["null", "", "±2%"]


def test_values_are_shown_with_their_units():
    assert Row("c", "x_gpus", 0.47, 0.5, 0.39, "apart", 0.03).cells()[2:7] == \
        ["50.0 %", "39.0 %", "47.0 %", "+8.0 %", "±3.0 %"]
    assert Row("c", "x_seconds", 0.0005, None, 0.045, "times", 50).cells()[3:7] == \
        ["45.000 ms", "0.500 ms", "90.0 times less", "at least 50"]
    assert Row("c", "x_share", 0.0031, judge="most", limit=0.006).cells()[4:7] == \
        ["0.31 %", "", "at most 0.60 %"]


def test_measure_of_a_report_is_found_by_its_path():
    report = {"gpu": {"count": 2, "memory": {"main_bytes": {"value": 5, "exact": True},
                                             "system_bytes": {"value": None, "reason": "no"}},
                      "utilization": None}}
    assert real_rows.measure(report, "gpu.count") == 2
    assert real_rows.measure(report, "gpu.memory.main_bytes") == 5
    for path in ("gpu.memory.system_bytes", "gpu.memory", "gpu.utilization.mean_gpus", "energy.x"):
        assert real_rows.measure(report, path) is None


def test_rows_are_formatted_as_table_and_markdown():
    rows = [near(100, 100), Row("a|b", "run", None, fault="no | report")]
    lines = real_rows.format_table(rows)
    assert lines[0].startswith("case") and lines[1].endswith("ok")
    assert lines[2].endswith("FAILED: no | report")
    text = real_rows.format_markdown(rows, "today", ["a note"])
    assert text.startswith("### today\n\n| case | figure |")
    assert "| a\\|b | run |  |  |  |  |  | FAILED: no \\| report |\n" in text
    assert text.endswith("\n\n- a note\n")


def test_memory_of_processes_is_summed_over_devices():
    text = "10, 518\n11, [N/A]\n10, 100\n12, 7\n12, [Not Supported]\n[N/A], 5\n\n"
    assert nvidia_smi.parse_apps(text) == {10: 618 * MIB, 11: None, 12: None}
    assert nvidia_smi.parse_apps("") == {}
    assert nvidia_smi.parse_apps("No running processes found\n") == {}


def test_devices_are_summed_and_unknown_stays_unknown():
    reading = nvidia_smi.parse_reading("", "4, 50, 100.5\n6, 100, [N/A]\n")
    assert (reading.used_bytes, reading.busy_gpus, reading.watts) == (10 * MIB, 1.5, None)
    reading = nvidia_smi.parse_reading("", "")
    assert (reading.used_bytes, reading.busy_gpus, reading.watts) == (None, None, None)


def test_gpu_name_may_contain_commas():
    machine = nvidia_smi.parse_machine("580.1, GPU-1, H200, large\n580.1, GPU-2, H200\n")
    assert machine.driver == "580.1"
    assert machine.uuids == ["GPU-1", "GPU-2"] and machine.names == ["H200, large", "H200"]


def test_memory_of_a_job_needs_all_its_processes():
    reading = nvidia_smi.Reading({1: 5, 2: 6, 3: None})
    assert nvidia_smi.memory_of(reading, [1, 2]) == 11
    assert nvidia_smi.memory_of(reading, [1, 3]) is None
    assert nvidia_smi.memory_of(reading, [1, 4]) is None
    assert nvidia_smi.memory_of(reading, []) is None


def test_peak_and_mean_ignore_unknown_values():
    assert nvidia_smi.peak([None, 3, 2]) == 3 and nvidia_smi.mean([None, 3, 2]) == 2.5
    assert nvidia_smi.peak([None]) is None and nvidia_smi.mean([]) is None


@pytest.fixture
def machine(tmp_path):
    """measure(factor) runs real.sh on a machine whose programs are replaced by gpu_fake.py."""
    (tmp_path / "held").mkdir()
    (tmp_path / "looks").touch()
    (tmp_path / "torch.py").write_text("raise ImportError('no PyTorch here')\n")
    for name in ("nvidia-smi", "spoor", "hold", "spike", "duty", "children"):
        (tmp_path / name).symlink_to(HERE / "gpu_fake.py")

    def measure(factor, *options):
        done = subprocess.run(
            [GPU / "real.sh", "--programs", tmp_path, "--markdown", tmp_path / "table.md",
             "--cost-seconds", "1", *options, tmp_path / "spoor"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            check=False, timeout=120,
            env={**os.environ, "FAKE_HOME": str(tmp_path), "FAKE_FACTOR": factor,
                 "PYTHONPATH": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"})
        table = tmp_path / "table.md"
        return done, [line.split(" | ") for line in table.read_text().splitlines()
                      if line.startswith("| ")][1:] if table.exists() else []

    return measure


def verdicts(rows):
    """Returns the verdicts, without rows that are only shown."""
    return [row[-1].strip(" |") for row in rows if row[-1].strip(" |")]


def test_a_correct_run_passes(machine):
    done, rows = machine("1")
    assert set(verdicts(rows)) == {"ok"}, done.stdout + done.stderr
    assert done.returncode == 0
    assert len({row[0] for row in rows}) == 13
    assert "driver 580.1" in done.stdout and "NVIDIA Fake" in done.stdout
    assert "a context, which alone is 500 MiB" in done.stdout
    assert "torch skipped: ImportError: no PyTorch here" in done.stdout


def test_wrong_figures_fail(machine):
    done, rows = machine("1.1", "--only", "foreign")
    assert done.returncode == 1
    memory = [row for row in rows if "memory" in row[1]]
    assert len(memory) == 4 and set(verdicts(memory)) == {"FAILED"}, done.stdout
    assert {row[5] for row in memory} == {"+10.0%"}


def test_null_figures_fail(machine):
    done, rows = machine("null", "--only", "hold")
    assert done.returncode == 1
    assert set(verdicts(rows)) == {"FAILED"}, done.stdout + done.stderr
    assert {row[4] for row in rows if "memory" in row[1]} == {"null"}


def test_a_case_without_a_report_fails_and_the_others_continue(machine):
    done, rows = machine("damaged", "--only", "o")
    assert done.returncode == 1
    assert [row[0].strip("| ") for row in rows] == ["hold", "foreign-idle-job", "foreign-busy-job",
                                                    "cost"]
    assert all(verdict.startswith("FAILED: no report") for verdict in verdicts(rows)), rows


def test_a_failed_load_is_reported(machine, tmp_path):
    (tmp_path / "spike").unlink()
    (tmp_path / "spike").write_text("#!/bin/sh\necho 'no kernel image' >&2\nexit 1\n")
    (tmp_path / "spike").chmod(0o755)
    done, rows = machine("1", "--only", "spike")
    assert done.returncode == 1
    assert verdicts(rows) == ["FAILED: status 3: no kernel image"], done.stdout


def test_a_machine_without_gpu_is_reported(tmp_path):
    (tmp_path / "python3").symlink_to(sys.executable)
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    done = subprocess.run([GPU / "real.sh", "spoor"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={"PATH": str(tmp_path)})
    assert done.returncode == 77
    assert "needs an NVIDIA GPU" in done.stdout
