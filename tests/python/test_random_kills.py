# SPDX-License-Identifier: Apache-2.0
"""Kills programs and agents at random moments. Nothing may replace the program's own exception, and nothing may be
left: no process, no cgroup, no unrequested file.

    KILLS=500 KILLS_SEED=1 pytest -s tests/python/test_random_kills.py

kills more of them, prints counts, and can be repeated with the same seed.
"""
import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from conftest import DEADLINE_SECONDS, eventually

KILLS = int(os.environ.get("KILLS", 500 if os.environ.get("TEST_FULL") else 12))
SEED = int(os.environ.get("KILLS_SEED", 10))
FILES = {"r.json", "s.csv", "t.csv"}

PROGRAM = """
import signal, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
import gpu_tracker, spoor

class OwnError(Exception):
    pass

print("go", flush=True)
with gpu_tracker.Tracker(sleep_time=0.1, tracking_file="t.csv", overwrite=True) as outer, \\
        spoor.Tracker(interval=0.005, output="r.json", samples="s.csv") as tracker:
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        with spoor.phase("p"), tracker.phase("q"):
            tracker.sample()
print(tracker.result.reason, "" if outer.resource_usage else "no usage", flush=True)
with gpu_tracker.Tracker(disable_logs=True), spoor.Tracker(output="r.json"), spoor.phase("p"):
    raise OwnError("own")
"""


def marked(mark):
    """Returns PID and name of the processes that have `mark` in their environment."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes().split(b"\0"):
                found[int(path.name)] = (path / "comm").read_bytes().decode(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


def cgroups():
    """Returns the cgroups of trackers: spoor-PID-..."""
    return {folder for _, folders, _ in os.walk("/sys/fs/cgroup") for folder in folders
            if re.match(r"spoor-\d+-", folder)}


def kill_one(what, process, mark, chance):
    """Kills the program, or one of its agents, at a random moment. Returns whether something was
    killed."""
    if what == "agent":
        deadline = time.monotonic() + chance.uniform(0, 0.25)
        while process.poll() is None:
            agents = [pid for pid, name in marked(mark).items() if name == "spoor-agent"]
            if agents and time.monotonic() >= deadline:
                try:
                    os.kill(chance.choice(agents), signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    pass
        return False
    time.sleep(chance.uniform(0, 0.35))
    if process.poll() is None:
        process.send_signal(signal.SIGKILL if what == "program" else signal.SIGINT)
        return True
    return False


def last_exception(err):
    """Returns the class of the exception that ended a program, from the last line of its output."""
    lines = [line for line in err.splitlines() if re.match(r"^[\w.]+(: .*)?$", line)]
    return lines[-1].partition(":")[0].rpartition(".")[2] if lines else None


def run_round(number, folder, seen, pids):
    chance = random.Random(f"{SEED}.{number}")
    what = chance.choice(["program", "interrupt", "agent", "agent"])
    folder.mkdir()
    mark = f"KILLED_BY={os.getpid()}.{number}"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=folder, text=True,
                               env={**os.environ, **dict([mark.split("=")])},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    is_killed = kill_one(what, process, mark.encode(), chance)
    pids.update(marked(mark.encode()))
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    story = f"seed {SEED}.{number}: {what}, status {process.returncode}\n{out}{err}"
    if what == "program" and process.returncode == 1:
        is_killed = False  # the program was already exiting, so the signal has no effect
    if what == "agent" or not is_killed:
        assert process.returncode == 1 and last_exception(err) == "OwnError", story
        assert "During handling" not in err and "direct cause" not in err, story
    elif what == "interrupt":
        exception = last_exception(err)
        assert exception in ("OwnError", "KeyboardInterrupt", None), story
        codes = [-signal.SIGINT, 128 + signal.SIGINT]
        if not out or "OwnError: own" in err:  # before the program's own code, or while Python exits
            codes.append(1)
        assert process.returncode in codes, story
    else:
        assert process.returncode == -signal.SIGKILL, story
    eventually(lambda: not marked(mark.encode()), f"the end of all processes; {story}")
    left = {path.name for path in folder.iterdir()} - FILES
    assert not left, f"{left}; {story}"
    seen[what if is_killed else "too late"] += 1
    seen["told that tracking has stopped"] += "racking has stopped" in err


@pytest.mark.parametrize("first", range(0, KILLS, 100))
def test_nothing_is_left_after_kills_at_random_moments(tmp_path, first):
    seen = collections.Counter()
    pids, before = set(), cgroups()
    for number in range(first, min(first + 100, KILLS)):
        run_round(number, tmp_path / str(number), seen, pids)
    assert not [name for name in cgroups() - before if int(name.split("-")[1]) in pids]
    assert seen["too late"] < sum(seen[what] for what in ("program", "interrupt", "agent"))
    print(f"\nseed {SEED}, rounds {first} to {number}: {dict(seen)}")
