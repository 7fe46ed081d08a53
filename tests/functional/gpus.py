# SPDX-License-Identifier: Apache-2.0
"""Machines with GPUs for tests: a stand-in for NVIDIA's library that plays a script
(tests/gpu/standin)."""
import os
import pathlib

from conftest import eventually, load, read_line, rows_of

GIB = 1 << 30
LIST = "nvmlDeviceGetComputeRunningProcesses_v3"
QUICK = "nvmlDeviceGetMemoryInfo_v2"  # called in every look
SLOW = "nvmlDeviceGetClockInfo"  # called once in every slow look
# Memory in use on each device while it has a process, and how much less otherwise.
USED_BYTES, MOVED_BYTES = 3000000000, 4096
CARD = """\
device {0} uuid GPU-{0}000-aaaa
device {0} name NVIDIA H200
device {0} pci 0:{1}:0
device {0} total 150000000000
device {0} used {2}
"""
# NVML's error codes.
NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED, LOST, VERSION_MISMATCH = 3, 4, 9, 15, 18
UNKNOWN_ERROR = 999
# A shell loop that waits for a line or the end of its input and uses a little CPU time meanwhile:
# spoor reads an idle job only every 10 s.
LOOP = "until read -t 0.02; [ $? -lt 128 ]; do : {1..2000}; done"
WAIT = ("bash", "-c", "echo $$; " + LOOP)


def card(number):
    return CARD.format(number, 59 + number, USED_BYTES - MOVED_BYTES)


def until_called(machine, name=SLOW):
    """Returns a command that exits at the next such call of the stand-in: by default, after the
    GPUs were read. If a job exits before the driver is opened, its GPU figures are unknown."""
    calls = pathlib.Path(machine.environment["SPOOR_NVML_CALLS"])
    before = sum(name in line for line in calls.read_text().splitlines()) if calls.exists() else 0
    return ("sh", "-c", f'until [ "$(grep -sc {name} "$SPOOR_NVML_CALLS" || true)" -gt {before} ]; do '
            'sleep 0.01; done')


def thread_switches(pid, name):
    """Counts how often the thread with this name has slept; None if there is no such thread."""
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        if fields["Name"] == name:
            return int(fields["voluntary_ctxt_switches"])
    return None


class Machine:
    """A machine with GPUs, defined by the script of the stand-in, to which lines may be added
    while it runs."""

    def __init__(self, folder, library):
        self.script, self.log = folder / "script", folder / "calls"
        self.text, self.moved = "", set()
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(library),
                            "SPOOR_NVML_SCRIPT": str(self.script),
                            "SPOOR_NVML_CALLS": str(self.log)}

    def play(self, *lines):
        """Adds lines, which take effect together. As on a real device, the memory in use changes
        if a process starts or changes; otherwise spoor rarely lists the processes of the device."""
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
        """Waits for this many more calls, and for a later look, so that the results of these
        calls were used."""
        before = self.calls(name)
        eventually(lambda: self.calls(name) >= before + times, f"{times} calls of {name}")
        after = self.calls(QUICK)
        eventually(lambda: self.calls(QUICK) > after, "another look")


class Run:
    """`spoor run` with a job that waits, on a machine of this module."""

    def __init__(self, spoor, machine, *options, command=WAIT, **environment):
        self.path = spoor.new_path("result.json")
        self.machine = machine
        # The stand-in is slower than a driver and these jobs use little CPU time, so raise the
        # budget.
        self.process = spoor.start("run", "-q", "--budget", "50", "-o", self.path, *options, "--",
                                   *command, env={**machine.environment, **environment})
        self.pid = int(read_line(self.process.stdout))
        self.result = None

    def end(self, opens=True):
        """Ends the job and returns its report. If `opens`, first waits until the drivers are
        being opened, which happens only once the job has run for a while."""
        if opens:
            eventually(lambda: thread_switches(self.process.pid, "spoor-gpu") is not None,
                       "drivers are opened")
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.result = load(self.path)
        return self.result


def gpu_warnings(result):
    """Returns the codes of the warnings about GPUs. A busy machine may cause other warnings."""
    return [warning["code"] for warning in result["warnings"]
            if warning["code"].startswith("gpu")]


def newest_memory(samples):
    """Returns the GPU memory of the job in the last complete row of a samples file: a list with
    one value, or an empty list."""
    return [row["job_gpu_memory_bytes"] for row in rows_of(samples)][-1:]
