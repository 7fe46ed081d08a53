#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py [--quick] [--only PART] [--write] [SPOOR] - tests whether any resource usage grows
while spoor runs for long.

- samples: a million samples requested from the library one after the other (real clock, without
  waiting for an interval), of a job whose processes start and exit.
- processes: a job of a million short processes under `spoor run`. The report must count all of
  them.
- starts: ten thousand trackers started and stopped by one Python program.

All three parts run at the same time. Each part is measured a hundred times. The last ten values
are compared with the ten after the first tenth: CPU time per step, anonymous memory and open
descriptors must not grow. --quick does a hundredth of the steps. Exits with status 0 if nothing
grows. --write writes the figures to docs/RELIABILITY.md.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import results

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]

# If the work of a step grows with the number of steps, such as a walk through all exited processes,
# the last tenth takes 6.3 times as long as the second. Other load on the machine slows down each
# step, and more samples are taken during it: up to twofold was seen with ten times more load than
# CPUs.
CPU_RATIO_MAX = 3
# The smallest block of malloc takes 32 bytes. 512 KiB is one lost block in every fiftieth sample,
# or two in every start; 2 MiB is one in every twelfth process. Buffers for events grow with the
# tracker's delay: a tracker that is stopped for 2,000 processes grows by 1 MB, once. The curve of a
# run reaches its full size, 1,024 points, before the second tenth.
MEMORY_GROWTH_MAX = {"samples": 512 << 10, "processes": 2 << 20, "starts": 512 << 10}
# Files of living processes are kept open, so the number of descriptors varies a little between
# looks.
DESCRIPTOR_GROWTH_MAX = 8

STARTS = """
import os, sys, time
import spoor
count = int(sys.argv[1])
for step in range(1, count + 1):
    tracker = spoor.Tracker(interval=3600)
    tracker.start()
    tracker.stop()
    assert tracker.result.run.pid == os.getpid()
    if step % (count // 100) == 0:
        memory = open("/proc/self/status").read().partition("RssAnon:")[2].split()[0]
        print(step, time.process_time_ns(), int(memory) * 1024, len(os.listdir("/proc/self/fd")) - 1,
              flush=True)
"""


def look_at(pid):
    """Returns the CPU time, anonymous memory and number of descriptors of a process. Pages of
    files and of shared memory, in which rows wait for their writer, vary and are not counted."""
    ticks = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    memory = pathlib.Path(f"/proc/{pid}/status").read_text().partition("RssAnon:")[2].split()[0]
    return (sum(map(int, ticks)) * 10**9 // os.sysconf("SC_CLK_TCK"), int(memory) * 1024,
            len(os.listdir(f"/proc/{pid}/fd")))


def run_samples(setup, count):
    done = subprocess.run([setup.build("sampling", library=True), str(count)], text=True, check=True,
                          stdout=subprocess.PIPE, env=setup.environment)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()], []


def run_processes(setup, count):
    report = setup.folder / "r.json"
    looks = []
    with subprocess.Popen([setup.binary, "run", "-q", "-i", "20ms", "--samples", setup.folder / "s.csv",
                           "-o", report, "--", setup.build("short_processes"), str(count)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            if len(looks) == 100:
                used_seconds = int(line) / 1e6
                break
            looks.append((int(line), *look_at(process.pid)))
            process.stdin.write("\n")
            process.stdin.flush()
        process.stdin.close()
        status = process.wait()
    found = json.loads(report.read_text())
    started, cpu = found["processes"]["started"], found["cpu"]["total_seconds"]
    rows = len((setup.folder / "s.csv").read_text().splitlines()) - 1
    faults = []
    if status != 0:
        faults.append(f"status {status}")
    if started["value"] != count + 1:
        faults.append(f"the report counts {started}, not {count + 1} processes")
    # The job can measure neither the exit of its last process nor its own.
    if abs(cpu["value"] - used_seconds) > 0.05 * used_seconds + 0.01:
        faults.append(f"the report says {cpu}, the job {used_seconds} s")
    if rows != found["run"]["samples"]:
        faults.append(f"{rows} rows of {found['run']['samples']} samples")
    return looks, faults


def run_starts(setup, count):
    done = subprocess.run(["/usr/bin/python3", "-c", STARTS, str(count)], text=True, check=True,
                          stdout=subprocess.PIPE, env=setup.environment, cwd=setup.folder)
    left = [path.name for path in setup.folder.iterdir() if path.suffix not in ("", ".json", ".csv")]
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()], \
        [f"files are left: {left}"] if left else []


class Setup:
    def __init__(self, binary, folder):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = folder
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(self.binary.parent),
                            "SPOOR_BIN": str(self.binary), "PYTHONPATH": str(TOP / "python"),
                            "PYTHONDONTWRITEBYTECODE": "1"}

    def build(self, name, library=False):
        path = self.folder / name
        with_library = ["-I", TOP / "include", self.binary.parent / "libspoor.so"] if library else []
        subprocess.run([shutil.which("cc") or "gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", path,
                        HERE / "programs" / f"{name}.c", *with_library], check=True)
        return path


# The number of steps of each part, and its function.
PARTS = {"samples": (1000000, run_samples), "processes": (1000000, run_processes),
         "starts": (10000, run_starts)}


def compare(looks):
    """Returns (CPU nanoseconds per step, anonymous bytes, descriptors) for the second and for
    the last tenth."""
    def tenth(part):
        (first_step, first_cpu, *_), (last_step, last_cpu, *_) = part[0], part[-1]
        return ((last_cpu - first_cpu) / (last_step - first_step), max(look[2] for look in part),
                max(look[3] for look in part))
    return tenth(looks[9:20]), tenth(looks[-11:])


def judge(name, looks, is_quick):
    """Returns the quantities that have grown. A quick run has not warmed up, so only descriptors
    and memory are judged, loosely."""
    early, late = compare(looks)
    faults = []
    if late[0] > early[0] * CPU_RATIO_MAX and not is_quick:
        faults.append(f"CPU time per step: {early[0] / 1000:.1f} us, then {late[0] / 1000:.1f} us")
    if late[1] > early[1] + MEMORY_GROWTH_MAX[name] * (4 if is_quick else 1):
        faults.append(f"anonymous memory: {early[1]} bytes, then {late[1]}")
    if late[2] > early[2] + DESCRIPTOR_GROWTH_MAX:
        faults.append(f"descriptors: {early[2]}, then {late[2]}")
    return [f"{name}: {fault}" for fault in faults], early, late


def row(name, count, early, late, seconds):
    return [name, count, f"{early[0] / 1000:.1f} / {late[0] / 1000:.1f} us",
            f"{early[1] / 1e6:.2f} / {late[1] / 1e6:.2f} MB", f"{early[2]} / {late[2]}", f"{seconds:.0f} s"]


def describe(rows):
    return results.table(["part", "steps", "CPU per step", "anonymous memory", "descriptors", "took"], rows) + """

Each pair is the second tenth and the last one; memory and descriptors are the most that was seen. "Samples"
is a program with a session of the library; "processes" is `spoor run`, whose report counted every
process; "starts" is the Python program."""


def soak(arguments, name):
    """Runs a part. Returns its row of the table, and its faults."""
    count, run = PARTS[name]
    count //= 100 if arguments.quick else 1
    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        started = time.monotonic()
        looks, faults = run(Setup(arguments.spoor, pathlib.Path(home)), count)
        seconds = time.monotonic() - started
    grown, early, late = judge(name, looks, arguments.quick)
    cells = row(name, count, early, late, seconds)
    print(" | ".join(map(str, cells)), flush=True)
    return cells, [f"{name}: {fault}" for fault in faults] + grown


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=__doc__.split(" - ", 1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("spoor", nargs="?", default=TOP / "build/spoor")
    arguments = parser.parse_args()
    parts = arguments.only or list(PARTS)
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        done = list(pool.map(lambda name: soak(arguments, name), parts))
    rows, faults = [rows for rows, _ in done], sum((faults for _, faults in done), [])
    text = describe(rows)
    if faults:
        print("\n".join(["FAILED", *faults]))
    elif arguments.write:
        results.write("soak", text)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
