# SPDX-License-Identifier: Apache-2.0
"""Machines with GPUs for tests: a stand-in for NVIDIA's library that plays a script
(tests/gpu/standin)."""
import csv
import os
import pathlib

from conftest import eventually, load, read_line

GIB = 1 << 30
LIST = "nvmlDeviceGetComputeRunningProcesses_v3"
QUICK = "nvmlDeviceGetMemoryInfo_v2"  # in every look
SLOW = "nvmlDeviceGetPowerUsage"  # once in every slow look
# In use of each device as soon as it has a process, and how much less before.
USED_BYTES, MOVED_BYTES = 3000000000, 4096
CARD = """\
device {0} uuid GPU-{0}000-aaaa
device {0} name NVIDIA H200
device {0} pci 0:{1}:0
device {0} total 150000000000
device {0} used {2}
"""
# As NVML numbers its failures.
NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED, LOST, VERSION_MISMATCH = 3, 4, 9, 15, 18
UNKNOWN_ERROR = 999
# Waits for a line or the end of its input, and runs a little all the while: one that rests is
# looked at every 10 s.
LOOP = "until read -t 0.02; [ $? -lt 128 ]; do : {1..2000}; done"
WAIT = ("bash", "-c", "echo $$; " + LOOP)


def card(number):
    return CARD.format(number, 59 + number, USED_BYTES - MOVED_BYTES)


def until_called(machine, name=SLOW):
    """A command that ends when the stand-in is called so from now on: by default, when the GPUs were looked
    at. Those of a job that ends before the driver is opened are not known."""
    calls = pathlib.Path(machine.environment["SPOOR_NVML_CALLS"])
    before = sum(name in line for line in calls.read_text().splitlines()) if calls.exists() else 0
    return ("sh", "-c", f'until [ "$(grep -sc {name} "$SPOOR_NVML_CALLS" || true)" -gt {before} ]; do '
            'sleep 0.01; done')


def thread_switches(pid, name):
    """How often a thread of that name has gone to sleep; None: there is none."""
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        if fields["Name"] == name:
            return int(fields["voluntary_ctxt_switches"])
    return None


class Machine:
    """What the stand-in plays: lines that may be added to while it is asked."""

    def __init__(self, folder, library):
        self.script, self.log = folder / "script", folder / "calls"
        self.text, self.moved = "", set()
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(library),
                            "SPOOR_NVML_SCRIPT": str(self.script),
                            "SPOOR_NVML_CALLS": str(self.log)}

    def play(self, *lines):
        """Adds lines, for all to be seen at once. Where a process comes or changes, so does the
        memory in use of its device, as on a real one: else its processes are listed seldom."""
        self.text += "".join(line.rstrip("\n") + "\n" for line in lines)
        for device in {line.split()[1] for line in lines if line.startswith("process ")}:
            if device.isdigit() and f"device {device} used" in self.text:
                self.moved ^= {device}
                used = USED_BYTES if device in self.moved else USED_BYTES - MOVED_BYTES
                self.text += f"device {device} used {used}\n"
        new = self.script.with_suffix(".new")
        new.write_text(self.text)
        new.rename(self.script)

    def calls(self, name):
        return self.log.read_text().split("\n").count(name) if self.log.exists() else 0

    def wait_for(self, name=LIST, times=1):
        """Waits until it has been asked so often from now on, and its answer was taken: a later
        look begins."""
        before = self.calls(name)
        eventually(lambda: self.calls(name) >= before + times, f"{times} calls of {name}")
        after = self.calls(QUICK)
        eventually(lambda: self.calls(QUICK) > after, "another look")


class Run:
    """`spoor run` around a job that waits, on such a machine."""

    def __init__(self, spoor, machine, *options, command=WAIT, **environment):
        self.path = spoor.new_path("result.json")
        self.machine = machine
        # The stand-in takes longer than a driver, and these jobs hardly run.
        self.process = spoor.start("run", "-q", "--budget", "50", "-o", self.path, *options, "--",
                                   *command, env={**machine.environment, **environment})
        self.pid = int(read_line(self.process.stdout))
        self.result = None

    def end(self, opens=True):
        """`opens`: only when the drivers are being opened, for which a job must have lived for a
        while."""
        if opens:
            eventually(lambda: thread_switches(self.process.pid, "spoor-gpu") is not None,
                       "drivers are opened")
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.result = load(self.path)
        return self.result


def warnings_of(result):
    """The codes of the warnings that speak of GPUs. A busy machine may bring others."""
    return [warning["code"] for warning in result["warnings"]
            if warning["code"].startswith("gpu")]


def newest_memory(samples):
    """Of the job, in the last whole row of a samples file: a list of one, or of none."""
    return [row["job_gpu_memory_bytes"] for row in rows_of(samples)][-1:]


def rows_of(path):
    """The whole rows of a samples file that may be written to."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").split("\n")[:-1]))
