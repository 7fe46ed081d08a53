# SPDX-License-Identifier: Apache-2.0
"""Cgroups that tests create in every mounted hierarchy."""
import os
import pathlib
import subprocess

import pytest

from conftest import eventually


def hierarchies():
    """Maps each mounted cgroup hierarchy with controllers to its path: {"memory": path,
    "unified": path}."""
    found = {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        point, (kind, _, options) = before.split()[4], after.split(" ", 2)
        if kind == "cgroup2":
            found["unified"] = pathlib.Path(point)
        for name in options.split(",") if kind == "cgroup" else ():
            if name in ("memory", "cpuacct", "pids"):
                found[name] = pathlib.Path(point)
    return found


HIERARCHIES = hierarchies()


class Group:
    """A cgroup created in every hierarchy, or only in the given ones."""

    def __init__(self, name, trees=None):
        self.name = name
        self.trees = trees or ([tree for tree in HIERARCHIES if tree != "unified"] or ["unified"])
        for tree in self.trees:
            self.path(tree).mkdir()

    def path(self, tree=None):
        return HIERARCHIES[tree or self.trees[0]] / self.name

    def add(self, pid=0, below=""):
        for tree in self.trees:
            folder = self.path(tree) / below
            folder.mkdir(exist_ok=True)
            (folder / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")

    def remove(self, pid):
        for tree in self.trees:
            (HIERARCHIES[tree] / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")

    def close(self):
        def is_removed():
            for tree in self.trees:
                for folder, _, _ in os.walk(self.path(tree), topdown=False):
                    try:
                        os.rmdir(folder)
                    except FileNotFoundError:
                        pass
                    except OSError:  # a process in the cgroup is exiting
                        return False
            return True
        eventually(is_removed, "the cgroup is empty")


def groups():
    """Implements the fixture `group`: creates cgroups and starts processes in them."""
    if os.geteuid() != 0:
        pytest.skip("makes a cgroup, which needs root")
    opened = []

    def make(*trees):
        opened.append(Group(f"spoor-test-{os.getpid()}-{len(opened)}", trees))
        return opened[-1]
    started = []

    def start(group, *command, below=""):
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=lambda: group.add(0, below)))
        return started[-1]
    make.start = start
    yield make
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    for each in opened:
        each.close()
