# SPDX-License-Identifier: Apache-2.0
"""injection.py - runs a program in which one call fails; the counterpart of failing.c in the
test."""
import collections
import ctypes
import errno
import os
import pathlib
import signal
import struct
import subprocess
import time

FRAMES, SITES = 24, 1 << 17  # as in failing.h
HEADER = struct.Struct(f"=QQQ{FRAMES}Q")
WALL = 0x40000000  # __WALL: also waits for children that exit without a signal
PR_SET_CHILD_SUBREAPER = 36
NOWHERE = 0xcbf29ce484222325  # the call site of calls by other code: the C library, a sanitizer
DEADLINE_SECONDS = 60
END_SECONDS = 20  # how long a remaining process may take to notice and exit

# The kinds of calls and their failures: an errno name, "short" or "empty". "+": all later calls
# fail too.
FAILURES = {
    "alloc": ["ENOMEM", "ENOMEM+"],
    "open": ["ENOENT", "ESRCH", "EACCES", "EIO", "EMFILE"],
    "read": ["ENODEV", "ESRCH", "EACCES", "EIO", "EINTR", "short", "empty"],
    "write": ["ENOSPC", "ENOSPC+", "EPIPE", "EINTR", "short"],
    "stat": ["ENOENT", "EACCES"],
    "fd": ["EMFILE", "EMFILE+"],
    "thread": ["EAGAIN", "EAGAIN+"],
    "fork": ["EAGAIN", "ENOMEM"],
    "wait": ["EINTR"],
}

Injection = collections.namedtuple("Injection", "kind how site at")
# The outcome of a run: its status (negative: the signal), its output, whether and where the call
# failed, and the number of processes it left.
Outcome = collections.namedtuple("Outcome", "status stdout stderr is_hit frames left is_late seconds pid")


def become_subreaper():
    """Makes this process the parent of processes that a run leaves behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def environment(base, library, state, injection):
    how = injection.how.rstrip("+")
    return {**base, "LD_PRELOAD": str(library), "FAILING_STATE": str(state),
            "FAILING_KIND": injection.kind, "FAILING_SITE": f"{injection.site:x}",
            "FAILING_AT": str(injection.at), "FAILING_ON": str(int(injection.how.endswith("+"))),
            "FAILING_HOW": how if how in ("short", "empty") else str(getattr(errno, how))}


def wait_for_rest(known):
    """Reaps the remaining processes, and returns how many had to be killed."""
    deadline = time.monotonic() + END_SECONDS
    killed = set()
    while True:
        children = pathlib.Path("/proc/thread-self/children").read_text().split()
        children = {int(pid) for pid in children} - known
        if not children:
            return len(killed)
        for pid in children:
            if time.monotonic() > deadline and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            os.waitpid(pid, os.WNOHANG | WALL)
        time.sleep(0.001)


def run(command, state, env, folder, stdin=b"", known=()):
    """Runs the command until it exits and reads its state file. `known`: children of this
    process."""
    with open(state, "wb") as file:
        file.truncate(HEADER.size + 8 * SITES)
    with open(folder / "stdin", "w+b") as source, open(folder / "stdout", "w+b") as out, \
            open(folder / "stderr", "w+b") as err:
        source.write(stdin)
        source.seek(0)
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=source, stdout=out,
                                   stderr=err, start_new_session=True)
        is_late = False
        started = time.monotonic()
        try:
            status = process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            is_late = True
            process.kill()
            status = process.wait()
        left = wait_for_rest(set(known))
        seconds = time.monotonic() - started
        out.seek(0)
        err.seek(0)
        texts = [file.read().decode(errors="replace") for file in (out, err)]
    for name in ("stdin", "stdout", "stderr"):
        (folder / name).unlink()
    _, _, failed, *frames = HEADER.unpack(pathlib.Path(state).read_bytes()[:HEADER.size])
    return Outcome(status, *texts, failed > 0, [frame for frame in frames if frame], left, is_late,
                   seconds, process.pid)


def sites(state):
    """Returns the call sites of a run, in order, one entry for each call."""
    data = pathlib.Path(state).read_bytes()
    count = min(HEADER.unpack(data[:HEADER.size])[0], SITES)
    return struct.unpack(f"={count}Q", data[HEADER.size:HEADER.size + 8 * count])


def choose(calls, most, with_others=True):
    """Chooses the calls to fail, as (site, occurrence): the first and the last call of every
    call site, then others in equal steps, `most` in all unless there are more call sites."""
    seen = collections.Counter()
    numbered = []
    for site in calls:
        seen[site] += 1
        numbered.append((site, seen[site]))
    if not with_others:
        numbered = [call for call in numbered if call[0] != NOWHERE]
        del seen[NOWHERE]
    first = [call for call in numbered if call[1] == 1]
    last = [(site, count) for site, count in seen.items() if count > 1]
    chosen = dict.fromkeys(first + last[:max(0, most - len(first))])
    rest = [call for call in numbered if call not in chosen]
    room = most - len(chosen)
    if room > 0 and rest:
        step = max(1, len(rest) / room)
        chosen.update(dict.fromkeys(rest[int(i * step)] for i in range(min(room, len(rest)))))
    return list(chosen)


def describe(frames, program):
    """Returns the functions of a call site, innermost first."""
    if not frames:
        return "unknown"
    done = subprocess.run(["addr2line", "-f", "-s", "-e", program,
                           *(hex(frame - 1) for frame in frames)],
                          capture_output=True, text=True, check=False).stdout.splitlines()
    return " < ".join(f"{name} {place.split(' ')[0]}" for name, place in zip(done[::2], done[1::2]))
