#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py BUILD PROGRAM LIBRARY OBJECTS - checks that the built files are hardened.

Inspects the program and the shared library with readelf, and spoor's own objects in the archive OBJECTS, because a
linked file also contains code of the system's static libraries, which were built with other flags. Flags that leave
no trace in a file are looked up in the commands that compiled src/ (BUILD/compile_commands.json).
"""
import json
import pathlib
import platform
import re
import subprocess
import sys

MACHINE = platform.machine()
BRANCHES = {"x86_64": "-fcf-protection", "aarch64": "-mbranch-protection=standard"}
FLAGS = ["-fstack-protector-strong", "-fstack-clash-protection", "-D_FORTIFY_SOURCE=3",
         "-fvisibility=hidden", *([BRANCHES[MACHINE]] if MACHINE in BRANCHES else [])]
OPPOSITES = ["-fno-stack-protector", "-fno-stack-clash-protection", "-fcf-protection=none",
             "-mbranch-protection=none", "-D_FORTIFY_SOURCE=0", "-O0", "-fno-pie", "-no-pie"]
# glibc's checked variants of functions that write to a buffer.
CHECKED = r"\b__(v?snprintf|memcpy|memset|read|strcat|strncpy|fdelt|vfprintf|fprintf)_chk\b"


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def segment(headers, name):
    found = re.search(rf"^\s*{name}\s.*", headers, re.M)
    return found[0] if found else ""


def faults_of_file(path, is_program):
    """Returns the faults of a linked file, as a list of texts."""
    headers, dynamic, symbols = readelf("-hl", path), readelf("-d", path), readelf("--dyn-syms", path)
    if not re.search(r"Type:\s+DYN", headers):
        yield "not position-independent"
    if is_program and "PIE" not in dynamic:
        yield "not a position-independent executable"
    if "GNU_RELRO" not in headers:
        yield "no RELRO"
    if not re.search(r"BIND_NOW|Flags:.*\bNOW\b", dynamic):
        yield "no bind now: RELRO is not full"
    stack = segment(headers, "GNU_STACK")
    if not stack or "RWE" in stack:
        yield "an executable stack"
    if re.search(r"^\s*LOAD\s.*RWE", headers, re.M):
        yield "a segment that can be written and executed"
    if "TEXTREL" in dynamic:
        yield "relocations in the text"
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        yield "a search path for libraries"
    if "__stack_chk_fail" not in symbols:
        yield "no stack protector"
    if not re.search(CHECKED, symbols):
        yield "no fortified functions"


def faults_of_exports(library):
    """Only functions of the API may be replaced or called from outside."""
    for line in readelf("--dyn-syms", library).splitlines():
        columns = line.split()
        if len(columns) == 8 and columns[4] == "GLOBAL" and columns[6] not in ("UND", "ABS") and \
                not columns[7].startswith("spoor_"):
            yield f"exports {columns[7]}"


def faults_of_objects(archive):
    """Every object must declare that its branches are protected."""
    word = {"x86_64": "IBT, SHSTK", "aarch64": "BTI, PAC"}.get(MACHINE)
    if not word:
        return
    objects, protected = 0, 0
    for part in readelf("-n", archive).split("\nFile: ")[1:]:
        objects += 1
        if word in part:
            protected += 1
        else:
            yield f"{part.splitlines()[0]}: branches are not protected ({word})"
    if objects == 0:
        yield "no objects"


def faults_of_commands(build):
    commands = [entry for entry in json.loads((build / "compile_commands.json").read_text())
                if re.search(r"(^|/)src/", entry["file"])]
    if not commands:
        yield "no commands that compile src/"
    for entry in commands:
        words = entry["command"].split()
        for flag in FLAGS:
            if flag not in words:
                yield f"{entry['file']}: compiled without {flag}"
        for flag in OPPOSITES:
            if flag in words:
                yield f"{entry['file']}: compiled with {flag}"


def main():
    build, program, library, objects = map(pathlib.Path, sys.argv[1:])
    checks = {
        "the program is hardened": faults_of_file(program, True),
        "the library is hardened": faults_of_file(library, False),
        "the library exports its API only": faults_of_exports(library),
        "branches of every object are protected": faults_of_objects(objects),
        "every source is compiled with the flags": faults_of_commands(build),
    }
    failed = 0
    print(f"1..{len(checks)}")
    for number, (name, found) in enumerate(checks.items(), 1):
        faults = list(found)
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {name}")
        for fault in faults[:10]:
            print(f"# {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
