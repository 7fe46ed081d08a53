# SPDX-License-Identifier: Apache-2.0
"""Runs the emulated machine and reads what it sends: see init for the lines."""
import re
import shlex
import subprocess
import time

MEMORY = "4G"
CPUS = "2"


def command(kernel, initramfs, disk, console, results):
    """`results`: a file for each serial line after the console's. Software emulation on purpose:
    it works wherever the tests run, and /dev/kvm does not."""
    words = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", CPUS,
             "-m", MEMORY, "-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot",
             "-kernel", kernel, "-initrd", initramfs,
             "-append", "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on",
             "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
    for path in (console, *results):
        words += ["-serial", f"file:{path}"]
    return [str(word) for word in words]


def run(words, limit_seconds):
    """Runs it to its end. Returns the seconds it took, None when it had to be stopped."""
    started = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as machine:
        try:
            machine.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            machine.kill()
            return None
    return time.monotonic() - started


def script_line(run_):
    """A line of the script that the machine runs."""
    return shlex.join(["run_one", run_.place, run_.name, *run_.words()]) + "\n"


def parse(text):
    """(facts, runs): the parts before the first run, and {(place, name): {part: text}}. A machine
    that ended in order has a fact "over"."""
    facts, runs = {}, {}
    current = facts
    for section in re.split(r"^@@", text.replace("\r", ""), flags=re.M)[1:]:
        heading, _, body = section.partition("\n")
        word, _, rest = heading.partition(" ")
        if word == "run":
            place, _, name = rest.partition(" ")
            current = runs.setdefault((place, name), {})
        elif word == "over":
            facts["over"] = ""
        else:
            current[word] = rest or body.strip()
    return facts, runs
