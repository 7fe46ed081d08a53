# SPDX-License-Identifier: Apache-2.0
"""machine.py - starts, observes and ends the processes of the bench."""
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import tempfile
import time

DEADLINE_SECONDS = 60


@dataclasses.dataclass
class Bench:
    """The arguments of every benchmark. `effort` is 1, or less for a quick run."""
    spoor: str
    programs: pathlib.Path
    effort: float = 1.0

    def program(self, name, *arguments):
        return [str(self.programs / name), *map(str, arguments)]

    def much(self, full, least):
        """Returns the number of rounds, reduced for a quick run."""
        return max(least, round(full * self.effort))


def run(command):
    """Runs a program until it exits. Returns its output."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL).stdout


@contextlib.contextmanager
def started(command, **options):
    """Runs a process for the duration of the block. Its errors are shown only if it fails early."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(DEADLINE_SECONDS)
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def crowd(bench, count):
    """Starts COUNT sleeping children of one process. Yields the parent once all of them sleep."""
    with started(bench.program("crowd", count, 1), stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b"\0", "the crowd ended early"
        yield process


@contextlib.contextmanager
def scratch():
    """Creates a folder in memory, if possible, so that nothing is written to disk."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="spoor-bench-", dir=shared) as folder:
        yield pathlib.Path(folder)


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} in {DEADLINE_SECONDS} s")
        time.sleep(0.005)


def cpu_seconds(pid):
    """Returns the CPU time of a living process by its CPU clock: all threads, no children."""
    return time.clock_gettime(~pid << 3 | 2)


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def resident_bytes(pid):
    """Returns the resident size of a process, and its high-water mark."""
    fields = dict(line.split(":", 1) for line in
                  pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return tuple(int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))


def busy_seconds():
    """Returns the CPU time of all processes since boot, including time stolen by a hypervisor."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = sum(map(int, fields)) - int(fields[3]) - int(fields[4])
    return ticks / os.sysconf("SC_CLK_TCK")


def busy_cores(seconds=1.0):
    """Returns how many cores all processes use at the moment."""
    before, started_at = busy_seconds(), time.monotonic()
    time.sleep(seconds)
    return (busy_seconds() - before) / (time.monotonic() - started_at)
