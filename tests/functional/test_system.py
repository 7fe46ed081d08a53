# SPDX-License-Identifier: Apache-2.0
"""spoor system: measures the machine without a job."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

import schema
from conftest import eventually, value, wait_for_samples
from gpus import SLOW, USED_BYTES, card

JOB = ["cpu.total_seconds", "memory.combined.total_rss_bytes", "io.read_bytes",
       "processes.started", "gpu.memory.combined_bytes", "pressure.cpu_seconds"]


def load(path):
    result = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    schema.check_schema(result)
    assert "system" in result and result["run"]["pid"] is None
    return result


def measure(spoor, *options, **popen):
    path = spoor.new_path("system.json")
    done = spoor("system", "-o", path, *options, **popen)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return load(path)


def wait_for_start(pid):
    """Waits until spoor has blocked the signals that end it: from then on it exits with a
    report."""
    def blocked():
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"^SigBlk:\s*(\w+)", text, re.M)[1], 16)
    eventually(lambda: blocked() >> (signal.SIGHUP - 1) & 1, "blocked signals")


def find(result, path):
    for key in path.split("."):
        result = result[key]
    return result


def test_the_machine_is_measured_without_a_job(spoor):
    result = measure(spoor, "-i", "0.1")
    system = result["system"]
    assert result["run"]["command"] == [] and result["run"]["exit_code"] is None
    for path in JOB:
        assert find(result, path)["value"] is None
        assert find(result, path)["reason"] == "no job is tracked"
    memory = system["memory"]
    assert 0 < value(memory, "used_bytes") < value(memory, "total_bytes")
    assert value(memory, "total_bytes") == result["host"]["memory_bytes"]
    assert value(memory, "buffers_bytes") <= value(memory, "cached_bytes")
    parts = value(system, "cpu.user_cores") + value(system, "cpu.system_cores")
    assert parts == pytest.approx(value(system, "cpu.busy_cores"), abs=0.01) and parts < os.cpu_count() + 0.5
    assert value(system, "processes.count") >= 1
    assert [warning for warning in result["warnings"] if warning["code"] != "late-samples"] == []


def of_disk(name, file):
    """Reads a number from the folder of a disk; None if the file does not exist."""
    path = pathlib.Path("/sys/block", name.replace("/", "!"), file)
    return int(path.read_text()) if path.exists() else None


def capacity(name):
    return of_disk(name, "size") * 512


def disk_type(name):
    return "nvme" if name.startswith("nvme") else {0: "ssd", 1: "hdd", None: None}[of_disk(name, "queue/rotational")]


def test_devices_and_their_counters_match_the_kernel(spoor):
    system = measure(spoor, "-i", "20ms")["system"]
    interfaces = [line.split(":")[0].strip()
                  for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]]
    assert {each["name"] for each in system["interfaces"]} == set(interfaces) - {"lo"}
    blocks = {path.name.replace("!", "/") for path in pathlib.Path("/sys/block").glob("*")}
    disks = [each["name"] for each in system["disks"]]
    assert set(disks) <= blocks and len(disks) == len(set(disks))
    assert {name for name in blocks if re.match(r"(nvme\d|[svh]d[a-z]|xvd[a-z])", name) and capacity(name)} <= set(disks)
    assert not [name for name in disks if re.match(r"(loop|ram|zram|dm-|md|sr)\d", name)]
    for disk in system["disks"]:
        assert (disk["capacity_bytes"], disk["type"]) == (capacity(disk["name"]), disk_type(disk["name"]))
    for mount in system["mounts"]:
        space = os.statvfs(mount["point"])
        if not mount["source"].startswith("zfs:"):
            assert mount["total_bytes"] == space.f_blocks * space.f_frsize
        assert mount["used_bytes"] <= mount["total_bytes"]


def test_disk_writes_are_measured(spoor, tmp_path):
    """Writes to the disk of the test folder. A rate covers at most the lifetime of the program."""
    path, size = spoor.new_path("system.json"), 1 << 22
    started = time.monotonic()
    process = spoor.start("system", "-i", "5ms", "--duration", "10m", "-o", path)
    wait_for_samples(process.pid)
    with open(tmp_path / "data", "wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    seconds = time.monotonic() - started
    system = load(path)["system"]
    names = {mount["disk"] for mount in system["mounts"]
             if os.stat(mount["point"]).st_dev == os.stat(tmp_path).st_dev}
    disks = [disk for disk in system["disks"] if disk["name"] in names]
    if not disks:
        pytest.skip("the folder of the test is on no disk")
    for disk in disks:
        assert disk["written_bytes_per_second"] * seconds >= size
    assert value(system, "disk.written_bytes_per_second") * seconds >= size


def test_text_goes_to_stdout_and_fits_on_one_screen(spoor):
    done = spoor("system", "-i", "20ms", "--name", "idle")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == f"idle: {socket.gethostname()}"
    assert re.match(r"measured for \d", lines[1])
    labels = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    for label in ("CPU", "Memory", "Disk I/O", "Disk space", "Network", "Pressure", "Processes",
                  "Host", "tracker"):
        assert label in labels
    for label in ("Elapsed", "CPU time", "Page faults", "All I/O"):
        assert label not in labels
    assert "exit code" not in done.stdout and "no job" not in done.stdout
    assert all(len(line) <= 80 for line in lines)


def test_stored_system_report_can_be_shown_again(spoor):
    path, again = spoor.new_path("a.json"), spoor.new_path("b.json")
    assert spoor("system", "-i", "20ms", "-o", path).returncode == 0
    assert spoor("report", path, "-o", again).returncode == 0
    assert again.read_bytes() == path.read_bytes()
    assert spoor("report", "-f", "text", path).stdout.splitlines()[0] == socket.gethostname()
    rows = spoor("report", path, "-f", "csv").stdout.splitlines()
    assert len(rows) == 2


def test_measurement_lasts_one_interval_by_default(spoor):
    """Without --duration, spoor measures one interval, whatever its length; --duration sets the
    total time, with samples in between."""
    short = measure(spoor, "-i", "50ms")
    assert short["run"]["elapsed_seconds"] >= 0.05
    assert short["run"]["samples"] >= 2
    longer = measure(spoor, "-i", "1ms", "--duration", "60ms")
    assert longer["run"]["elapsed_seconds"] >= 0.06
    assert longer["run"]["interval_seconds"] == 0.001


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.threads
def test_report_is_written_if_a_signal_ends_the_measurement(spoor, number):
    path = spoor.new_path("system.json")
    process = spoor.start("system", "--duration", "10m", "-o", path)
    wait_for_start(process.pid)
    process.send_signal(number)
    assert process.wait(60) == 0
    assert load(path)["run"]["samples"] >= 2


def test_a_long_interval_has_two_samples(spoor):
    path = spoor.new_path("system.json")
    process = spoor.start("system", "-i", "1h", "-o", path)
    wait_for_start(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert load(path)["run"]["samples"] == 2


def test_all_gpus_of_the_machine_are_listed_regardless_of_variables(spoor, machine):
    machine.play(card(0), card(1), f"device 1 used {USED_BYTES}")
    path = spoor.new_path("system.json")
    process = spoor.start("system", "-i", "10ms", "--duration", "10m", "-o", path,
                          env={**machine.environment, "CUDA_VISIBLE_DEVICES": "1"})
    machine.wait_for(SLOW, 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    result = load(path)
    assert result["gpu"]["selected"] == ["GPU-0000-aaaa", "GPU-1000-aaaa"]
    assert [device["memory"]["peak_bytes"]["value"] for device in result["gpu"]["devices"]][1] == \
        USED_BYTES
    for device in result["gpu"]["devices"]:
        assert device["memory"]["job_peak_bytes"]["value"] is None
        assert device["memory"]["job_peak_bytes"]["reason"] == "no job is tracked"
    assert find(result, "gpu.memory.combined_bytes")["reason"] == "no job is tracked"
    assert find(result, "gpu.memory.system_bytes")["value"] > USED_BYTES
    text = spoor("report", "-f", "text", path).stdout
    assert re.search(r"^GPU 1 .*3\.00 GB of 150 GB used.*NVIDIA H200", text, re.M)
    none = measure(spoor, "-i", "20ms", "--gpus", "none", env=machine.environment)
    assert none["gpu"]["selected"] == []
    done = spoor("system", "-i", "20ms", "--gpus", "7", env=machine.environment)
    assert done.returncode == 125 and "7" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["1234"], "unexpected argument"),
    (["--pid", "1"], "has no option --pid"),
    (["-i", "0"], "out of range"),
    (["-o", "x.xml"], "not supported"),
    (["-f", "xml"], "xml"),
    (["--append", "--no-clobber"], "cannot be combined"),
])
def test_bad_arguments_are_refused(spoor, tmp_path, arguments, message):
    done = spoor("system", *arguments, cwd=tmp_path)
    assert done.returncode == 125 and message in done.stderr
    assert done.stdout == "" and os.listdir(tmp_path) == []


def test_variables_that_apply_to_runs_are_ignored(spoor, tmp_path):
    path = tmp_path / "run.json"
    done = spoor("system", "-i", "20ms", env={**os.environ, "SPOOR_OUTPUT": str(path)})
    assert done.returncode == 0 and done.stdout and not path.exists()


def test_disk_space_matches_df(spoor):
    def shares():
        df = subprocess.run(["df", "--output=source,target,pcent"], check=False, text=True, stdout=subprocess.PIPE)
        return {tuple(line.split()[:2]): line.split()[-1] for line in df.stdout.splitlines()[1:]
                if len(line.split()) == 3}
    before, shown, after = shares(), spoor("system", "-i", "10ms").stdout, shares()
    checked = 0
    for line in shown.splitlines():
        found = re.search(r"^  (\S+) .* \(([\d.]+) %\), .* free; on (\S+), ", line)
        for (source, target), share in before.items():
            if found and source.rpartition("/")[2] == found[1] and target == found[3]:
                assert f"{found[2]}%" in (share, after.get((source, target))), line
                checked += 1
    if checked == 0:
        pytest.skip("no disk")
