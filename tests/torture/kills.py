#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py [--kills N] [--seed N] [--round N] [--victim NAME] [--no-load] [--write] [SPOOR] -
tests that spoor survives SIGKILL.

At random moments, kills the job, the tracker, one of its helper processes, the agent of a Python
program, or the program that started them: N times alone, and N times beside a busy loop on every
CPU. After each kill

- every process ends: the test is the subreaper of all processes and waits until it has no
  children,
- no cgroup is left unless its tracker was killed, no temporary file unless its writer was
  killed, and no socket,
- reports and samples are readable, and there is a report if the tracker survived.

A later run removes what a killed process leaves: empty cgroups after a minute, temporary files
after an hour (the test sets their times back). Exits with status 0 if all of this holds. --round
N repeats one round of a seed; --write writes the figures to docs/RELIABILITY.md.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import leftovers
import results

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/functional"))

import schema  # noqa: E402: the line above adds its folder to the path
from fake_sentinel import FakeSentinel  # noqa: E402: likewise

# Short processes, a daemon that outlives them, and an exit code. Takes some 0.2 s.
JOB = """setsid sleep 0.15 &
i=0
while [ $i -lt 15 ]; do sleep 0.005; i=$((i + 1)); done
: >done
exit 7
"""

PROGRAM = """
import os, pathlib, time, warnings
import spoor
warnings.simplefilter("ignore")
with spoor.Tracker(interval=0.005, output="r.json", samples="s.csv") as tracker:
    print("tracking", flush=True)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        with spoor.phase("p"):
            tracker.sample()
children = [path.read_text() for path in pathlib.Path("/proc/self/task").glob("*/children")]
assert not "".join(children), f"zombies: {children}"
os._exit(7)
"""

SAMPLED = ["-i", "5ms", "--samples", "s.csv", "-o", "r.json"]


class Round:
    """One start, one kill, and the checks afterwards."""

    def __init__(self, setup, kind, folder, chance):
        self.setup, self.kind, self.folder, self.chance = setup, kind, folder, chance
        self.started = time.monotonic()
        self.environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder),
                            "XDG_STATE_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder),
                            "PYTHONPATH": str(TOP / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                            "SPOOR_BIN": setup.program("spoor"),
                            "LD_LIBRARY_PATH": str(setup.binary.parent)}
        self.files = {"r.json", "s.csv", "done"}
        self.service = self.job = None
        self.main = None  # the process that the test starts
        self.had_tracker = False  # the tracker existed when its caller was killed

    def start(self, *command, **options):
        with open(self.folder.parent / "output", "wb") as output:
            return subprocess.Popen(list(map(str, command)), cwd=self.folder, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, **options)

    def output(self):
        return (self.folder.parent / "output").read_text(errors="replace")

    def is_done(self):
        """Returns whether the job has finished."""
        return (self.folder / "done").exists()

    def report(self):
        path = self.folder / "r.json"
        return json.loads(path.read_text()) if path.exists() else None


# ---- starts of a round: the returned process has the role "main" ------------------------------------

def start_run(test):
    return test.start(test.setup.program("spoor"), "run", "-q", *SAMPLED, "--", "sh", "-c", JOB)


def start_shell(test):
    return test.start("sh", "-c", '"$@"; exit $?', "sh", test.setup.program("spoor"), "run", "-q",
                      *SAMPLED, "--", "sh", "-c", JOB)


def start_attach(test):
    test.job = test.start("sh", "-c", JOB)
    return test.start(test.setup.program("spoor"), "attach", "-q", *SAMPLED, test.job.pid)


def start_python(test):
    return test.start("/usr/bin/python3", "-c", PROGRAM)


def start_gpu_tracker(test):
    suffix = test.chance.choice(["csv", "sqlite"])
    test.files = {f"t.{suffix}", "out.json", "job", "done"}
    (test.folder / "job").write_text(JOB)
    return test.start(test.setup.program("gpu-tracker"), "--execute", "sh job", "--st", "0.1", "--tf",
                      f"t.{suffix}", "--format", "json", "--output", "out.json", "--propagate")


def start_upload(test):
    test.service = FakeSentinel()
    test.files = {"s.csv", "done"}
    test.environment.update(test.service.environment(
        test.folder, TRACKER_UPLOAD_INTERVAL="0.1", SPOOR_METADATA_URL=test.service.url))
    return test.start(test.setup.program("resource-tracker"), "-i", "0.005", "-f", "csv", "-o", "s.csv",
                      "--", "sh", "-c", JOB)


# ---- victims ----------------------------------------------------------------------------------------

def main_process(test):
    return [test.main.pid]


def own_job(test):
    """Returns the command, even if it has not called exec yet; or the attached process."""
    if test.job:
        return [test.job.pid]
    return [] if test.is_done() else [pid for pid in leftovers.children_of(test.main.pid)
                                      if leftovers.name_of(pid) in ("spoor", "sh")]


def helper(test):
    """Returns a process that writes or uploads samples; after the job, also the process that
    writes the report: a child with the name of the tracker."""
    names = ["spoor-agent", leftovers.name_of(test.main.pid)][:1 + test.is_done()]
    return [pid for pid in leftovers.children_of(test.main.pid) if leftovers.name_of(pid) in names]


def agent(test):
    """Returns the agent: an orphan, and so a child of this process."""
    return [pid for pid in leftovers.children_of(os.getpid())
            if leftovers.name_of(pid) == "spoor-agent"]


# ---- checks afterwards ------------------------------------------------------------------------------

def check_any(test, is_killed):
    """Checks that every existing report and samples file is readable."""
    report = test.report()
    if report:
        schema.check_schema(report)
    for name in test.files & {"s.csv", "t.csv", "t.sqlite"}:
        check_samples(test, test.folder / name)
    return report


def had_rows(test):
    """Returns whether samples were taken, which means that the job was running."""
    path = test.folder / "s.csv"
    return path.exists() and path.read_bytes().count(b"\n") > 2


def check_samples(test, path):
    if not path.exists() or path.stat().st_size == 0:
        return
    count = None
    if path.suffix == ".csv":
        text = path.read_text()
        rows = text.splitlines()
        assert text.endswith("\n"), f"{path.name}: half a row: {rows[-1]!r}"
        del rows[:2 if path.name == "t.csv" else 0]  # a header and a row with facts about the machine
        if len(rows) < 2:
            return
        assert len({row.count(",") for row in rows}) == 1, f"{path.name}: {rows[-2:]}"
        count = len(rows) - 1 if test.files >= {"r.json", path.name} else None
    done = subprocess.run([test.setup.program("spoor"), "report", "-f", "json", path.name],
                          cwd=test.folder, env=test.environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if path.suffix == ".sqlite" and "no row" in done.stderr:
        return
    assert done.returncode == 0, f"spoor report {path.name}: {done.stderr}"
    samples = json.loads(done.stdout)["run"]["samples"]
    assert count in (None, samples), f"{path.name}: {count} rows, and the report has {samples}"
    test.setup.seen["sample files"] += 1
    test.setup.seen["rows"] += samples


def check_job(test, is_killed):
    """Checks that the report contains the end of the job. A wrapper is killed by the same
    signal."""
    report = check_any(test, is_killed)
    if test.job and test.main.returncode == 125:
        assert is_killed and "process" in test.output(), "attach failed"
        return
    assert report, "no report"
    if not test.job and not test.is_done():
        assert test.main.returncode == -signal.SIGKILL
        assert report["run"]["signal"] == "SIGKILL", report["run"]["signal"]


def check_tracker(test, is_killed):
    check_any(test, is_killed)
    assert test.main.returncode == (-signal.SIGKILL if is_killed else 0 if test.job else 7)
    assert test.is_done() or not (test.job or had_rows(test)), "the job was disturbed"


def check_helper(test, is_killed):
    """Checks that the run continues. The report is lost only if the process that writes it is
    killed, and then with a message."""
    report = check_any(test, is_killed)
    assert test.main.returncode == 7
    has_report = report or (test.folder / "out.json").exists() or test.service
    assert has_report or "SIGKILL" in test.output(), "no report, and no message"


def check_agent(test, is_killed):
    check_any(test, is_killed)
    assert test.main.returncode == 7, "the program must not notice"


def check_caller(test, is_killed):
    """Checks that the tracker continues without its caller, and writes its report."""
    report = check_any(test, is_killed)
    if test.had_tracker or not is_killed:
        assert report, "no report"


def check_upload(test, is_killed):
    """Checks that unsent rows are sent later, and no row twice."""
    assert test.main.returncode == (-signal.SIGKILL if is_killed and test.kind.what == "tracker" else 7)
    check_samples(test, test.folder / "s.csv")
    done = subprocess.run([test.setup.program("resource-tracker"), "upload"], cwd=test.folder, text=True,
                          env=test.environment, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"upload: {done.stdout}"
    spool = test.folder / "spoor/uploads"
    left = [str(path.relative_to(spool)) for path in spool.rglob("*")]
    assert not left, f"after an upload that says {done.stdout!r}: {left}"
    # An uploader killed right after sending its end message makes the next one send it again.
    problems = [text for text in test.service.problems if not text.endswith(" was finished twice")]
    assert not problems, problems
    on_disk = (test.folder / "s.csv").read_text().splitlines() if (test.folder / "s.csv").exists() else []
    for number in range(len(test.service.finishes)):
        arrived = test.service.received(number)
        count = min(len(arrived), len(on_disk))
        assert arrived[:count] == on_disk[:count], "other rows arrived than were written"
    test.files |= {path.name for path in [test.folder / "spoor"] if path.exists()}


Kind = collections.namedtuple("Kind", "what start victims check")
KINDS = [
    Kind("job", start_run, own_job, check_job),
    Kind("job", start_attach, own_job, check_job),
    Kind("tracker", start_run, main_process, check_tracker),
    Kind("tracker", start_attach, main_process, check_tracker),
    Kind("tracker", start_gpu_tracker, main_process, check_tracker),
    Kind("tracker", start_upload, main_process, check_upload),
    Kind("helper", start_run, helper, check_helper),
    Kind("helper", start_gpu_tracker, helper, check_helper),
    Kind("helper", start_upload, helper, check_upload),
    Kind("agent", start_python, agent, check_agent),
    Kind("caller", start_shell, main_process, check_caller),
    Kind("caller", start_python, main_process, check_caller),
]
VICTIMS = sorted({kind.what for kind in KINDS})


# Fractions of the duration of a run: its start and its end are short, but most errors can happen
# there.
STAGES = [(0, 1), (0, 0.2), (0.8, 1.05)]


class Setup:
    """The programs under test, and counts of what they left behind."""

    def __init__(self, binary, folder, seed, cgroups):
        self.binary = pathlib.Path(binary).resolve()
        self.folder, self.seed, self.cgroups = folder, seed, cgroups
        self.seen = collections.Counter()
        self.load = []  # busy processes
        self.lasts = {}  # seconds of a round without a kill, by the function that starts it
        for name in ("spoor", "gpu-tracker", "resource-tracker"):
            (folder / name).symlink_to(self.binary)

    def program(self, name):
        return str(self.folder / name)


    def made_cgroups(self):
        return {path for folder in self.cgroups for path in leftovers.below(folder)}


def kill_at_random(test):
    """Kills a victim at a random moment of the run; if there is none then, waits for the next
    one."""
    kind = test.kind
    begin, end = test.chance.choice(STAGES)
    moment = test.started + test.chance.uniform(begin, end) * test.setup.lasts[kind.start]
    while time.monotonic() < moment:
        time.sleep(0.0005)
    while test.main.poll() is None:
        victims = sorted(kind.victims(test))
        test.had_tracker = "tracking" in test.output() if kind.start is start_python else \
            bool(leftovers.children_of(test.main.pid))
        try:
            if victims:
                os.kill(test.chance.choice(victims), signal.SIGKILL)
                return True
        except ProcessLookupError:
            pass
        time.sleep(0.0005)
    return False


def finish(test, is_killed):
    """Waits for all processes of the round. Returns their PIDs, and whether the kill came in
    time."""
    pids = leftovers.descendants_of(os.getpid())
    test.main.wait(leftovers.DEADLINE_SECONDS)
    test.setup.lasts.setdefault(test.kind.start, time.monotonic() - test.started)
    if test.kind.what in ("tracker", "caller"):
        is_killed = test.main.returncode == -signal.SIGKILL
    if test.job:
        test.job.wait(leftovers.DEADLINE_SECONDS)
    return pids | leftovers.reap_all(test.setup.load), is_killed


def check_files(test, is_killed):
    """Checks that no unrequested file is left. A killed writer cannot remove its own file."""
    if test.kind.what in ("helper", "agent") and is_killed:
        # SQLite uses or removes the journal with the next row.
        test.files.add("t.sqlite-journal")
        remove_temporary(test)
    left = {path.name for path in test.folder.iterdir()} - test.files
    assert not left, f"files: {left}"


def remove_temporary(test):
    """Checks that, an hour later, the next report in the same directory removes temporary files."""
    found = list(test.folder.glob(".spoor-*.tmp"))
    if not found:
        return
    test.setup.seen["temporary files"] += len(found)
    for path in found:
        os.utime(path, (0, time.time() - 4000))
    subprocess.run([test.setup.program("spoor"), "run", "-q", "-o", "r.json", "true"], check=True,
                   cwd=test.folder, env=test.environment)


def run_round(setup, kind, number, is_calibration=False):
    """Runs one round. Returns whether the kill came in time."""
    chance = random.Random(f"{setup.seed}.{number}")
    before = setup.made_cgroups()
    with tempfile.TemporaryDirectory(prefix="kills-") as home:
        folder = pathlib.Path(home) / "work"
        folder.mkdir()
        test = Round(setup, kind, folder, chance)
        test.main = kind.start(test)
        try:
            is_killed = not is_calibration and kill_at_random(test)
            pids, is_killed = finish(test, is_killed)
            kind.check(test, is_killed)
            check_files(test, is_killed)
            assert not leftovers.sockets_of(pids), "sockets"
            cgroups = setup.made_cgroups() - before
            assert not cgroups or (test.kind.what == "tracker" and is_killed), f"cgroups: {cgroups}"
            setup.seen["cgroups left"] += len(cgroups)
            setup.seen["reports"] += (folder / "r.json").exists() or (folder / "out.json").exists()
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{kind.what} of {kind.start.__name__}, is_killed {is_killed}, "
                                 f"status {test.main.returncode}: {error!r}\n{test.output()}") from error
        finally:
            if test.service:
                test.service.close()
    return is_killed


def run_rounds(setup, victims, kills, only_round):
    """Returns the number of kills by victim, and the failures."""
    killed, failures = collections.Counter(), []
    setup.lasts.clear()
    for kind in KINDS:
        run_round(setup, kind, 0, is_calibration=True)
    for number in itertools.count() if only_round is None else [only_round]:
        what = victims[number % len(victims)]
        kind = random.Random(f"{setup.seed}.{number}.kind").choice(
            [kind for kind in KINDS if kind.what == what])
        if sum(killed.values()) - killed["too late"] + len(failures) >= kills:
            break
        try:
            killed[what if run_round(setup, kind, number) else "too late"] += 1
        except AssertionError as error:
            failures.append(f"seed {setup.seed}, round {number}: {error}")
            print(f"FAILED {failures[-1]}", flush=True)
    return killed, failures


def check_cgroups(setup):
    """Checks that a run started a minute later removes the cgroups of killed trackers."""
    if not setup.made_cgroups():
        return []
    newest = max(path.stat().st_ctime for path in setup.made_cgroups())
    time.sleep(max(0, newest + 62 - time.time()))
    subprocess.run([setup.program("spoor"), "run", "-q", "true"], check=True)
    left = [path for path in setup.made_cgroups()
            if leftovers.name_of(int(path.name.split("-")[1])) is None]
    return [f"not removed by the next run: {path}" for path in left]


def describe(setup, alone, busy, seconds):
    rows = [[what, alone[what], busy[what]] for what in [*VICTIMS, "too late"]]
    rows.append(["all kills"] + [sum(count[what] for what in VICTIMS) for count in (alone, busy)])
    seen = setup.seen
    return results.table(["killed", "alone", "beside busy loops"], rows) + f"""

Seed {setup.seed}, {seconds / 60:.0f} minutes. "Too late": the run had ended before. After every kill all
processes ended and no socket was left. {seen["reports"]:,} reports and
{seen["sample files"]:,} files of samples with {seen["rows"]:,} rows were read back. Killed trackers left
{seen["cgroups left"]:,} empty cgroups, and processes that were killed while they wrote a report left
{seen["temporary files"]:,} temporary files: later runs removed all of them."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=__doc__.split(" - ", 1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1000000))
    parser.add_argument("--round", type=int, help="repeat only this one")
    parser.add_argument("--victim", choices=VICTIMS, action="append", help="kill only these")
    parser.add_argument("--no-load", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("spoor", nargs="?", default=TOP / "build/spoor")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rounds = (arguments.victim or VICTIMS, arguments.kills, arguments.round)
    started = time.monotonic()
    leftovers.become_subreaper()
    busy, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="kills-bin-") as home, \
            leftovers.own_cgroups("torture") as cgroups:
        setup = Setup(arguments.spoor, pathlib.Path(home), arguments.seed, cgroups)
        alone, failures = run_rounds(setup, *rounds)
        print(f"alone: {dict(alone)}", flush=True)
        if not arguments.no_load:
            with leftovers.busy_loops(os.cpu_count()) as setup.load:
                busy, more = run_rounds(setup, *rounds)
            failures += more
            print(f"beside busy loops: {dict(busy)}", flush=True)
        failures += check_cgroups(setup)
    text = describe(setup, alone, busy, time.monotonic() - started)
    print(text)
    if failures:
        print(f"{len(failures)} failures\n" + "\n".join(failures))
    elif arguments.write:
        results.write("kills", text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
