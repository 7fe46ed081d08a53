#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""failures.py [OPTIONS] [BUILD] - tests what spoor does when a call fails.

Every scenario runs once for each of its allocations, opens, reads, writes, file tests,
descriptors, threads, processes and waits; in each run, that call fails: see failing.c and
scenarios.py. Spoor must not crash, hang, leave anything behind, change the status of the job, or
lose a result without a message.

Calls from one call site are alike: the first call from each site fails, and others up to --most
per scenario and failure, each in --ways of its possible ways. --only SCENARIO:KIND:HOW:SITE:N
repeats one run and shows its output.
"""
import argparse
import collections
import contextlib
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import time

import injection
import results
import scenarios
from fake_sentinel import FakeSentinel  # in tests/functional, which `scenarios` adds to the path

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKERS = os.cpu_count() or 1
RESULTS = ("unharmed", "reported", "refused")
# A sanitizer is ten times as slow; its leak check takes seconds on aarch64. Whole stacks identify
# the blocks that the loader keeps.
EVERY_SANITIZED, EVERY_LEAK = 20, 250
SANITIZER_OPTIONS = "verify_asan_link_order=0:strict_string_checks=1"
LEAK_OPTIONS = {0: "detect_leaks=0", 1: "detect_leaks=1:fast_unwind_on_malloc=0"}
KINDS = {"alloc": "allocations", "open": "opens", "read": "reads", "write": "writes",
         "stat": "file tests", "fd": "pipes, sockets, events", "thread": "threads",
         "fork": "processes", "wait": "waits"}

Work = collections.namedtuple("Work", "scenario injection")
Result = collections.namedtuple("Result", "work outcome ending fault sites")


def scenario_of(name):
    return next(each for each in scenarios.SCENARIOS if each.name == name)


class Worker:
    """Runs one scenario at a time, and provides a process to attach to and a stored report to
    read."""

    def __init__(self, folder, build, binaries):
        injection.become_subreaper()
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.build = build
        self.library = build / "tests/torture/libfailing.so"
        self.binaries = self.folder / "bin"
        self.binaries.mkdir()
        for name in ("spoor", "gpu-tracker", "resource-tracker"):
            (self.binaries / name).symlink_to(binaries / "spoor")
        (self.binaries / "library").symlink_to(build / "tests/torture/library")
        self.target = scenarios.start_target()
        self.stored = None
        self.service = FakeSentinel()

    def run(self, scenario, failing):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        state = self.folder / "state"
        env = scenarios.base_environment(folder)
        if scenario.surround:
            env |= scenario.surround(folder, self.build, self.service)
        if scenario.prepare:
            scenario.prepare(folder, self.store())
        command = scenario.command(self.binaries, folder, self.target.pid)
        outcome = injection.run(command, state,
                                injection.environment(env, self.library, state, failing), folder,
                                scenario.stdin, [self.target.pid])
        return outcome, folder, state

    def store(self):
        """Returns a stored report; created once and reused."""
        if not self.stored:
            self.stored = self.folder / "stored.json"
            self.stored.touch()
            outcome, folder, _ = self.run(scenarios.SCENARIOS[0],
                                          injection.Injection("alloc", "ENOMEM", 0, 0))
            assert outcome.status == scenarios.STATUS, outcome
            shutil.move(folder / "report.json", self.stored)
        return self.stored

    def do(self, work):
        scenario = scenario_of(work.scenario)
        outcome, folder, state = self.run(scenario, work.injection)
        ending = fault = None
        if scenarios.ABORT.search(outcome.stderr):  # no program can handle these failures
            for group in scenarios.cgroups_of(outcome.pid, scenarios.cgroup_folders()):
                with contextlib.suppress(FileNotFoundError):  # some folders are listed twice
                    os.rmdir(group)
            return Result(work, outcome._replace(is_hit=False), None, None, ())
        try:
            ending = scenario.check(outcome, folder, work.injection, self.service)
            if work.injection.at == 0:
                scenarios.expect(ending == "unharmed", f"it fails without a failure: {outcome}")
        except scenarios.Fault as error:
            fault = str(error)
        if fault and fault.startswith(scenarios.NO_MEMORY) and \
                "json_load" in injection.describe(outcome.frames, self.binaries / "spoor"):
            ending, fault = "refused", None  # jansson reports damaged text if it runs out of memory
        sites = injection.sites(state) if work.injection.at == 0 else ()
        shutil.rmtree(folder)
        return Result(work, outcome, ending, fault, sites)


def start_worker(folder, build, binaries):
    global WORKER  # each process has its own
    WORKER = Worker(folder, build, binaries)


def do_work(work):
    return WORKER.do(work)


def count_calls(pool, names, kinds):
    """Returns the call sites for each failure: {(scenario, kind, how): call sites}."""
    works = [Work(name, injection.Injection(kind, how, 0, 0)) for name in names for kind in kinds
             for how in injection.FAILURES[kind] if how not in scenario_of(name).without]
    calls = {}
    for result in pool.imap(do_work, works):
        if result.fault:
            sys.exit(f"{result.work.scenario}: {result.fault}")
        failing = result.work.injection
        calls[result.work.scenario, failing.kind, failing.how] = result.sites
    return calls


def plan(calls, arguments, with_others):
    """Plans the failures: every call site fails in some of its possible ways, the next site in
    the following ones."""
    ways = collections.defaultdict(list)
    for (name, kind, how), sites in calls.items():
        for site, at in injection.choose(sites, arguments.most, with_others):
            ways[name, kind, site, at].append(how)
    works = []
    for number, ((name, kind, site, at), hows) in enumerate(ways.items()):
        start = number * arguments.ways
        for i in range(min(arguments.ways, len(hows))):
            works.append(Work(name, injection.Injection(kind, hows[(start + i) % len(hows)], site,
                                                        at)))
    return works


def name_of(work):
    scenario, failing = work
    return f"{scenario}:{failing.kind}:{failing.how}:{failing.site:x}:{failing.at}"


def parse(text):
    scenario, kind, how, site, at = text.rsplit(":", 4)
    return Work(scenario, injection.Injection(kind, how, int(site, 16), int(at)))


def program_of(name, build, binaries):
    return build / "libspoor.so" if name == "library" else binaries / "spoor"


def show_fault(result, program):
    print(f"FAULT {name_of(result.work)}\n  {result.fault}\n  in "
          f"{injection.describe(result.outcome.frames, program)}", flush=True)


def summarize(hits, calls):
    """Returns one row per kind of call, over all scenarios, and their sum."""
    rows = []
    for kind, name in KINDS.items():
        mine = [result for result in hits if result.work.injection.kind == kind]
        endings = collections.Counter(result.ending for result in mine)
        places = {site for (_, each, _), sites in calls.items() if each == kind for site in sites}
        rows.append([name, ", ".join(injection.FAILURES[kind]), len(places), len(mine),
                     *(endings[ending] for ending in RESULTS),
                     sum(1 for result in mine if result.fault)])
    return [*rows, ["all", "", *(sum(column) for column in list(zip(*rows))[2:])]]


def repeat(pool, work, program):
    result = pool.apply(do_work, (work,))
    print(result.outcome.stderr, result.outcome.stdout, sep="\n")
    print(f"status {result.outcome.status}, {result.ending or result.fault}, in "
          f"{injection.describe(result.outcome.frames, program)}")
    return 1 if result.fault else 0


class Campaign:
    """Runs one build of the program, and records the calls and the outcome of each failure."""

    def __init__(self, arguments, binaries, names, every, calls=None):
        self.done = []
        build, kinds = arguments.build.resolve(), arguments.kind or list(KINDS)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="spoor-failures-") as folder, \
                multiprocessing.Pool(WORKERS, start_worker, (folder, build, binaries)) as pool:
            if arguments.only:
                sys.exit(repeat(pool, arguments.only,
                                program_of(arguments.only.scenario, build, binaries)))
            self.calls = calls or count_calls(pool, names, kinds)
            works = plan(self.calls, arguments, binaries == build)[::every]
            print(f"{binaries.name}: {len(works)} runs", flush=True)
            for result in pool.imap_unordered(do_work, works, chunksize=4):
                if result.fault:
                    show_fault(result, program_of(result.work.scenario, build, binaries))
                self.done.append(result)
        self.hits = [result for result in self.done if result.outcome.is_hit]
        self.faults = [result for result in self.done if result.fault]
        for result in sorted(self.done, key=lambda result: -result.outcome.seconds)[:3]:
            print(f"{result.outcome.seconds:.1f} s: {name_of(result.work)}")
        print(f"{len(self.hits)} failures injected in {len(self.done)} runs, {len(self.faults)} "
              f"faults, {time.monotonic() - started:.0f} s", flush=True)


def describe(campaigns):
    """Returns the section for docs/RELIABILITY.md."""
    plain, *sanitized = campaigns
    kinds = results.table(["calls", "how they fail", "call sites", "failed", *RESULTS, "faults"],
                          summarize(plain.hits, plain.calls))
    text = (f"{len(plain.hits):,} calls were made to fail, each in a run of its own, in "
            f"{len({result.work.scenario for result in plain.hits})} scenarios "
            f"(tests/torture/scenarios.py);\n{len(plain.faults)} faults were found.")
    for campaign, what in zip(sanitized, ("with AddressSanitizer and UndefinedBehaviorSanitizer",
                                          "with these and a search for leaks")):
        text += (f" {len(campaign.hits):,} more failed {what}: {len(campaign.faults)} faults.")
    return f"""{text}

*Unharmed*: the run ended as without the failure. *Reported*: the command ran with its own status, and
a message names what is missing. *Refused*: it ended with the status for its own failures and a
message, before a command was started. *+*: all calls of the kind fail from then on. A fault is a
crash, a hang, a wrong status, a damaged or silently missing result, or a file, cgroup, process,
descriptor or block of memory that is left.

{kinds}"""


def parse_arguments():
    parser = argparse.ArgumentParser(description="what does spoor do when a call fails?")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these calls")
    parser.add_argument("--most", type=int, default=50,
                        help="calls per scenario and failure, if there are fewer call sites")
    parser.add_argument("--ways", type=int, default=2, help="failures per call (99: all)")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of these")
    parser.add_argument("--only", type=parse, help="SCENARIO:KIND:HOW:SITE:N, as a fault names it")
    parser.add_argument("--sanitized", type=pathlib.Path, metavar="BUILD",
                        help="then a sample with this build, and one that looks for leaks")
    parser.add_argument("--binaries", type=pathlib.Path, help="the folder of spoor (default: BUILD)")
    parser.add_argument("--write", action="store_true", help="write docs/RELIABILITY.md")
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=TOP / "build")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    names = arguments.scenario or [scenario.name for scenario in scenarios.SCENARIOS]
    campaigns = [Campaign(arguments, (arguments.binaries or arguments.build).resolve(), names,
                          arguments.every)]
    if arguments.sanitized:
        programs = [name for name in names if name != "library"]
        calls = None
        for leaks, every in ((0, EVERY_SANITIZED), (1, EVERY_LEAK)):
            os.environ["ASAN_OPTIONS"] = f"{SANITIZER_OPTIONS}:{LEAK_OPTIONS[leaks]}"
            campaigns.append(Campaign(arguments, arguments.sanitized.resolve(), programs, every,
                                      calls))
            calls = campaigns[-1].calls
    text = describe(campaigns)
    print(text)
    if arguments.write:
        results.write("failures", text)
    return 1 if any(campaign.faults for campaign in campaigns) else 0


if __name__ == "__main__":
    sys.exit(main())
