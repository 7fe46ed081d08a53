# SPDX-License-Identifier: Apache-2.0
"""leftovers.py - finds what the programs under test leave behind: processes, cgroups, sockets,
files.

A test that uses this becomes the subreaper of everything it starts: a process that outlives its
parents becomes a child of the test, which can wait for its exit. So "no process is left" means
that the test has no children; it is not guessed from a list of names. All cgroups are created
below a cgroup of the test, which contains no others.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
WALL = 0x40000000
DEADLINE_SECONDS = 60
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def become_subreaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def children_of(pid):
    """Lists the children of all threads of a process, zombies included."""
    found = set()
    gone = contextlib.suppress(FileNotFoundError, ProcessLookupError)
    with gone:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with gone:
                found.update(map(int, pathlib.Path(f"/proc/{pid}/task/{thread}/children")
                                 .read_text().split()))
    return found


def descendants_of(pid):
    found, left = set(), {pid}
    while left:
        new = children_of(left.pop()) - found
        found |= new
        left |= new
    return found


def name_of(pid):
    """Returns the comm of a process, or None if the process has exited."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return None if rest.split()[0] in "ZX" else name


def wait_for(condition, what, seconds=DEADLINE_SECONDS):
    """Polls until condition() is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.002)


def reap_all(but=()):
    """Waits until this process has no children except `but`. Returns the reaped PIDs."""
    reaped = set()

    def is_alone():
        left = children_of(os.getpid()) - set(but)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG | WALL)[0] == pid:
                    reaped.add(pid)
        return not children_of(os.getpid()) - set(but)

    def describe():
        return {pid: name_of(pid) for pid in children_of(os.getpid()) - set(but)}

    try:
        wait_for(is_alone, "the end of all processes")
    except AssertionError as error:
        raise AssertionError(f"{error}; left: {describe()}") from None
    return reaped


def own_folders():
    """Returns the folder of this process in each cgroup hierarchy that spoor uses."""
    found = []
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, names, path = line.split(":", 2)
        tree = CGROUPS / names if names in ("memory", "pids", "cpuacct") else \
            (CGROUPS / "unified" if (CGROUPS / "unified").is_dir() else CGROUPS)
        if (names or number == "0") and (tree / "cgroup.procs").exists() and \
                (names == "" or tree.name == names):
            found.append(tree / path.lstrip("/"))
    return found


@contextlib.contextmanager
def own_cgroups(name):
    """Moves this process into a new cgroup in every hierarchy. Yields the folders: none without
    permission. Removes the cgroups at the end."""
    made = []
    try:
        for above in own_folders():
            folder = above / f"{name}-{os.getpid()}"
            with contextlib.suppress(PermissionError, FileNotFoundError):
                folder.mkdir()
                (folder / "cgroup.procs").write_text(str(os.getpid()))
                made.append(folder)
        yield made
    finally:
        for folder in made:
            (folder.parent / "cgroup.procs").write_text(str(os.getpid()))
            for left in [*below(folder), folder]:
                with contextlib.suppress(OSError):  # processes are left in it: the test has failed
                    left.rmdir()


def below(folder):
    """Lists the cgroups below `folder`, the deepest first."""
    return sorted((path for path in folder.rglob("*") if path.is_dir()),
                  key=lambda path: -len(path.parts))


def sockets_of(pids):
    """Lists the abstract Unix sockets of trackers with these PIDs."""
    names = re.findall(r"@(spoor\S*)", pathlib.Path("/proc/net/unix").read_text())
    return {name for name in names if name.rpartition("/")[2] in map(str, pids)}


@contextlib.contextmanager
def busy_loops(count, *wrapper):
    """Starts COUNT processes, each of which keeps a CPU busy. Yields their PIDs."""
    started = [subprocess.Popen([*wrapper, "sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
