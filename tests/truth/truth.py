#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""truth.py [--full] [--only TEXT] [--setup TEXT] [--json FILE] [BINARY] - compares reports with the truth.

Builds the jobs of programs/, which record their own usage, runs them with different sources
disabled (SPOOR_DISABLE), as root and as an ordinary user, and compares. Without --full, --only
or --setup, each job runs in the best setup, and each other setup runs a few jobs (cases.py).
Prints a table; the last line is "N passed, N failed, N skipped", where each figure of each run
counts as one. Exits with status 0 if no rule (rules.py) is broken.
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cases
import properties
import rules
import table
import watching

HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534
TIMEOUT_SECONDS = 300
STOPPED_SECONDS = 1.5  # how long the tracker stays stopped after its job has ended
CANNOT = 77  # exit code of a job that cannot do its work on this machine
SHARED_SOURCES = ("ledger.c", "workload.c")
COMPILER_FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-pthread"]
LIGHT_WORKERS, HEAVY_WORKERS = 4, 1
# A sampled figure is near the truth only if the tracker gets a CPU. A run with a figure that is far
# off is repeated alone; if other programs keep the machine busy even then, the result is noted but
# is not a fault.
TRIALS = 2
BUSY = 0.3


@dataclasses.dataclass
class Outcome:
    """The result of one run: rows, or the reason why there are none."""
    case: cases.Case
    setup: cases.Setup
    rows: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)
    skip: str = ""
    busy: float = 0.0  # fraction of the run during which some process waited for a CPU

    @property
    def is_far(self):
        return any(row.far for row in self.rows)

    @property
    def name(self):
        return f"{self.case.name} [{self.setup.name}, {self.setup.user}]"


def build_programs(folder):
    """Compiles programs/*.c statically, so that their own memory is small and equal on all
    machines."""
    compiler = shutil.which("cc") or "gcc"
    sources = sorted((HERE / "programs").glob("*.c"))
    objects = {source: folder / f"{source.stem}.o" for source in sources}

    def call(*arguments):
        subprocess.run([compiler, *COMPILER_FLAGS, *map(str, arguments)], check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda source: call("-c", "-o", objects[source], source), sources))
        shared = [objects[HERE / "programs" / name] for name in SHARED_SOURCES]
        list(pool.map(lambda source: call("-o", folder / source.stem, objects[source], *shared),
                      [source for source in sources if source.name not in SHARED_SOURCES]))


def build_main_only(folder, build):
    """Compiles the tracker that uses the C library, if the library is next to the program."""
    library = build / "libspoor.so.0"
    if library.exists():
        shutil.copy(library, folder)
        subprocess.run([shutil.which("cc") or "gcc", "-D_GNU_SOURCE", f"-I{HERE.parent.parent}/include",
                        "-o", folder / "main_only", HERE / "main_only.c", folder / library.name,
                        f"-Wl,-rpath,{folder}"], check=True)


class Runner:
    """Runs cases in a folder that every user can read; `checks` lists the properties to check."""

    def __init__(self, folder, binary, checks=properties.PROPERTIES):
        self.folder = folder
        self.checks = checks
        self.binary = folder / "spoor"
        shutil.copy(binary, self.binary)
        build_programs(folder)
        build_main_only(folder, pathlib.Path(binary).resolve().parent)
        for script in (HERE / "programs").glob("*.py"):
            shutil.copy(script, folder)
        subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
        self.ways = {"run": self.wrap, "attach": self.attach, "stopped": self.stop,
                     "adopted": self.adopt, "main only": self.track_main}
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("SPOOR_", "TRUTH"))}

    def run(self, case, setup):
        """Runs a case in a setup and judges it."""
        outcome = Outcome(case, setup)
        home = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        try:
            if setup.user == "user" and os.geteuid() == 0:
                os.chown(home, NOBODY, NOBODY)
            lost, waited, started = lost_seconds(), waited_seconds(), time.monotonic()
            status, output = self.ways[setup.how](case, setup, home)
            outcome.busy = (waited_seconds() - waited) / (time.monotonic() - started)
            self.judge(outcome, status, output, home,
                       [after - before for after, before in zip(lost_seconds(), lost)])
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            outcome.faults.append(f"did not end: {error}")
        finally:
            shutil.rmtree(home, ignore_errors=True)
        return outcome

    def start(self, setup, home, command, variables):
        """Starts a command as the user of a setup, in its own session."""
        if setup.user == "user" and os.geteuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                       *command]
        with open(home / "output", "ab") as output:
            return subprocess.Popen(list(map(str, command)), cwd=home, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=output, start_new_session=True,
                                    env={**self.environment, "HOME": str(home), **variables})

    def job(self, case):
        program, *arguments = shlex.split(case.command)
        interpreter = [sys.executable] if program.endswith(".py") else []
        return [*interpreter, self.folder / program, *arguments]

    def tracker(self, case, setup, home):
        """Returns the command that starts a job, and its variables."""
        variables = {"TRUTH": str(home / "truth.json"), "PROGRAMS": str(self.folder)}
        if setup.disable:
            variables["SPOOR_DISABLE"] = setup.disable
        command = [self.binary, "run", "-q", "-o", home / "report.json", "--samples",
                   home / "samples.jsonl", *case.options, *setup.options, "--", *self.job(case)]
        return (["sh", "-c", case.launch, "sh", *command] if case.launch else command), variables

    def wrap(self, case, setup, home):
        process = self.start(setup, home, *self.tracker(case, setup, home))
        return finish(process), read_output(home)

    def stop(self, case, setup, home):
        """Stops the tracker before the job does its work, and continues it after the job has
        ended."""
        command, variables = self.tracker(case, setup, home)
        gate = make_gate(home)
        process = self.start(setup, home, command, {**variables, "TRUTH_GATE": str(gate)})
        try:
            if not wait_for_byte(f"{gate}.ready", process):
                return finish(process), read_output(home)
            job, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[:1]
            os.kill(process.pid, signal.SIGSTOP)
            open_gate(gate)
            wait_until(lambda: state_of(job) == "Z", "end of the job")
            time.sleep(STOPPED_SECONDS)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        return finish(process), read_output(home)

    def attach(self, case, setup, home):
        """Attaches to a process: the job waits at its gate until the tracker has taken its first
        sample."""
        variables = {"SPOOR_DISABLE": setup.disable} if setup.disable else {}
        return self.follow(setup, home, self.job(case), lambda job: [
            self.binary, "attach", "-q", "-o", home / "report.json", "--samples",
            home / "samples.jsonl", job.pid], variables)

    def adopt(self, case, setup, home):
        """Attaches to a cgroup instead of a process."""
        group = watching.OuterCgroup(f"spoor-truth-{os.getpid()}-{home.name}")
        try:
            return self.follow(setup, home, [*self.job(case), *group.folders], lambda job: [
                self.binary, "attach", "-q", "-o", home / "report.json", "--samples",
                home / "samples.jsonl", "--cgroup", group.folders[0]], {})
        finally:
            group.remove()

    def track_main(self, case, setup, home):
        """Attaches with a tracker that counts the main process alone."""
        if not (self.folder / "main_only").exists():
            return CANNOT, "there is no library beside the program"
        return self.follow(setup, home, self.job(case), lambda job: [
            self.folder / "main_only", job.pid, home / "report.json", home / "samples.jsonl"], {})

    def follow(self, setup, home, command, tracker_of, variables):
        """Starts a job, then a tracker for it; opens the job's gate at the first sample."""
        gate, samples = make_gate(home), home / "samples.jsonl"
        job = self.start(setup, home, command,
                         {"TRUTH": str(home / "truth.json"), "TRUTH_GATE": str(gate)})
        try:
            if not wait_for_byte(f"{gate}.ready", job):
                return finish(job), read_output(home)
            tracker = self.start(setup, home, tracker_of(job), variables)
            wait_until(lambda: tracker.poll() is not None
                       or (samples.exists() and b"\n" in samples.read_bytes()), "first sample")
            open_gate(gate)
            status = finish(job)
            finish(tracker)
        finally:
            if job.poll() is None:
                job.kill()
                job.wait()
        return status, read_output(home)

    def judge(self, outcome, status, output, home, lost):
        if status == CANNOT:
            outcome.skip = output.strip() or "the job gave no reason"
            return
        try:
            truth = json.loads((home / "truth.json").read_text())
            report = json.loads((home / "report.json").read_text())
        except (OSError, ValueError) as error:
            outcome.faults.append(f"status {status}, {error}: {output.strip()[-500:]}")
            return
        if status != 0:
            outcome.faults.append(f"status {status}: {output.strip()[-500:]}")
        outcome.rows = rules.judge(truth, report, cases.must_of(outcome.case, outcome.setup),
                                   *lost)
        for row in outcome.rows:
            if row.fault and row.figure == "cpu_seconds":
                row.fault += " (meanwhile this machine lost {:.2f} s to its hypervisor, {:.2f} s " \
                    "to interrupts)".format(*lost)
        rows = [json.loads(line) for line in read_lines(home / "samples.jsonl")]
        outcome.faults += rules.judge_form(report)
        outcome.faults += properties.judge(report, rows, outcome.case.warns, self.checks)


def finish(process):
    """Waits until a process exits; if it takes too long, kills its session."""
    try:
        return process.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        raise


def make_gate(home):
    """Creates the FIFOs at which a job waits; see ledger.h."""
    for name in ("ready", "go"):
        os.mkfifo(home / f"gate.{name}")
        os.chmod(home / f"gate.{name}", 0o666)
    return home / "gate"


def open_gate(gate):
    with open(f"{gate}.go", "wb") as file:
        file.write(b"x")


def read_output(home):
    return (home / "output").read_text(errors="replace")


def read_lines(path):
    return path.read_text().splitlines() if path.exists() else []


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def lost_seconds():
    """Returns the time of all CPUs taken by the hypervisor and by interrupts since the start."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    hard, soft, stolen = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[6:9])
    return stolen, hard + soft


def waited_seconds():
    """Returns how long any process has waited for a CPU since the start; 0 if the kernel does
    not count it."""
    with contextlib.suppress(OSError, ValueError):
        some = pathlib.Path("/proc/pressure/cpu").read_text().split("\n", 1)[0]
        return int(some.rsplit("=", 1)[1]) / 1e6
    return 0.0


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} in {TIMEOUT_SECONDS} s")
        time.sleep(0.002)


def wait_for_byte(path, process):
    """Reads a byte from a FIFO. Returns False if the writing process exits instead."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        def has_come():
            with contextlib.suppress(BlockingIOError):
                return os.read(fd, 1) == b"x"
            return False

        got = []
        wait_until(lambda: got.append(has_come()) or got[-1] or process.poll() is not None,
                   "word from the job")
        return got[-1]
    finally:
        os.close(fd)


@contextlib.contextmanager
def switched(settings):
    """Raises kernel settings {path: minimum value} and restores the old values at the end. Skips
    settings that cannot be written."""
    before = {}
    try:
        for path, value in settings.items():
            with contextlib.suppress(OSError):
                old = pathlib.Path(path).read_text()
                pathlib.Path(path).write_text(str(max(int(old), value)))
                before[path] = old
        yield
    finally:
        for path, value in reversed(before.items()):
            pathlib.Path(path).write_text(value)


NEEDS = {
    "": {},
    # 16 pages for each run, and one run for each worker.
    "hugetlb": {"/proc/sys/vm/nr_hugepages": 16 * LIGHT_WORKERS},
    "ksm": {"/sys/kernel/mm/ksm/pages_to_scan": 20000, "/sys/kernel/mm/ksm/run": 1},
}


def again(runner, outcome):
    """Repeats a run with values far from the truth. Returns the last outcome; values that are
    still far become faults, or notes on a busy machine."""
    for _ in range(TRIALS):
        if not outcome.is_far or outcome.faults or any(row.fault for row in outcome.rows):
            break
        outcome = runner.run(outcome.case, outcome.setup)
    for row in outcome.rows:
        if not row.far:
            continue
        if outcome.busy > BUSY and not row.exact and not row.figure.endswith("_chars"):
            row.note = f"{row.far}, but for {outcome.busy:.0%} of the time somebody waited for a CPU"
        else:
            row.fault = row.fault or row.far
    return outcome


def run_all(runner, planned):
    """Returns the outcomes in the planned order. Cases that need a kernel setting run
    separately."""
    outcomes = []
    for need, settings in NEEDS.items():
        with switched(settings), \
                concurrent.futures.ThreadPoolExecutor(LIGHT_WORKERS) as light, \
                concurrent.futures.ThreadPoolExecutor(HEAVY_WORKERS) as heavy:
            futures = [(heavy if case.is_heavy else light).submit(runner.run, case, setup)
                       for case, setup in planned if case.needs == need]
            outcomes += [future.result() for future in futures]
        with switched(settings):
            outcomes = [again(runner, outcome) if outcome.case.needs == need else outcome
                        for outcome in outcomes]
    return outcomes


def results(outcomes):
    """Returns the totals: passed, failures [(name, text)], skips [(name, reason)]."""
    passed, failures, skips = 0, [], []
    for outcome in outcomes:
        passed += sum(not row.fault for row in outcome.rows)
        failures += [(f"{outcome.name} {row.figure}", table.line(outcome, row))
                     for row in outcome.rows if row.fault]
        failures += [(outcome.name, fault) for fault in outcome.faults]
        if outcome.skip:
            skips.append((outcome.name, outcome.skip))
    return passed, failures, skips


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", nargs="?", default=HERE.parent.parent / "build/spoor")
    parser.add_argument("--full", action="store_true", help="every job in every setup")
    parser.add_argument("--only", default="", help="cases whose name or command has this in it")
    parser.add_argument("--setup", default="", help="setups whose name or user is this")
    parser.add_argument("--json", help="write what counts to this file")
    arguments = parser.parse_args()
    # Exits through Python on SIGTERM, so that kernel settings are restored.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    users = ["root", "user"] if os.geteuid() == 0 else ["user"]
    is_full = bool(arguments.full or arguments.only or arguments.setup)
    planned = [(case, setup) for case, setup in cases.plan(users, is_full)
               if (arguments.only in case.name or arguments.only in case.command)
               and arguments.setup in ("", setup.name, setup.user)]
    with tempfile.TemporaryDirectory(prefix="spoor-truth-") as name:
        checks = properties.PROPERTIES if is_full else properties.QUICK
        outcomes = run_all(Runner(pathlib.Path(name), arguments.binary, checks), planned)
    table.show(outcomes)
    passed, failures, skips = results(outcomes)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps([passed, failures, skips]))
    for text, reason in skips:
        print(f"skipped {text}: {reason}")
    print(f"{passed} passed, {len(failures)} failed, {len(skips)} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
