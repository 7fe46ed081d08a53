#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces nvidia-smi, the CUDA loads or spoor for test_gpu_real.py, depending on the name under which it runs.

In FAKE_HOME, held/PID contains the usage of a process: MiB, and the share of the time that it is busy; looks
contains a byte for each run of nvidia-smi. A load runs until nvidia-smi has run. FAKE_FACTOR changes spoor's
figures: a factor, "null", or "damaged" for a report that is not JSON.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HOME = pathlib.Path(os.environ["FAKE_HOME"])
CONTEXT_MIB, MIB = 500, 1 << 20
WATTS, FOREVER = 100, "60"
NAME, *ARGUMENTS = [os.path.basename(sys.argv[0]), *sys.argv[1:]]


def looks():
    return (HOME / "looks").stat().st_size


def held():
    """Returns (MiB, busy share) by PID."""
    found = {}
    for path in (HOME / "held").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[int(path.name)] = tuple(map(float, path.read_text().split()))
    return found


def load(mib, busy=0.0, is_foreign=False, **truth):
    """Holds memory until nvidia-smi has run, or, for a foreign process, until it gets a signal."""
    ended, before, deadline = [], looks(), time.monotonic() + 60
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    entry, draft = HOME / "held" / str(os.getpid()), HOME / f"draft-{os.getpid()}"
    draft.write_text(f"{mib + CONTEXT_MIB} {busy}")
    draft.rename(entry)
    os.write(1, b"ready\n")  # print() may write the newline separately
    while not ended and time.monotonic() < deadline and \
            (is_foreign or looks() == before):
        time.sleep(0.002)
    entry.unlink()
    with open(os.environ["TRUTH"], "a", encoding="ascii") as file:
        print(json.dumps({"pid": os.getpid(), "bytes": mib * MIB, **truth}), file=file)


def play_nvidia_smi():
    if "compute-apps" in ARGUMENTS[0]:
        for pid, (mib, _) in held().items():
            print(f"{pid}, {mib:.0f}")
    elif "driver_version" in ARGUMENTS[0]:
        print("580.1, GPU-1, NVIDIA Fake")
    else:
        print(f"{sum(mib for mib, _ in held().values()):.0f}, 37, {WATTS}.00")
        with open(HOME / "looks", "a", encoding="ascii") as file:
            file.write("x")


def play_spoor():
    command = ARGUMENTS[ARGUMENTS.index("--") + 1:]
    elapsed = 10.0
    if "-i" in ARGUMENTS:  # the cost of this call is measured
        elapsed = float(command[-1])
        be_there(elapsed)
    elif subprocess.call(command) != 0:
        sys.exit(3)
    truth = pathlib.Path(os.environ["TRUTH"])
    truths = [json.loads(line) for line in truth.read_text().splitlines()] if truth.exists() else []
    factor = os.environ["FAKE_FACTOR"]
    text = "no" if factor == "damaged" else json.dumps(report(truths, elapsed, factor))
    pathlib.Path(ARGUMENTS[ARGUMENTS.index("-o") + 1]).write_text(text)


def be_there(seconds):
    """Uses a little CPU time while it runs."""
    pathlib.Path(f"/proc/self/task/{os.getpid()}/comm").write_text("spoor-gpu", encoding="ascii")
    os.write(1, b"ready\n")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(seconds / 5)


def report(truths, elapsed, factor):
    def measure(value):
        return {"value": None if factor == "null" else value * float(factor)}

    foreign = list(held().values())
    ours = sum(entry["bytes"] + CONTEXT_MIB * MIB for entry in truths)
    busy = sum(entry.get("busy_seconds", 0) for entry in truths) / elapsed
    is_one = len(truths) == 1
    return {
        "run": {"elapsed_seconds": elapsed, "samples": int(elapsed) + 1},
        "gpu": {"count": None if factor == "null" else 1,
                "devices": [] if factor == "null" else [{"uuid": "GPU-1"}],
                "memory": {"main_bytes": measure(ours if is_one else 0),
                           "descendants_bytes": measure(0 if is_one else ours),
                           "combined_bytes": measure(ours),
                           "system_bytes": measure(ours + sum(mib for mib, _ in foreign) * MIB)},
                "utilization": {"mean_gpus": measure(busy + sum(share for _, share in foreign))},
                "job_utilization": {"mean_gpus": measure(busy)}},
        "energy": {"gpu_joules": measure(elapsed * WATTS)},
        "warnings": [{"code": "gpu-shared", "message": ""}],
        "tracker": {"cpu_seconds": elapsed * 0.001},
    }


def play_hold():
    load(int(ARGUMENTS[0]))


def play_spike():
    """Runs a spike during which nvidia-smi sees only the context."""
    load(0, held_ms=float(ARGUMENTS[1]) + 0.2)
    path = pathlib.Path(os.environ["TRUTH"])
    path.write_text(path.read_text().replace('"bytes": 0', f'"bytes": {int(ARGUMENTS[0]) * MIB}'))


def play_duty():
    share = float(ARGUMENTS[0]) / 100
    load(int(ARGUMENTS[4]) if len(ARGUMENTS) > 4 else 0, share, ARGUMENTS[2] == FOREVER,
         busy_seconds=share * 10, loop_seconds=10.0)


def play_children():
    for amount in ARGUMENTS[1:]:
        if os.fork() == 0:
            load(int(amount))
            os._exit(0)
    for _ in ARGUMENTS[1:]:
        os.wait()


if __name__ == "__main__":
    globals()["play_" + NAME.replace("-", "_")]()
