#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cross.py BUILD - runs the unit and replay tests of a cross build, under qemu-user if it is for another
architecture.

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

# Features that qemu-user does not emulate. Programs that test only these are not run ("*"); in
# other programs, tests with these names may fail.
PROC = "qemu-user: /proc does not show the program as its own process"
CLONE = "qemu-user refuses the flags of clone() that hide a process"
CURL = "the sysroot has no libcurl.so.4"
KERNEL = "qemu-user does not pass on this system call"
SKIPPED = {
    "phase": (PROC, ["*"]),
    "thread": (PROC, ["*"]),
    "session": (PROC, ["*"]),
    "row_writer": (CLONE, ["*"]),
    "row_writer_pipe": (CLONE, ["*"]),
    "samples_file": (CLONE, ["*"]),
    "writer_process": (CLONE, ["*"]),
    "scope_keeper": (CLONE, ["*"]),
    "hidden_child": (CLONE, ["*"]),
    "http": (CURL, ["*"]),
    "load": ("damages every value of a report in turn, which takes minutes under emulation", ["*"]),
    "pid_files": (PROC, ["schedstat_contains_the_time_run_and_the_time_waited"]),
    "smaps": (PROC, ["areas_add_up_to_the_rollup"]),
    "job": (PROC, ["an_accounted_zombie_is_not_added_again",
                   "idle_processes_are_skipped_for_ten_seconds"]),
    "host": (PROC, ["the_live_machine_can_be_read_again_and_again"]),
    "process_count": (PROC, ["the_live_machine_is_counted"]),
    "root": (PROC, ["proc_contains_this_process"]),
    "space": (PROC, ["disks_that_cannot_block_need_no_thread"]),
    "gpu_session": (PROC, ["a_phase_has_the_peak_of_its_own_time",
                           "a_phase_does_not_inherit_earlier_unknown_values"]),
    "tracking_writer": (CLONE, ["rows_are_in_the_file_after_close", "a_write_failure_is_returned_once",
                                "rows_are_lost_if_the_writer_is_killed"]),
    "cloud": (CURL, ["without_a_response_only_firmware_facts_are_known",
                     "an_unconfirmed_guess_is_not_reported_as_the_vendor"]),
    "process_events": (KERNEL, ["an_exit_event_of_a_living_process_makes_counts_inexact"]),
    "watch": (KERNEL, ["without_a_pidfd_the_process_is_polled"]),
}


def wrapper_of(build):
    """Returns the command that runs programs of the build: [] if this machine can run them
    itself."""
    cross = configparser.ConfigParser()
    cross.read(build.parent / "cross-file")
    return [str(word) for word in json.loads(
        cross["binaries"].get("exe_wrapper", "[]").replace("'", '"'))]


def wrapped(command, wrapper, folder):
    """Returns the command run by the wrapper; for a script, the program that the script runs."""
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
    """Returns passed, failures, and the output."""
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
    passed, failures, skips = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="spoor-cross-") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {test["name"]: pool.submit(run, test, build, wrapper, folder) for test in tests
                   if not wrapper or SKIPPED.get(test["name"], ("", []))[1] != ["*"]}
        for test in tests:
            name = test["name"]
            reason, names = SKIPPED.get(name, ("", [])) if wrapper else ("", [])
            good, bad, output = futures[name].result() if name in futures else (0, names, "")
            skipped, bad = [one for one in bad if one in names], [one for one in bad if one not in names]
            passed, failures, skips = passed + good, failures + len(bad), skips + len(skipped)
            for one in skipped:
                print(f"skipped {name}{'' if one == '*' else '.' + one}: {reason}")
            if bad:
                print(f"FAILED {name}: {', '.join(bad)}\n{output}")
    print(f"{passed} passed, {failures} failed, {skips} skipped in {len(tests)} programs")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
