# SPDX-License-Identifier: Apache-2.0
"""Parses the output of nvidia-smi. real.py compares spoor with it, and spoor's predecessors
started it.

Figures that nvidia-smi does not report ("[N/A]", "[Not Supported]") are None, never 0.
"""
import dataclasses
import resource
import subprocess
import time

MIB = 1 << 20
TIMEOUT_SECONDS = 30
DEVICE_FIELDS = "memory.used,utilization.gpu,power.draw"
APP_FIELDS = "pid,used_gpu_memory"
# The commands that gpu_tracker, a predecessor, starts for every sample.
PREDECESSOR = (["--query-compute-apps=pid,used_gpu_memory", "--format=csv"],
               ["--query-gpu=uuid,memory.used,utilization.gpu", "--format=csv"])


@dataclasses.dataclass
class Reading:
    """One reading. The figures of several devices are added up."""
    memory_of: dict  # pid: bytes, or None if not reported
    used_bytes: float | None = None
    busy_gpus: float | None = None
    watts: float | None = None


@dataclasses.dataclass
class Machine:
    driver: str
    names: list
    uuids: list


def ask(*options):
    """Runs nvidia-smi and returns its output; raises OSError or subprocess.SubprocessError."""
    return subprocess.run(["nvidia-smi", *options], stdout=subprocess.PIPE, text=True, check=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS).stdout


def query(what, fields):
    return ask(f"--query-{what}={fields}", "--format=csv,noheader,nounits")


def parse_rows(text, columns):
    """Parses CSV rows without a header; the last column may contain commas."""
    rows = [[cell.strip() for cell in line.split(",", columns - 1)]
            for line in text.splitlines() if line.strip()]
    return [row for row in rows if len(row) == columns]


def parse_number(cell):
    try:
        return float(cell)
    except ValueError:
        return None


def total(values):
    """Returns the sum; None if there is no value or any value is unknown."""
    values = list(values)
    return None if not values or None in values else sum(values)


def parse_apps(text):
    """Returns bytes by PID, summed over devices."""
    apps = {}
    for pid, used in parse_rows(text, 2):
        if pid.isdigit():
            mib = parse_number(used)
            apps.setdefault(int(pid), []).append(None if mib is None else mib * MIB)
    return {pid: total(amounts) for pid, amounts in apps.items()}


def parse_reading(apps, devices):
    rows = parse_rows(devices, 3)
    used, busy, watts = (total(parse_number(row[i]) for row in rows) for i in range(3))
    return Reading(parse_apps(apps), None if used is None else used * MIB,
                   None if busy is None else busy / 100, watts)


def read():
    return parse_reading(query("compute-apps", APP_FIELDS), query("gpu", DEVICE_FIELDS))


def parse_machine(text):
    rows = parse_rows(text, 3)
    return Machine(rows[0][0] if rows else "?", [row[2] for row in rows], [row[1] for row in rows])


def read_machine():
    return parse_machine(query("gpu", "driver_version,uuid,name"))


def memory_of(reading, pids):
    """Returns the total memory of these processes; None if any of them is not reported."""
    return total(reading.memory_of.get(pid) for pid in pids)


def peak(values):
    return max((value for value in values if value is not None), default=None)


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def predecessor_cost(samples):
    """Returns (CPU seconds, wall seconds) of the nvidia-smi commands that gpu_tracker starts for
    a sample."""
    def cpu_seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    cpu, wall = cpu_seconds(), time.perf_counter()
    for _ in range(samples):
        for options in PREDECESSOR:
            ask(*options)
    return (cpu_seconds() - cpu) / samples, (time.perf_counter() - wall) / samples
