# SPDX-License-Identifier: Apache-2.0
"""GPUs in the outputs: samples, text, info, doctor."""
import fcntl
import json
import os
import re
import struct
import termios

import pytest

from conftest import eventually, read_line, rows_of
from gpus import GIB, VERSION_MISMATCH, WAIT, Run, card, until_called

pytestmark = pytest.mark.any_user


def test_samples_have_columns_for_each_gpu_of_the_job(spoor, machine):
    """The first rows are held back until the drivers respond, and are not lost."""
    machine.play(card(0), card(1), "device 1 power 250500")
    path = spoor.new_path("samples.csv")
    run = Run(spoor, machine, "-i", "1h", "--gpus", "1", "--samples", path)
    machine.play(f"process 1 compute {run.pid} {GIB}")
    machine.wait_for(times=2)
    samples = run.end()["run"]["samples"]
    rows = rows_of(path)
    assert len(rows) == samples
    names = [name for name in rows[0] if name.startswith("gpu")]
    assert names[:2] == ["gpu1_memory_bytes", "gpu1_job_memory_bytes"]
    assert not [name for name in names if not name.startswith("gpu1_")]
    assert rows[0]["gpu1_memory_bytes"] == ""
    assert rows[-1]["gpu1_job_memory_bytes"] == str(GIB)
    assert rows[-1]["gpu1_power_watts"] == "250.5"
    # Appended rows use the columns of the file, whatever GPUs the machine has.
    assert spoor("run", "-q", "--append", "--samples", path, "--", "true",
                 env={**machine.environment, "SPOOR_DISABLE": "gpu"}).returncode == 0
    assert all(None not in row and None not in row.values() for row in rows_of(path))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_curve_has_columns_for_each_gpu_of_the_job(spoor, machine, suffix):
    machine.play(card(0), card(1), "device 1 power 250500")
    path = spoor.new_path(f"samples.{suffix}")
    run = Run(spoor, machine, "-i", "1h", "--gpus", "1", "--samples", path)
    machine.play(f"process 1 compute {run.pid} {GIB}")
    machine.wait_for(times=2)
    report = run.end()
    again = json.loads(spoor("report", "-f", "json", path).stdout)
    for columns in (report["curve"]["columns"], again["curve"]["columns"]):
        names = [name for name in columns if name.startswith("gpu")]
        assert {"gpu1_memory_bytes", "gpu1_job_memory_bytes", "gpu1_power_watts"} <= set(names)
        assert not [name for name in names if not name.startswith("gpu1_")]
        assert columns["gpu1_job_memory_bytes"]["high"][0] is None
        assert columns["gpu1_job_memory_bytes"]["high"][-1] == pytest.approx(GIB, rel=0.001)
        assert columns["gpu1_power_watts"]["high"][-1] == 250.5


def test_json_samples_contain_the_gpus(spoor, machine):
    machine.play(card(0))
    path = spoor.new_path("samples.jsonl")
    run = Run(spoor, machine, "--samples", path)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    machine.wait_for()
    run.end()
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0]["gpus"] is None
    assert rows[-1]["gpus"][0]["index"] == 0
    assert rows[-1]["gpus"][0]["job_memory_bytes"] == GIB
    assert rows[-1]["gpus"][0]["energy_joules"] is None


def test_gpu_has_the_same_number_in_every_output(spoor, machine):
    """info, --gpus and every output use the same numbers. Parts are numbered within their GPU,
    as in nvidia-smi."""
    machine.play(card(0), "device 0 mig 1", card(1), *(
        f"device 0.{part} {fact}" for part in (0, 1)
        for fact in (f"uuid MIG-{part}", f"name part {part}", "total 70000000000",
                     "used 1500000000", f"instance {part + 3}")))
    done = spoor("info", "--color", "never", env=machine.environment)
    shown = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("GPU")]
    assert shown == ["0", "0:0", "0:1", "1"]
    found = json.loads(spoor("info", "-f", "json", env=machine.environment).stdout)
    gpus = [(gpu["index"], gpu["part"]) for gpu in found["host"]["gpus"]]
    assert gpus == [(0, None), (0, 0), (0, 1), (1, None)]
    samples = [spoor.new_path(name) for name in ("samples.csv", "samples.jsonl")]
    report = spoor.new_path("report.txt")
    for path in samples:
        run = Run(spoor, machine, "--gpus", "0:1,1", "--samples", path, "--output", report)
        machine.play(f"process 0.1 compute {run.pid} {GIB}", f"process 1 compute {run.pid} {GIB}")
        machine.wait_for(times=2)
        run.process.stdin.close()
        assert run.process.wait() == 0
    text = report.read_text(encoding="utf-8")
    assert "  GPU 0:1" in text and "  GPU 1 " in text
    row = rows_of(samples[0])[-1]
    names = [name for name in row if name.startswith("gpu")]
    assert {name.rpartition("_memory_bytes")[0] for name in names if "_memory" in name} == {
        "gpu0_1", "gpu0_1_job", "gpu1", "gpu1_job"}
    assert row["gpu0_1_job_memory_bytes"] == row["gpu1_job_memory_bytes"] == str(GIB)
    last = json.loads(samples[1].read_text(encoding="utf-8").splitlines()[-1])
    assert [(gpu["index"], gpu["part"], gpu["job_memory_bytes"]) for gpu in last["gpus"]] == [
        (0, 1, GIB), (1, None, GIB)]
    # Appending reads the columns from the existing header.
    before = len(rows_of(samples[0]))
    run = Run(spoor, machine, "--gpus", "all", "--append", "--samples", samples[0])
    machine.wait_for()
    run.end()
    added = rows_of(samples[0])[before:]
    assert all(None not in row and None not in row.values() for row in added)
    assert added[-1]["gpu0_1_memory_bytes"] != ""


def test_rows_wait_no_longer_than_a_second_for_a_driver(spoor, machine):
    machine.play(card(0), "block nvmlInit 60000")
    path = spoor.new_path("samples.csv")
    run = Run(spoor, machine, "-i", "50ms", "--samples", path)
    eventually(lambda: path.read_text(encoding="utf-8").count("\n") > 2, "rows are written")
    assert run.end()["run"]["samples"] == len(rows_of(path))
    assert not [name for name in rows_of(path)[0] if name.startswith("gpu")]


def test_text_has_a_row_for_each_gpu_that_was_used(spoor, machine):
    machine.play(card(0), card(1), "device 0 energy 0", "device 0 temperature 61")
    run = spoor.start("run", "--", *WAIT, env=machine.environment)
    pid = int(read_line(run.stdout))
    machine.play(f"process 0 compute {pid} {GIB}")
    machine.wait_for(times=2)
    machine.play("device 0 energy 4200000")
    _, text = run.communicate()
    lines = text.decode().splitlines()
    assert any(line.startswith("GPU memory") and "1.07 GB" in line for line in lines)
    assert any(line.startswith("  GPU 0") and "NVIDIA H200" in line for line in lines)
    assert not any(line.startswith("  GPU 1") for line in lines)
    assert "4.20 kJ" in text.decode() and "61 C" in text.decode()


def test_info_lists_the_machine_and_its_gpus(spoor, machine):
    machine.play(card(0), card(1))
    done = spoor("info", "--color", "never", env=machine.environment)
    assert done.returncode == 0 and done.stderr == ""
    assert "GPU 1        NVIDIA H200, 150 GB, GPU-1000-aaaa, 0000:3c:00.0" in done.stdout
    done = spoor("info", "-f", "json", "--gpus", "1", env=machine.environment)
    found = json.loads(done.stdout)
    assert [gpu["uuid"] for gpu in found["host"]["gpus"]] == ["GPU-0000-aaaa", "GPU-1000-aaaa"]
    assert found["limits"]["gpus"] == ["GPU-1000-aaaa"]
    assert found["host"]["cpus"] >= 1
    assert "GPUs         none" in spoor("info").stdout


@pytest.mark.parametrize("arguments, message", [
    (("--gpus", "7"), "--gpus: no GPU '7'; this machine has only GPU 0 (see 'spoor info')"),
    (("-f", "csv"), "invalid value 'csv': expected text|json"),
    (("x",), "unexpected argument 'x'"),
])
def test_info_refuses_invalid_arguments(spoor, machine, arguments, message):
    machine.play(card(0))
    done = spoor("info", *arguments, env=machine.environment)
    assert done.returncode == 125
    assert message in done.stderr and done.stdout == ""


def test_doctor_shows_whether_each_vendor_works(spoor, machine):
    done = spoor("doctor")
    assert "NVIDIA GPUs\n  no    nvml" in done.stdout
    assert "driver is not installed" in " ".join(done.stdout.split())
    assert "install the NVIDIA driver" in done.stdout
    assert "AMD GPUs\n  no" in done.stdout and "Intel GPUs\n  no" in done.stdout
    machine.play(card(0))
    assert "NVIDIA GPUs\n  used  nvml" in spoor("doctor", env=machine.environment).stdout
    done = spoor("doctor", env={**machine.environment, "SPOOR_DISABLE": "nvidia"})
    assert "disabled by SPOOR_DISABLE" in done.stdout
    assert "unset SPOOR_DISABLE" in done.stdout
    machine.play(f"fail nvmlInit {VERSION_MISMATCH}")
    text = " ".join(spoor("doctor", env=machine.environment).stdout.split())
    assert "different versions" in text and "reboot, or reload the nvidia kernel module" in text
    assert "install the NVIDIA driver" not in text


def test_doctor_fits_80_columns_and_does_not_advise_root_to_run_as_root(spoor):
    text = spoor("doctor").stdout
    assert max(map(len, text.splitlines())) < 80
    assert os.geteuid() != 0 or "run as root" not in text


@pytest.mark.parametrize("is_on", [True, False])
def test_doctor_explains_how_to_get_exact_peaks(spoor, machine, is_on):
    machine.play(card(0), f"device 0 accounting {int(is_on)}")
    text = spoor("doctor", env=machine.environment).stdout
    part = text.partition("exact peak memory of processes on NVIDIA GPUs\n")[2]
    row, _, remedy = part.partition("\n\n")[0].partition("fix: ")
    assert row.split()[:2] == ["used" if is_on else "no", "nvml.accounting"]
    assert ("nvidia-smi --accounting-mode=1" in remedy) is not is_on
    assert is_on or "accounting mode is off" in row


def test_info_and_doctor_report_a_silent_driver(spoor, machine):
    machine.play(card(0), "block nvmlInit 60000")
    done = spoor("info", "--gpus", "7", env=machine.environment)
    assert done.returncode == 0 and done.stdout.startswith("Host ")
    assert "GPUs         the GPU driver did not respond within 2 s\n" in done.stdout
    found = json.loads(spoor("info", "-f", "json", env=machine.environment).stdout)
    assert found["host"]["cpus"] >= 1
    assert found["gpus_reason"] == "the GPU driver did not respond within 2 s"
    done = spoor("doctor", env=machine.environment)
    assert "the GPU driver did not respond within 2 s" in " ".join(done.stdout.split())
    assert "sources are available" in done.stdout


def test_text_report_explains_why_the_gpus_are_unknown(spoor, machine):
    machine.play(card(0), "block nvmlInit 60000")
    done = spoor("run", "--", *until_called(machine, "nvmlInit"), env=machine.environment)
    assert "GPU use: the run ended before the drivers had reported their GPUs" in \
        " ".join(done.stderr.split())


def on_terminal(spoor, columns, *arguments, env):
    """Runs a command on a terminal of this width and returns its output as lines."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    assert spoor(*arguments, stdout=theirs, stderr=theirs, env=env).returncode == 0
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # end of file
        pass
    os.close(ours)
    return text.decode().splitlines()


def test_text_report_is_as_wide_as_the_terminal(spoor, machine):
    name = "NVIDIA H200" + 5 * " wide"
    machine.play(card(0), f"device 0 name {name}")
    row = f"GPU 0        {name}, 150 GB, GPU-0000-aaaa, 0000:3b:00.0"
    assert 80 < len(row) < 120
    assert row in on_terminal(spoor, 120, "info", "--color", "never", env=machine.environment)
    lines = on_terminal(spoor, 0, "info", "--color", "never", env=machine.environment)
    assert row not in lines and max(map(len, lines)) <= 80
    command = ["echo"] + 20 * ["word"]
    for columns, most in ((100, 100), (60, 60), (20, 60), (500, 160)):
        lines = on_terminal(spoor, columns, "run", "--color", "never", "--", *command,
                            env=machine.environment)
        assert max(map(len, lines[1:])) <= most  # the first line is echo's own
        assert lines[1].startswith("echo word")


def test_names_are_escaped_for_the_locale(spoor, machine):
    machine.play(card(0), "device 0 name \u4e2d\u6587")
    for locale, name in (("C.UTF-8", "\u4e2d\u6587"), ("C", "\\u4e2d\\u6587")):
        done = spoor("info", env={**machine.environment, "LC_ALL": locale}, encoding="utf-8")
        assert f"GPU 0        {name}, 150 GB" in done.stdout


def rows_of_gpus(done):
    return [line for line in done.stderr.splitlines() if re.match(" {0,2}GPU", line)]


def test_text_report_lists_the_gpus_even_if_the_job_uses_none(spoor, machine):
    """The list of GPUs has no usage figures."""
    machine.play(card(0), card(1), card(2), "device 2 name Tesla V100", "stream 0 gpu 100 50")
    done = spoor("run", "--", *until_called(machine), env=machine.environment)
    assert rows_of_gpus(done) == [
        "GPU memory           0 B  peak; 9.00 GB in use by all; 2 x NVIDIA H200, Tesla"]
    assert "GPU use" not in done.stderr
    done = spoor("run", "--gpus", "1", "--", *until_called(machine), env=machine.environment)
    assert rows_of_gpus(done) == [
        "GPU memory           0 B  peak; 9.00 GB in use by all; NVIDIA H200 not used"]
    done = spoor("run", "--gpus", "none", "--", "true", env=machine.environment)
    assert rows_of_gpus(done) == []


@pytest.mark.parametrize("bits, words", [
    (0x20 | 0x4, "throttled (heat, power)"), (0x8, "throttled (hardware)"), (0x1, None)])
def test_throttle_reasons_are_shown(spoor, machine, bits, words):
    """A device without a name is shown as GPU."""
    machine.play(card(0).replace("NVIDIA H200", ""), f"device 0 throttle {bits}")
    run = spoor.start("run", "--", *WAIT, env=machine.environment)
    machine.play(f"process 0 compute {int(read_line(run.stdout))} {GIB}")
    machine.wait_for(times=2)
    text = " ".join(run.communicate()[1].decode().split())
    assert "GPU 0 1.07 GB GPU with 150 GB, " in text
    assert words in text if words else "throttled" not in text
