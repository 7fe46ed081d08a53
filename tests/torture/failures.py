#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""failures.py [OPTIONS] [BUILD] - what does spoor do when a call fails?

Every scenario runs once for each of its allocations, opens, reads, writes, file tests, descriptors,
threads, processes and waits, and that call fails: see failing.c and scenarios.py. It must not crash,
hang, leave anything behind, change the status of the job, or lose a result without saying so.

Calls of one call site are alike: the first and the last of each fail, and others up to --most per
scenario and failure. --only SCENARIO:KIND:HOW:SITE:N repeats one, and shows what it said.
"""
import argparse
import collections
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

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKERS = min(2, os.cpu_count() or 1)
RESULTS = ("unharmed", "reported", "refused")
KINDS = {"alloc": "allocations", "open": "opens", "read": "reads", "write": "writes",
         "stat": "file tests", "fd": "pipes, sockets, events", "thread": "threads",
         "fork": "processes", "wait": "waits"}

Work = collections.namedtuple("Work", "scenario injection")
Result = collections.namedtuple("Result", "work outcome ending fault sites")


class Worker:
    """Runs one scenario at a time, with a process to attach to and a stored report to read."""

    def __init__(self, build, binaries):
        injection.become_subreaper()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="spoor-failures-"))
        self.library = build / "tests/torture/libfailing.so"
        self.binaries = self.folder / "bin"
        self.binaries.mkdir()
        for name in ("spoor", "gpu-tracker", "resource-tracker"):
            (self.binaries / name).symlink_to(binaries / "spoor")
        (self.binaries / "library").symlink_to(build / "tests/torture/library")
        self.target = scenarios.start_target()
        self.stored = None

    def close(self):
        self.target.kill()
        self.target.wait()
        shutil.rmtree(self.folder)

    def run(self, scenario, failing):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        state = self.folder / "state"
        env = scenarios.base_environment(folder)
        if scenario.prepare:
            scenario.prepare(folder, self.store())
        command = scenario.command(self.binaries, folder, self.target.pid)
        outcome = injection.run(command, state,
                                injection.environment(env, self.library, state, failing), folder,
                                scenario.stdin, [self.target.pid])
        return outcome, folder, state

    def store(self):
        """A report that stays."""
        if not self.stored:
            self.stored = self.folder / "stored.json"
            self.stored.touch()
            outcome, folder, _ = self.run(scenarios.SCENARIOS[0],
                                          injection.Injection("alloc", "ENOMEM", 0, 0))
            assert outcome.status == scenarios.STATUS, outcome
            shutil.move(folder / "report.json", self.stored)
        return self.stored

    def do(self, work):
        scenario = next(each for each in scenarios.SCENARIOS if each.name == work.scenario)
        outcome, folder, state = self.run(scenario, work.injection)
        ending = fault = None
        try:
            ending = scenario.check(outcome, folder, work.injection)
            if work.injection.at == 0:
                scenarios.expect(ending == "unharmed", f"it fails without a failure: {outcome}")
        except scenarios.Fault as error:
            fault = str(error)
        sites = injection.sites(state) if work.injection.at == 0 else ()
        shutil.rmtree(folder)
        return Result(work, outcome, ending, fault, sites)


def start_worker(build, binaries):
    global WORKER  # each process has its own
    WORKER = Worker(build, binaries)
    multiprocessing.util.Finalize(None, WORKER.close, exitpriority=10)


def do_work(work):
    return WORKER.do(work)


def count_calls(pool, names, kinds):
    """The calls of every scenario by kind: {(scenario, kind): call sites}."""
    works = [Work(name, injection.Injection(kind, injection.FAILURES[kind][0], 0, 0))
             for name in names for kind in kinds]
    calls = {}
    for result in pool.imap(do_work, works):
        if result.fault:
            sys.exit(f"{result.work.scenario}: {result.fault}")
        calls[result.work.scenario, result.work.injection.kind] = result.sites
    return calls


def plan(calls, most):
    return [Work(name, injection.Injection(kind, how, site, at))
            for (name, kind), sites in calls.items() for how in injection.FAILURES[kind]
            for site, at in injection.choose(sites, most)]


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
    """One row per kind of failure, in all scenarios together, and one per scenario."""
    rows = []
    for kind, name in KINDS.items():
        mine = [result for result in hits if result.work.injection.kind == kind]
        endings = collections.Counter(result.ending for result in mine)
        made = sum(len(sites) for (_, each), sites in calls.items() if each == kind)
        places = len({site for (_, each), sites in calls.items() if each == kind for site in sites})
        rows.append([name, ", ".join(injection.FAILURES[kind]), made, places, len(mine),
                     *(endings[ending] for ending in RESULTS),
                     sum(1 for result in mine if result.fault)])
    return rows


def main():
    parser = argparse.ArgumentParser(description="what does spoor do when a call fails?")
    parser.add_argument("--binaries", type=pathlib.Path, help="the folder of spoor (default: BUILD)")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these calls")
    parser.add_argument("--most", type=int, default=60, help="calls per scenario and failure")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of these")
    parser.add_argument("--only", type=parse, help="SCENARIO:KIND:HOW:SITE:N, as a fault names it")
    parser.add_argument("--write", action="store_true", help="write docs/RELIABILITY.md")
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=TOP / "build")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    binaries = (arguments.binaries or build).resolve()
    started = time.monotonic()
    names = arguments.scenario or [scenario.name for scenario in scenarios.SCENARIOS]
    groups = scenarios.cgroups()
    with multiprocessing.Pool(WORKERS, start_worker, (build, binaries)) as pool:
        if arguments.only:
            result = pool.apply(do_work, (arguments.only,))
            print(result.outcome.stderr, result.outcome.stdout, sep="\n")
            print(f"status {result.outcome.status}, {result.ending or result.fault}, in "
                  f"{injection.describe(result.outcome.frames, program_of(arguments.only.scenario, build, binaries))}")
            return 1 if result.fault else 0
        calls = count_calls(pool, names, arguments.kind or list(KINDS))
        works = plan(calls, arguments.most)[::arguments.every]
        print(f"{len(works)} runs", flush=True)
        done = []
        for result in pool.imap_unordered(do_work, works, chunksize=4):
            if result.fault:
                show_fault(result, program_of(result.work.scenario, build, binaries))
            done.append(result)
        pool.close()
        pool.join()
    hits = [result for result in done if result.outcome.is_hit]
    faults = [result for result in done if result.fault]
    left = scenarios.cgroups() - groups
    if left:
        print(f"FAULT cgroups were left: {', '.join(sorted(left))}")
    header = ["calls", "how they fail", "calls made", "call sites", "failed", *RESULTS, "faults"]
    table = results.table(header, summarize(hits, calls))
    print(table)
    print(f"{len(hits)} failures injected in {len(done)} runs, {len(faults)} faults, "
          f"{time.monotonic() - started:.0f} s")
    return 1 if faults or left else 0


if __name__ == "__main__":
    sys.exit(main())
