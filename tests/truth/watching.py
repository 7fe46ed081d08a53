# SPDX-License-Identifier: Apache-2.0
"""Measures the usage of a run from outside: by an outer cgroup, the proc connector and sampled
PSS."""
import contextlib
import ctypes
import os
import pathlib
import platform
import signal
import socket
import struct
import threading
import time

CGROUPS = pathlib.Path("/sys/fs/cgroup")
PSS_PERIOD_SECONDS = 0.05


class OuterCgroup:
    """A cgroup around the tracker and its job; on version 1, one in each hierarchy."""
    def __init__(self, name):
        v1 = [CGROUPS / kind for kind in ("cpuacct", "memory", "pids", "unified")]
        parents = [folder for folder in v1 if folder.is_dir()] or [CGROUPS]
        if parents == [CGROUPS]:
            with contextlib.suppress(OSError):
                (CGROUPS / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        self.folders = [parent / name for parent in parents]
        for folder in self.folders:
            folder.mkdir()

    def join(self):
        """Moves the calling process into the cgroup; called in the child, before exec."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def read(self, *names):
        for folder in self.folders:
            for name in names:
                with contextlib.suppress(OSError):
                    return (folder / name).read_text()
        return None

    @staticmethod
    def read_pids(folder):
        return [int(pid) for path in folder.rglob("cgroup.procs") for pid in path.read_text().split()]

    @property
    def cpu_seconds(self):
        text = self.read("cpuacct.usage")
        if text:
            return int(text) / 1e9
        text = self.read("cpu.stat")
        return int(text.split()[1]) / 1e6 if text else None

    @property
    def peak_bytes(self):
        text = self.read("memory.max_usage_in_bytes", "memory.peak")
        return int(text) if text else None

    def remove(self):
        """Removes the cgroup, with every cgroup that the job left in it."""
        for folder in self.folders:
            for attempt in range(50):
                for pid in (self.read_pids(folder) if attempt else ()):
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    for inner, _, _ in os.walk(folder, topdown=False):
                        os.rmdir(inner)
                if not folder.exists():
                    break
                time.sleep(0.02)


FORK, EXIT = 1, 0x80000000


def parse_event(message):
    """Parses a message of the proc connector. Returns ("fork", parent, child), ("exit",
    process), or None; skips threads."""
    what, = struct.unpack_from("=I", message, 36)
    if what == FORK:
        _, parent, child_thread, child = struct.unpack_from("=iiii", message, 52)
        return ("fork", parent, child) if child_thread == child else None
    if what == EXIT:
        thread, process = struct.unpack_from("=ii", message, 52)
        return ("exit", process) if thread == process else None
    return None


def find_descendants(forks, main):
    """Returns main and all its descendants. `forks` are (parent, child), in order."""
    members = {main}
    for parent, child in forks:
        if parent in members:
            members.add(child)
    return members


class Processes(threading.Thread):
    """Records every fork and exit on the machine. Needs root."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
        self.socket.bind((0, 1))
        self.socket.send(struct.pack("=IHHIIIIIIHHI", 40, 3, 0, 0, os.getpid(), 1, 1, 0, 0, 4, 0, 1))
        self.forks = []
        self.ended = set()
        self.root = None
        self.lost = False
        self.has_ended = False

    def run(self):
        self.socket.settimeout(0.2)
        while not self.has_ended:
            try:
                message = self.socket.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                self.lost = True  # the buffer was full
                continue
            event = parse_event(message)
            if event and event[0] == "fork":
                self.forks.append(event[1:])
            elif event:
                self.ended.add(event[1])

    def live(self):
        """Returns the descendants of the root process that have not exited."""
        return find_descendants(list(self.forks), self.root) - {self.root} - self.ended

    def stop(self):
        time.sleep(0.3)  # the last events
        self.has_ended = True
        self.join()
        self.socket.close()


def read_pss(pid):
    with contextlib.suppress(OSError, IndexError):
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


KCMP, KCMP_VM = {"aarch64": 272, "x86_64": 312}[platform.machine()], 1
LIBC = ctypes.CDLL(None)


def shares_memory_with_parent(pid):
    """Returns whether a process is a child of vfork() that has not called exec: it then uses its
    parent's memory, and the PSS of both includes all of it."""
    try:
        parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return False
    return LIBC.syscall(KCMP, pid, parent, KCMP_VM, 0, 0) == 0


class Pss(threading.Thread):
    """Records the largest sum of PSS over the live processes. The sum does not exceed the true
    peak, except for changes while the values are read."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes = processes
        self.peak_bytes = 0
        self.has_ended = False

    def run(self):
        while not self.has_ended:
            own = [pid for pid in self.processes.live() if not shares_memory_with_parent(pid)]
            self.peak_bytes = max(self.peak_bytes, sum(map(read_pss, own)))
            time.sleep(PSS_PERIOD_SECONDS)

    def stop(self):
        self.has_ended = True
        self.join()


def disk_written_bytes():
    """Returns the number of bytes written to all disks of the machine."""
    total = 0
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        name = line.split()[2]
        if pathlib.Path(f"/sys/block/{name}/device").exists():
            total += int(line.split()[9]) * 512
    return total
