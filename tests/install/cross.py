#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cross.py BUILD - run the unit and replay tests of a cross build, under qemu-user if it is for another machine.

Prints a line for each program that is skipped or fails, and the counts.
"""
import concurrent.futures
import configparser
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Programs whose subject qemu-user does not emulate.
PROC = "qemu-user: /proc describes the emulator, not the program"
KERNEL = "qemu-user: no perf events, netlink process events or process CPU clocks"
SKIPPED = {
}


def wrapper_of(build):
    """The command that runs programs of the build: [] if this machine does."""
    cross = configparser.ConfigParser()
    cross.read(build.parent / "cross-file")
    return [str(word) for word in json.loads(
        cross["binaries"].get("exe_wrapper", "[]").replace("'", '"'))]


def wrapped(command, wrapper, folder):
    """The command inside the wrapper; of a script, what it runs."""
    if not wrapper or command[0] == wrapper[0]:
        return command
    with open(command[0], "rb") as file:
        if file.read(2) != b"#!":
            return [*wrapper, *command]
    shim = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "program"
    shim.write_text(f"#!/bin/sh\nexec {shlex.join([*wrapper, command[1]])} \"$@\"\n")
    shim.chmod(0o755)
    return [command[0], str(shim), *command[2:]]


def run(test, build, wrapper, folder):
    """Returns passed, what failed, and its output."""
    try:
        done = subprocess.run(
            wrapped(test["cmd"], wrapper, folder), cwd=test["workdir"] or build, text=True,
            errors="replace", check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=300,
            env={**os.environ, **test["env"], "CMOCKA_MESSAGE_OUTPUT": "TAP"})
    except subprocess.TimeoutExpired:
        return 0, ["it took more than 300 s"], ""
    passed = len(re.findall(r"^ok \d+ - ", done.stdout, re.M))
    failed = re.findall(r"^not ok \d+ - (.*)", done.stdout, re.M)
    if done.returncode == 0 and not failed:
        return max(passed, 1), [], ""
    return passed, failed or [f"status {done.returncode}"], done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wrapper = wrapper_of(build)
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True,
                                      text=True, stdout=subprocess.PIPE).stdout)
    tests = [test for test in tests if {suite.split(":")[-1] for suite in test["suite"]} &
             {"unit", "replay"}]
    skipped = [test["name"] for test in tests if wrapper and test["name"] in SKIPPED]
    for name in skipped:
        print(f"{name}: skipped, {SKIPPED[name]}")
    tests = [test for test in tests if test["name"] not in skipped]
    passed, failures = 0, 0
    with tempfile.TemporaryDirectory(prefix="spoor-cross-") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda test: run(test, build, wrapper, folder), tests)
        for test, (good, bad, output) in zip(tests, results):
            passed += good
            failures += len(bad)
            if bad:
                print(f"FAILED {test['name']}: {', '.join(bad)}\n{output}")
    print(f"{passed} passed in {len(tests)} programs, {failures} failed, {len(skipped)} programs skipped")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
