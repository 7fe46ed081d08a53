# SPDX-License-Identifier: Apache-2.0
"""Runs the emulated machine and reads its output: tests/vm/init describes the lines."""
import os
import re
import shlex
import subprocess
import time

MEMORY = "4G"
CPUS = "2"
# For each architecture: the machine type, the kernel's name of the console, and whether there are
# further serial lines, named ttyS1 and so on.
KINDS = {"x86_64": ("pc", "ttyS0", True), "aarch64": ("virt", "ttyAMA0", False)}


def serial_lines(results, has_lines):
    """Returns options for serial lines that write to files, as ttyS1 and so on. If the machine
    has no such lines, they are PCI cards, whose ttyS0 is unused."""
    if has_lines:
        return [word for path in results for word in ("-serial", f"file:{path}")]
    ends = ["null", *(f"file,path={path}" for path in results)]
    return [word for i, end in enumerate(ends) for word in
            ("-chardev", f"{end},id=line{i}", "-device", f"pci-serial,chardev=line{i}")]


def command(kernel, initramfs, disk, console, results):
    """Returns the command that runs the machine. `results`: a file for each serial line after
    the console's. Always uses software emulation, which, unlike /dev/kvm, works on every test
    machine."""
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
    """Runs the machine until it shuts down. Returns how many seconds that took; None if it had
    to be killed."""
    started = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as machine:
        try:
            machine.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            machine.kill()
            return None
    return time.monotonic() - started


def script_line(run_):
    """Returns a line of the script that the machine runs."""
    return shlex.join(["run_one", run_.place, run_.name, *run_.words()]) + "\n"


def parse(text):
    """Returns (facts, runs): the parts before the first run, and {(place, name): {part: text}}.
    If the machine shut down in order, there is a fact "over"."""
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
