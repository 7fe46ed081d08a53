# SPDX-License-Identifier: Apache-2.0
"""Runs the loads of real.py: under spoor, with nvidia-smi running at the same time, or beside
the job."""
import contextlib
import dataclasses
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

import nvidia_smi
from real_rows import measure

TIMEOUT_SECONDS = 120


class CaseFailed(Exception):
    """Raised if a case yields no figures, with the reason."""


@dataclasses.dataclass
class Run:
    """One tracked job: spoor's report, the job's own figures, and nvidia-smi's readings."""
    report: dict
    truths: list
    readings: list

    def figure(self, path):
        return measure(self.report, path)

    @property
    def elapsed(self):
        return self.figure("run.elapsed_seconds")

    @property
    def pids(self):
        return [truth["pid"] for truth in self.truths]

    def smi_memory(self, pids=None):
        """Returns the peak memory of these processes by nvidia-smi; by default, of the job's
        processes."""
        return nvidia_smi.peak(nvidia_smi.memory_of(reading, pids or self.pids)
                               for reading in self.readings)

    def smi_peak(self, field):
        return nvidia_smi.peak(getattr(reading, field) for reading in self.readings)

    def smi_mean(self, field):
        return nvidia_smi.mean(getattr(reading, field) for reading in self.readings)


def watch(process):
    """Runs nvidia-smi once a second until the process exits. Returns the readings."""
    readings = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        readings.append(nvidia_smi.read())
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
    return readings


def cpu_seconds(pid):
    """Returns the CPU time of all threads of a process."""
    return time.clock_gettime((~pid << 3) | 2)  # the clock id, as clock_getcpuclockid() computes it


@dataclasses.dataclass
class Mark:
    """The usage of the tracker at one moment."""
    at: float
    cpu: float
    gpu_cpu: float  # CPU time of the thread that calls the driver
    gpu_looks: int  # number of times that thread has slept


def gpu_thread(process):
    """Returns the folder of the thread that calls the driver, which starts soon after the job."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "spoor-gpu":
                return task
        time.sleep(0.01)
    raise CaseFailed("the tracker has no thread for GPUs")


def mark(pid, thread):
    status = dict(line.split(":", 1) for line in (thread / "status").read_text().splitlines())
    return Mark(time.monotonic(), cpu_seconds(pid),
                int((thread / "schedstat").read_text().split()[0]) / 1e9,
                int(status["voluntary_ctxt_switches"]))


def meter(after, seconds):
    """Returns a function that reads the tracker's usage twice while the job runs."""
    def read(process):
        thread, marks = gpu_thread(process), []
        for pause in (after, seconds):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
            if process.returncode is not None:
                raise CaseFailed(f"ended with status {process.returncode} while it was measured")
            marks.append(mark(process.pid, thread))
        return marks
    return read


class Bench:
    """Runs the programs of a case."""

    def __init__(self, spoor, programs, home, cost_seconds):
        self.spoor, self.programs, self.home = spoor, programs, home
        self.cost_seconds = cost_seconds  # duration of a run whose cost is measured
        self.machine = nvidia_smi.read_machine()
        self.context_bytes = None  # memory of a process with only a context
        self.notes = []

    def command(self, program, *arguments):
        return [str(self.programs / program), *map(str, arguments)]

    def new_folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.home))

    def track(self, command, options=(), ready=1, watch=watch):
        """Runs a command under spoor until it exits. `ready`: how many of its processes print
        "ready". watch(process) runs meanwhile and returns the readings."""
        folder = self.new_folder()
        process = start([self.spoor, "run", "-q", "-f", "json", "-o", folder / "report.json",
                         *options, "--", *command], folder)
        with ended(process):
            wait_ready(process, ready)
            readings = watch(process)
            status = finish(process)
        if status != 0:
            raise CaseFailed(f"status {status}: {tail(folder / 'stderr')}")
        try:
            report = json.loads((folder / "report.json").read_text())
        except (OSError, ValueError) as error:
            raise CaseFailed(f"no report: {error}") from error
        return Run(report, read_truths(folder), readings)

    @contextlib.contextmanager
    def beside(self, command):
        """Runs a foreign process from when it is ready until the block ends. Yields its PID, and
        a list that contains its truth after the block."""
        folder, truths = self.new_folder(), []
        process = start(command, folder)
        with ended(process):
            if not wait_ready(process, 1):
                raise CaseFailed(f"the foreign process: {tail(folder / 'stderr')}")
            yield process.pid, truths
            process.send_signal(signal.SIGTERM)
            finish(process)
        truths += read_truths(folder)


def start(command, folder):
    """Starts a program in its own session; its truth and its errors are written to the folder."""
    with open(folder / "stderr", "wb") as stderr:
        return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                                env={**os.environ, "TRUTH": str(folder / "truth")})


def read_truths(folder):
    """Returns the lines that the processes of a job wrote, one from each process."""
    path = folder / "truth"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextlib.contextmanager
def ended(process):
    """Kills the process and its descendants when the block ends, even by an exception."""
    try:
        yield
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def tail(path):
    return " ".join(path.read_text(errors="replace").split())[-300:]


def wait_ready(process, times):
    """Reads `count` lines "ready". Returns False if the process exits before that."""
    fd, text = process.stdout.fileno(), b""
    while text.count(b"ready\n") < times:
        if not select.select([fd], [], [], TIMEOUT_SECONDS)[0]:
            raise CaseFailed(f"not ready after {TIMEOUT_SECONDS} s")
        piece = os.read(fd, 4096)
        if not piece:
            return False
        text += piece
    return True


def finish(process):
    try:
        return process.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise CaseFailed(f"did not end within {TIMEOUT_SECONDS} s") from error
