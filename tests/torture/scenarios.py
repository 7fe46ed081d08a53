# SPDX-License-Identifier: Apache-2.0
"""scenarios.py - spoor commands that run while calls fail, and the checks afterwards."""
import contextlib
import csv
import glob
import io
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "functional"))

import schema  # noqa: E402: the line above adds its folder to the path

STATUS = 7  # exit status of every job that is not interrupted
RAN = "ran"  # the file that a job creates first
STORED = "stored.json"
GPUS = "gpus"  # the script of the stand-in for NVIDIA's library
STATE = "home/.local/state"
KEPT = f"{STATE}/spoor/uploads"
SHORT_JOB = ["sh", "-c", f": >{RAN}; exit {STATUS}"]
# Runs longer than 100 ms, after which spoor opens the GPU driver.
LONGER_JOB = ["sh", "-c", f": >{RAN}; sleep 0.2; exit {STATUS}"]
FORKING_JOB = ["sh", "-c", f": >{RAN}; for i in 1 2 3; do (sleep 0.03) & done; wait; exit {STATUS}"]
SANITIZER = re.compile(r"(AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:|"
                       r"ThreadSanitizer|==\d+==|Assertion)")
# Creating a thread without memory for its stack fails with EAGAIN.
MEMORY = re.compile("memory|Resource temporarily unavailable")
# The error messages of each program. On a machine without GPUs, every run prints a message.
COMPLAINTS = {"spoor": re.compile("spoor: "), "library": re.compile("library: "),
              "resource-tracker": re.compile("(warn|error): "),
              "gpu-tracker": re.compile("(WARNING|ERROR):root:(?!Neither |Private RSS )")}
# The C library aborts the process if it has no memory for the thread-local variables of a library
# that was loaded later; a sanitizer aborts if it has no memory for itself.
ABORT = re.compile("cannot allocate memory for thread-local data|AddressSanitizer: CHECK failed")
NO_MEMORY = "another cause was given than that there is no memory"
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL}


class Fault(Exception):
    """A forbidden outcome."""


def expect(condition, message):
    if not condition:
        raise Fault(message)


def check_json(text, has_run):
    try:
        result = json.loads(text)
    except ValueError as error:
        raise Fault(f"the JSON is damaged: {error}") from error
    try:
        schema.check(result)
    except AssertionError as error:
        raise Fault(f"the JSON does not fit its schema: {error}") from error
    if has_run:
        expect(result["run"]["exit_code"] == STATUS, "the report has another exit code")


def check_object(text, has_run):
    del has_run
    try:
        expect(isinstance(json.loads(text), dict), "not a JSON object")
    except ValueError as error:
        raise Fault(f"the JSON is damaged: {error}") from error


def check_lines(text, has_run):
    del has_run
    for line in text.splitlines():
        check_object(line, False)
    expect(text.endswith("\n"), "the last line is cut")


def check_answers(text, has_run):
    """Checks the output of an agent: the event "ready" and an answer to both requests, or an
    error that explains why they are missing."""
    check_lines(text, has_run)
    first, *others = [json.loads(line) for line in text.splitlines()]
    expect(first["event"] in ("ready", "error"), f"the agent begins with {first}")
    if first["event"] == "ready":
        expect(len(others) == 2 and all(
            answer["id"] in (i + 1, *([None] if answer["event"] == "error" else []))
            for i, answer in enumerate(others)), f"requests were not answered: {text!r}")


def check_csv(text, has_run):
    del has_run
    rows = list(csv.reader(io.StringIO(text)))
    expect(len(rows) >= 2, "a CSV file without rows")
    expect(len({len(row) for row in rows}) == 1, "rows of a CSV file differ in length")
    expect(text.endswith("\n"), "the last row is cut")


def check_page(text, has_run):
    del has_run
    expect(text.rstrip().endswith("</html>"), "the page is cut")


def check_text(text, has_run):
    del has_run
    expect(text.endswith("\n"), "the text is cut")


CHECKS = {".json": check_json, ".csv": check_csv, ".html": check_page, ".txt": check_text,
          ".jsonl": check_lines, ".object": check_object, ".answers": check_answers}


def check_database(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        try:
            expect(database.execute("PRAGMA integrity_check").fetchone() == ("ok",), "damaged")
        except sqlite3.Error as error:
            raise Fault(f"the database is damaged: {error}") from error


class Scenario:
    """One command. `outputs`: files that it writes unless a call fails, or "stdout", each with
    the kind of its content unless the name ends in it. `failure`: the status if the command
    could not do its work. `without`: failures that cannot happen to this command. `surround`:
    called with the folder, the build and a service to upload to, it prepares what the command
    needs and returns variables for it."""

    def __init__(self, name, arguments, outputs=(), program="spoor", has_job=False, status=0,
                 failure=125, stdin=b"", prepare=None, without=(), surround=None, uploads=False):
        self.name, self.arguments, self.program, self.has_job = name, arguments, program, has_job
        self.surround, self.uploads = surround, uploads
        self.outputs = {output.split("=")[0]: "." + re.split("[.=]", output)[-1]
                        for output in outputs}
        self.status, self.failure, self.stdin, self.prepare = status, failure, stdin, prepare
        self.without = without

    def command(self, binaries, folder, target):
        words = [word.replace("{pid}", str(target)).replace("{folder}", str(folder))
                 for word in self.arguments]
        return [str(binaries / self.program), *words]

    def check(self, outcome, folder, injection, service=None):
        """Raises a Fault, or returns the outcome: unharmed, reported or refused."""
        expect(not outcome.is_late, "it hangs")
        expect(-outcome.status not in CRASHES, f"it died of signal {-outcome.status}")
        found = SANITIZER.search(outcome.stderr)
        expect(not found, "a sanitizer complains: " + outcome.stderr[-3000:] if found else "")
        expect(outcome.left == 0, f"{outcome.left} processes were left")
        left = cgroups_of(outcome.pid, cgroup_folders())
        expect(not left, f"cgroups were left: {', '.join(left)}")
        self.check_files(folder)
        has_run = (folder / RAN).exists()
        self.check_status(outcome, has_run, injection)
        if outcome.status == -signal.SIGPIPE:
            return "refused"
        missing = self.check_outputs(outcome, folder, has_run)
        if missing or outcome.status == self.failure:
            expect(outcome.stderr.strip() or outcome.stdout.strip() or warnings_of(folder),
                   f"{', '.join(missing) or 'the result'} is missing, and nothing says why")
            said = f"{outcome.stderr}{outcome.stdout}{warnings_of(folder)}"
            expect(injection.kind != "alloc" or MEMORY.search(said), f"{NO_MEMORY}: {said!r}")
        if outcome.status == self.failure:
            return "refused"
        has_said = self.complaints(outcome.stderr) or has_lost_rows(folder)
        ending = "reported" if missing or has_said else "unharmed"
        if self.uploads:
            check_upload(folder, service, ending)
        return ending

    def check_status(self, outcome, has_run, injection):
        """Checks for the command's own status if the command ran; gpu-tracker, like its
        predecessor, exits with its own status. A broken pipe may kill a program without a
        command."""
        allowed = {self.failure} if self.has_job and not has_run else \
            {self.status} if has_run and self.program != "gpu-tracker" else \
            {self.status, self.failure}
        if injection.how == "EPIPE" and not self.has_job:
            allowed.add(-signal.SIGPIPE)
        expect(outcome.status in allowed, f"status {outcome.status}, expected "
               f"{' or '.join(map(str, sorted(allowed)))}; it said {outcome.stderr!r}")

    def complaints(self, text):
        return [line for line in text.splitlines() if COMPLAINTS[self.program].match(line)]

    def check_files(self, folder):
        known = {RAN, "home", GPUS, *self.outputs, *([STORED] if self.prepare else [])}
        known |= {name + end for name in self.outputs for end in ("-wal", "-shm", "-journal")}
        left = {path.name for path in folder.iterdir()} - known
        left |= {path.name for path in (folder / "home").iterdir()} - {".local", ".cache"}
        expect(not left, f"files were left: {', '.join(sorted(left))}")
        for path in (folder / STATE).glob("spoor/runs/*/*.jsonl"):
            if path.stat().st_size > 0:
                check_lines(path.read_text(encoding="utf-8"), False)

    def check_outputs(self, outcome, folder, has_run):
        """Returns the missing outputs. Existing outputs must be complete unless a message was
        printed."""
        missing = []
        for name, kind in self.outputs.items():
            path = folder / name
            if name == "stdout" and not outcome.stdout or \
                    name != "stdout" and not (path.exists() and path.stat().st_size):
                missing.append(name)
                continue
            try:
                if kind == ".sqlite":
                    check_database(path)
                    continue
                text = outcome.stdout if name == "stdout" else path.read_text(errors="replace")
                CHECKS[kind](text, has_run)
            except Fault as fault:
                if self.may_be_cut(name, kind, outcome, folder):
                    missing.append(name)
                else:
                    raise Fault(f"{name}: {fault}") from fault
        return missing

    def may_be_cut(self, name, kind, outcome, folder):
        """Returns whether this output may be incomplete: a stream or a pipe that broke off, with
        a message."""
        return name == "stdout" and outcome.status == self.failure or kind in (".csv", ".jsonl") and \
            (self.complaints(outcome.stderr) or has_lost_rows(folder))


def warnings_of(folder):
    """Returns the warnings in the report; with --quiet they are nowhere else."""
    path = folder / "report.json"
    return json.loads(path.read_text())["warnings"] if path.exists() else []


def has_lost_rows(folder):
    return any(warning["code"] == "samples-lost" for warning in warnings_of(folder))


def agent_requests(*operations):
    return b"".join(json.dumps({"id": i + 1, "op": operation}).encode() + b"\n"
                    for i, operation in enumerate(operations))


def check_upload(folder, service, ending):
    """Checks that received rows are complete, and that the others are kept for later or a
    message was printed."""
    # An end message is sent again if its answer was lost.
    problems = [problem for problem in service.problems if "finished twice" not in problem]
    expect(not problems, f"the service was sent {problems}")
    if service.finishes:
        rows = folder / "rows.csv"
        on_disk = rows.read_text().splitlines() if rows.exists() else []
        arrived = service.received()
        expect(ending == "reported" or arrived == on_disk,
               f"{len(on_disk)} lines are on disk, {len(arrived)} arrived, and nothing says why")
    else:
        expect(ending == "reported" or any((folder / KEPT).iterdir()),
               "nothing arrived, nothing is kept, and nothing says why")


def with_service(folder, build, service):
    del build
    service.problems, service.finishes = [], []
    return {**service.environment(folder / STATE), "TRACKER_UPLOAD_WAIT": "20"}


def with_gpus(folder, build, service):
    del service
    (folder / GPUS).write_text("".join(
        f"device {number} {text}\n" for number in range(2)
        for text in (f"uuid GPU-{number}000-aaaa", "name NVIDIA H200", f"pci 0:{59 + number}:0",
                     "total 150000000000", "used 3000000000", f"minor {number}")))
    return {"LD_LIBRARY_PATH": str(build / "tests/gpu/standin/full"),
            "SPOOR_NVML_SCRIPT": str(folder / GPUS)}


def stored_report(folder, source):
    shutil.copy(source, folder / STORED)


def stored_history(folder, source):
    """Returns rows of a history for the report."""
    run = json.loads(pathlib.Path(source).read_text(encoding="utf-8"))["run"]
    path = folder / STATE / "spoor/runs/2026-11/other.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": f"{number:032x}", "name": "job", "tag.v": "1", "exit_code": 0,
                                        "started_at": run["started_at"], "elapsed_seconds": 1,
                                        "command": "true"}) + "\n" for number in range(3)), encoding="utf-8")


SCENARIOS = [
    Scenario("run", ["run", "-q", "-o", "report.json", "--", *SHORT_JOB], ["report.json"],
             has_job=True, status=STATUS),
    Scenario("run, no cgroup", ["run", "-q", "--cgroup", "off", "-o", "report.json", "--",
                                *SHORT_JOB], ["report.json"], has_job=True, status=STATUS),
    Scenario("run, all outputs",
             ["run", "-i", "0.02", "-o", "report.json", "--report", "page.html", "--samples",
              "samples.csv", "--stream", "rows.jsonl", "--", *FORKING_JOB],
             ["report.json", "page.html", "samples.csv", "rows.jsonl"], has_job=True,
             status=STATUS),
    Scenario("run, GPUs", ["run", "-i", "0.02", "-o", "report.json", "--samples", "samples.csv", "--",
                           *LONGER_JOB], ["report.json", "samples.csv"], has_job=True,
             status=STATUS, surround=with_gpus),
    Scenario("run, history", ["run", "-q", "--save", "-o", "report.json", "--", *SHORT_JOB],
             ["report.json"], has_job=True, status=STATUS),
    Scenario("history", ["history", "--columns", "id,name,tag.v,cwd"], ["stdout=txt"],
             prepare=stored_history),
    Scenario("history, stats", ["history", "stats"], ["stdout=txt"],
             prepare=stored_history),
    Scenario("attach", ["attach", "--duration", "0.05", "-i", "0.02", "-q", "-o", "report.json",
                        "--samples", "samples.csv", "{pid}"], ["report.json", "samples.csv"]),
    Scenario("system", ["system", "-i", "0.02", "-f", "json"], ["stdout=json"]),
    Scenario("report, page", ["report", "-o", "page.html", STORED], ["page.html"],
             prepare=stored_report),
    Scenario("report, text", ["report", "--text", STORED], ["stdout=txt"], prepare=stored_report),
    Scenario("recommend", ["recommend", STORED], ["stdout=txt"], prepare=stored_report),
    Scenario("doctor", ["doctor"], ["stdout=txt"]),
    Scenario("info", ["info", "-f", "json"], ["stdout=object"]),
    Scenario("agent", ["agent", "--pid", "{pid}", "-i", "0.02"], ["stdout=answers"],
             stdin=agent_requests("sample", "stop"),
             without=("ENOSPC", "ENOSPC+", "EPIPE")),  # its stdout is one end of a socket pair
    Scenario("gpu-tracker, CSV", ["--execute", f"sh -c ': >{RAN}; sleep 0.03'", "-o",
                                  "report.object", "-f", "json", "--st", "0.1", "--tf",
                                  "rows.csv"],
             ["report.object", "rows.csv=txt"], program="gpu-tracker", has_job=True, failure=1),
    # The CPU utilization is known only if the job lives longer than a tick.
    Scenario("gpu-tracker, SQLite", ["--execute", f"sh -c ': >{RAN}; sleep 0.03'", "-o",
                                     "report.object", "-f", "json", "--tf", "rows.sqlite"],
             ["report.object", "rows.sqlite"], program="gpu-tracker", has_job=True, failure=1),
    Scenario("resource-tracker", ["-i", "0.02", "-f", "csv", "-o", "rows.csv", "--", *FORKING_JOB],
             ["rows.csv"], program="resource-tracker", has_job=True, status=STATUS, failure=1),
    Scenario("resource-tracker, upload",
             ["-i", "0.02", "-f", "csv", "-o", "rows.csv", "--", *FORKING_JOB], ["rows.csv"],
             program="resource-tracker", has_job=True, status=STATUS, failure=1,
             surround=with_service, uploads=True),
    Scenario("library", ["{folder}/report.json"], ["report.json"], program="library", failure=3),
]


def cgroup_folders():
    """Lists the folders in which a tracker of this process may create cgroups."""
    mounts = [line.split(" ") for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [fields[4] for fields in mounts if fields[fields.index("-") + 1].startswith("cgroup")]
    own = {line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()}
    return [point + path.rstrip("/") for point in points for path in own | {""}]


def cgroups_of(pid, folders):
    return [path for folder in folders for path in glob.glob(f"{glob.escape(folder)}/spoor-{pid}-*")]


def start_target():
    """Starts a process to attach to. It exits at end of file on its input, and so together with
    this process."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def base_environment(folder):
    home = folder / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home),
            "SPOOR_METADATA_URL": "http://127.0.0.1:1",
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "LSAN_OPTIONS": f"suppressions={HERE / 'leaks.supp'}:print_suppressions=0"}
