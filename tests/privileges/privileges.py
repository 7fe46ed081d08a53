#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""privileges.py [--json FILE] [--write] [--only TEXT] BINARY - checks what spoor can measure with which privileges.

Runs a job that measures its own usage in every environment of surroundings.py: as root, as a user, in containers,
with system calls denied. Checks for each quantity that the best source was chosen and that an unknown quantity has
the right reason; that the figures are true; and that doctor agrees. Needs root. --write writes the table to
docs/RELIABILITY.md; --json writes the counts for run-tests.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import surroundings
from surroundings import EITHER, EXACT, EXIT_RECORDS, QUANTITIES, WAITING, Unknown

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "torture"))

import results  # noqa: E402  # pylint: disable=wrong-import-position

DEADLINE_SECONDS = 60
MIB = 1 << 20
MAIN_BYTES, CHILD_BYTES = 64 * MIB, 32 * MIB
# Allows for other mappings of the programs, and the kernel's charges: see tests/truth/rules.py.
MEMORY_SLACK, CHARGED_SLACK = 2 * MIB, 8 * MIB
# A process reads its clock before its exit, which still has to free its memory. For processes that
# another process waits for, only ticks are known.
CPU_SLACK, TICKS_SLACK = 0.05, 0.03


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {DEADLINE_SECONDS} s: {what}")
        time.sleep(0.005)


def read_line(stream, tracker):
    """Returns a line of the job's output."""
    ready, _, _ = select.select([stream], [], [], DEADLINE_SECONDS)
    line = stream.readline() if ready else ""
    if not line.strip():
        raise TimeoutError(f"the job wrote nothing; the tracker: {tracker.poll()}")
    return line


def samples_in(path):
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes().count(b"\n")
    return 0


class Place:
    """One environment that has been entered."""

    def __init__(self, surrounding, binary, programs, folder):
        self.surrounding = surrounding
        self.folder = folder
        self.binary = binary
        self.programs = programs
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("SPOOR_", "SLURM_"))}
        self.environment.update(surrounding.environment, SPOOR_METADATA_URL="http://127.0.0.1:1")

    def start(self, *arguments, joined=(), **pipes):
        prefix = [*surroundings.joining(joined),
                  *(part.replace("{programs}", str(self.programs)) for part in self.surrounding.enter)]
        return subprocess.Popen([*prefix, str(self.binary), *map(str, arguments)], env=self.environment,
                                text=True, cwd=self.folder, **pipes)

    def run(self, options, joined):
        """Runs `spoor run`. Returns the report, and the CPU time according to the job's clocks."""
        report, samples = self.folder / "run.json", self.folder / "run.jsonl"
        tracker = self.start("run", "-q", "-i", "0.02", "-o", report, "--samples", samples, *options, "--",
                             self.programs / "job", joined=joined, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return self.track(tracker, tracker, report, samples)

    def attach(self):
        report, samples = self.folder / "attach.json", self.folder / "attach.jsonl"
        # Start a process of the same user before the job.
        who = surroundings.AS_USER if "setpriv" in self.surrounding.enter else []
        program = self.programs / "job"
        job = subprocess.Popen([*who, str(program)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        wait_until(lambda: os.path.samefile(f"/proc/{job.pid}/exe", program), "the job")
        tracker = self.start("attach", "-q", "-i", "0.02", "-o", report, "--samples", samples, str(job.pid),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            return self.track(tracker, job, report, samples)
        finally:
            job.kill()
            job.wait()

    @staticmethod
    def track(tracker, job, report, samples):
        try:
            wait_until(lambda: samples_in(samples) >= 1 or tracker.poll() is not None, "a sample")
            job.stdin.write("\n")
            job.stdin.flush()
            used = float(read_line(job.stdout, tracker))
            before = samples_in(samples)
            wait_until(lambda: samples_in(samples) >= before + 4 or tracker.poll() is not None,
                       "more samples")
            job.stdin.write("\n")
            job.stdin.close()
            if tracker.wait(timeout=DEADLINE_SECONDS) != 0:
                raise RuntimeError(f"status {tracker.returncode}: {tracker.stderr.read()}")
            return json.loads(report.read_text()), used
        finally:
            tracker.kill()
            tracker.wait()
            for stream in (job.stdin, job.stdout, tracker.stderr):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def doctor(self, options, joined):
        process = self.start("doctor", *options, joined=joined, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
        if process.returncode != 0 or err:
            raise RuntimeError(f"doctor: status {process.returncode}: {err}")
        return parse_doctor(out)


def parse_doctor(text):
    """Parses doctor's output. Returns {(quantity, source): [word, reason, fix]}."""
    rows, quantity, row, part = {}, None, None, 1
    for line in text.splitlines():
        found = re.match(r"  (used|yes|no)\s+(\S.*?)(?:\s{2,}(\S.*))?$", line)
        if found:
            row, part = [found[1], found[3] or "", ""], 1
            rows[quantity, found[2]] = row
        elif line and not line.startswith(" "):
            quantity, row = line, None
        elif row and line.strip().startswith("fix: "):
            row[2], part = line.strip()[len("fix: "):], 2
        elif row and line.strip():
            row[part] = f"{row[part]} {line.strip()}".strip()
    return rows


# ---- checks: (name, fault or "") ----------------------------------------------

def find(report, path):
    for key in path.split("."):
        report = report[key]
    return report


def is_raised_by_faults(measure, expected):
    """Whether page faults of a fork, which may have copied some pages since memory was read, raised
    the value by less than 1 %: its source is the file with the faults."""
    return (expected.source == "procfs.smaps_rollup" and measure["source"] == "procfs.stat" and
            measure["low"] is not None and 0.99 * measure["value"] < measure["low"] < measure["value"])


def check_source(measure, expected):
    if isinstance(expected, Unknown):
        if measure["value"] is not None:
            return f"{measure['value']} from {measure['source']}, expected unknown: {expected.reason}"
        reason = measure.get("reason")
        return "" if reason == expected.reason else f"reason '{reason}', expected '{expected.reason}'"
    if measure["value"] is None:
        return f"unknown: {measure.get('reason')}; expected from {expected.source}"
    if measure["source"] != expected.source and not is_raised_by_faults(measure, expected):
        return f"{measure} instead of {expected.source}"
    if expected.how != EITHER and measure["exact"] != (expected.how == EXACT):
        return f"{'' if measure['exact'] else 'not '}exact from {measure['source']}"
    return ""


def within(measure, low, high, what):
    """Checks that the truth is between the bounds of a measure."""
    value = measure["value"]
    if value is None:
        return ""
    if measure["source"] == "wait4.ru_maxrss" and not measure["exact"]:
        # The lower bound may be the largest process: the truth must be within the bounds.
        is_true = measure["low"] <= high and (measure["high"] is None or low <= measure["high"])
    else:
        is_true = low <= value <= high
    return "" if is_true else f"{what}: {value} from {measure['source']}, in truth {low} to {high}"


def check_figures(report, used, slack):
    """Checks the figures of the job's usage that are known."""
    both = MAIN_BYTES + CHILD_BYTES
    yield within(find(report, "cpu.total_seconds"), 0.97 * used - slack, 1.03 * used + CPU_SLACK,
                 "CPU time")
    yield within(find(report, "memory.main.total_rss_bytes"), MAIN_BYTES, MAIN_BYTES + MEMORY_SLACK,
                 "memory of main")
    yield within(find(report, "memory.combined.total_rss_bytes"), both, both + MEMORY_SLACK, "memory")
    yield within(find(report, "memory.main.private_rss_bytes"), MAIN_BYTES, MAIN_BYTES + MEMORY_SLACK,
                 "private memory")
    yield within(find(report, "memory.job_peak_bytes"), both, both + CHARGED_SLACK, "peak with page cache")
    yield within(find(report, "processes.started"), 2, 2, "processes")
    yield within(find(report, "cpu.threads.combined"), 2, 2, "threads")


def check_report(kind, report, used, expected, slack=CPU_SLACK):
    for path in QUANTITIES:
        yield f"{kind}: {path}", check_source(find(report, path), expected[path])
    yield f"{kind}: figures", "; ".join(filter(None, check_figures(report, used, slack)))


def is_of_machine(row):
    """Returns whether a quantity depends on the hardware of the machine."""
    return any(word in row[0] for word in ("GPU", "energy", "RDMA", "NFS")) or row[1] == "perf.hardware"


def check_doctor(rows, expected):
    if EXIT_RECORDS in expected:
        expected = {**expected, WAITING: expected[EXIT_RECORDS]}
    for row, (word, reason, fix) in rows.items():
        if is_of_machine(row):
            continue
        want = expected.get(row)
        if want is None:
            fault = f"does not work: {reason}" if word == "no" else ""
        elif word != "no":
            fault = f"works, expected: {want[0]}"
        else:
            fault = "" if (reason, fix) == want else f"'{reason}', fix '{fix}'; expected {want}"
        yield f"doctor: {row[0]}, {row[1]}", fault
    for row in set(expected) - set(rows):
        yield f"doctor: {row[0]}, {row[1]}", "no such row"


def examine(surrounding, binary, programs, folder):
    """Returns the checks and the report of `spoor run`."""
    place = Place(surrounding, binary, programs, folder)
    given = (surrounding.given,) if surrounding.given else ()
    with surroundings.cgroups_of_user(given) as outer, \
            surroundings.cgroups_of_user(surrounding.delegated) as joined:
        options = ["--cgroup", *outer] if outer else []
        report, used = place.run(options, joined)
        rows = place.doctor(options, joined)
    checks = [*check_report("run", report, used, surrounding.run), *check_doctor(rows, surrounding.doctor)]
    if surrounding.attach:
        checks += check_report("attach", *place.attach(), surrounding.attach, CPU_SLACK + TICKS_SLACK)
    return checks, report


# ---- programs -----------------------------------------------------------------

def build_programs(folder):
    compiler = shutil.which("cc") or "gcc"
    plain = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra"]
    for name in ("deny", "job"):
        subprocess.run([*plain, "-static", "-o", folder / name, HERE / "programs" / f"{name}.c"], check=True)
    subprocess.run([*plain, "-shared", "-fPIC", "-o", folder / "many_cpus.so",
                    HERE / "programs/many_cpus.c"], check=True)
    (folder / "online").write_text("0-15\n")


# ---- the table ----------------------------------------------------------------

def cell(measure):
    if measure["value"] is None:
        return "n/a"
    return f"**{measure['source']}**" if measure["exact"] else measure["source"]


def counts(cells):
    """Returns how often each cell occurs, the most frequent first: "a (12); b (3)"."""
    return "; ".join(f"{text} ({times})" for text, times in collections.Counter(cells).most_common())


def table(reports, absent, passed):
    """Returns the section for docs/RELIABILITY.md: in how many environments each source was
    used."""
    measures = {name: [find(report, path) for report in reports.values()] for path, name in QUANTITIES.items()}
    return describe(passed, len(reports), {name: counts(map(cell, each)) for name, each in measures.items()},
                    {name: counts(measure["reason"] for measure in each if measure["value"] is None)
                     for name, each in measures.items()}, absent)


def describe(passed, total, sources, reasons, absent):
    return "\n\n".join([
        f"{passed} checks passed, in {total} environments (tests/privileges/surroundings.py): the source of each "
        "quantity and the reason\nfor each that is unknown, of `spoor run` and `spoor attach`; the figures; the "
        "output of `spoor doctor`. The job used 0.3 s of\nCPU time, 96 MiB and two processes. Sources in bold are exact; "
        "the number of environments is in parentheses.",
        results.table(["quantity", "sources of `spoor run`", "why it is n/a"],
                      [[name, sources[name], reasons[name]] for name in sources]),
        "Not on this machine: " + "; ".join(f"{name} ({text})" for name, text in absent.items()) + "."])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[1],
                                     usage=__doc__.split(" - ", 1)[0])
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("binary", type=pathlib.Path)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("privileges.py: needs root")
    chosen = [one for one in surroundings.HERE if arguments.only in one.name]
    absent = {one.name: why for one in chosen for why in [surroundings.missing(one)] if why}
    passed, failures, reports = 0, [], {}
    with tempfile.TemporaryDirectory(prefix="spoor-privileges-") as name:
        top = pathlib.Path(name)
        top.chmod(0o755)
        build_programs(top)
        binary = pathlib.Path(shutil.copy(arguments.binary, top / "spoor"))

        def one(item):
            number, surrounding = item
            folder = top / str(number)
            folder.mkdir()
            folder.chmod(0o777)
            try:
                return surrounding, *examine(surrounding, binary, top, folder)
            except (OSError, RuntimeError, TimeoutError, subprocess.SubprocessError) as error:
                return surrounding, [("start", f"{type(error).__name__}: {error}")], None
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for surrounding, checks, report in pool.map(
                    one, enumerate(one for one in chosen if one.name not in absent)):
                faults = [(f"{surrounding.name}: {check}", fault) for check, fault in checks if fault]
                passed += len(checks) - len(faults)
                failures += faults
                if report:
                    reports[surrounding.name] = report
                print(f"{surrounding.name:<46} {len(checks) - len(faults):3} passed {len(faults):3} failed",
                      flush=True)
                for check, fault in faults:
                    print(f"  FAILED {check}: {fault}")
    skips = [(f"privileges: {name}", why) for name, why in absent.items()]
    for name, why in absent.items():
        print(f"{name:<46} not here: {why}")
    print(f"{passed} passed, {len(failures)} failed, {len(skips)} skipped")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps([passed, failures, skips]))
    if arguments.write and not failures:
        results.write("privileges", table(reports, absent, passed))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
