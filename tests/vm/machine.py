# SPDX-License-Identifier: Apache-2.0
"""Runs the emulated machine and reads its output: see init for the lines."""
import os
import re
import shlex
import subprocess
import time

MEMORY = "4G"
CPUS = "2"
# For each architecture: the kind of machine, the kernel's name of the console, and whether there
# are further serial lines, named ttyS1 and on.
KINDS = {"x86_64": ("pc", "ttyS0", True), "aarch64": ("virt", "ttyAMA0", False)}


def serial_lines(results, has_lines):
    """Options for serial lines that write to files, as ttyS1 and on. If the machine has none they are
    PCI cards; ttyS0 of these is unused."""
    if has_lines:
        return [word for path in results for word in ("-serial", f"file:{path}")]
    ends = ["null", *(f"file,path={path}" for path in results)]
    return [word for i, end in enumerate(ends) for word in
            ("-chardev", f"{end},id=line{i}", "-device", f"pci-serial,chardev=line{i}")]


def command(kernel, initramfs, disk, console, results):
    """`results`: a file for each serial line after the console's. Always software emulation: unlike
    /dev/kvm it works on every test machine."""
    architecture = os.uname().machine
    kind, console_line, has_lines = KINDS[architecture]
    words = [f"qemu-system-{architecture}", "-M", kind, "-accel", "tcg,thread=multi", "-cpu", "max",
             "-smp", CPUS, "-m", MEMORY, "-display", "none", "-monitor", "none", "-nodefaults",
             "-no-reboot", "-kernel", kernel, "-initrd", initramfs,
             "-append", f"console={console_line} quiet panic=-1 mitigations=off random.trust_cpu=on",
             "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe",
             "-serial", f"file:{console}", *serial_lines(results, has_lines)]
    return [str(word) for word in words]


def run(words, limit_seconds):
    """Runs it to its end. Returns the seconds it took, None if it had to be stopped."""
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
