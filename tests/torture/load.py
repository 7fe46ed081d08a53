#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""load.py [--only CASE] [--write] [SPOOR] - jobs and machines at their limits. Needs root.

Each case runs a job that measures its own usage, and compares the report with the job's figures:

- crowd: 5,000 processes at once.
- fork bomb: as many processes as a cgroup allows, tracker included.
- memory: a job that uses more memory than its cgroup allows. The kernel kills it.
- busy machine: 50 busy processes beside the job.
- stepped clock: the time of day jumps by an hour every 50 ms (LD_PRELOAD; the machine's clock is
  not set).
- stopped job, stopped tracker: SIGSTOP for a second, then SIGCONT.
- reused pids: a PID namespace with 10 PIDs, in which successive processes have the same PID,
  with each set of sources.

Exits with status 0 if all reports are correct. --write writes the table to docs/RELIABILITY.md.
"""
import argparse
import contextlib
import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import leftovers
import results

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
TIMEOUT_SECONDS = 120


class Setup:
    """The program under test, and a folder for the jobs and their files."""

    def __init__(self, binary, folder):
        self.binary = str(pathlib.Path(binary).resolve())
        self.folder = folder

    def build(self, name, *options):
        path = self.folder / name
        subprocess.run([shutil.which("cc") or "gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", *options, "-o",
                        path, HERE / "programs" / f"{name}.c"], check=True)
        return path

    def start(self, *command, options=(), wrapper=(), **popen):
        """Starts `spoor run` around a job, with pipes."""
        for name in ("r.json", "s.csv"):
            (self.folder / name).unlink(missing_ok=True)
        return subprocess.Popen([*wrapper, self.binary, "run", "-q", "-o", self.folder / "r.json", "--samples",
                                 self.folder / "s.csv", *options, "--", *map(str, command)], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder, **popen)

    def finish(self, process):
        """Returns the rest of the job's output, the report, and the exit status."""
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        path = self.folder / "r.json"
        return out.split(), json.loads(path.read_text()) if path.exists() else None, process.returncode

    def rows(self):
        with open(self.folder / "s.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class Skip(Exception):
    """Raised if this machine cannot run the case."""


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def expect_near(what, measured, truth, relative, absolute):
    expect(measured is not None and abs(measured - truth) <= relative * truth + absolute,
           f"{what}: {measured} reported, {truth} is true")


def value(figure):
    return figure["value"]


def expect_cpu(report, microseconds):
    """Checks CPU time. A job cannot measure its own start and exit."""
    expect_near("CPU time", value(report["cpu"]["total_seconds"]), microseconds / 1e6, 0.03, 0.03)


@contextlib.contextmanager
def limited(tree, limits):
    """Creates a cgroup of version 1 with limits, and reads these back. At the end, kills its
    processes."""
    own = [folder for folder in leftovers.own_folders() if folder.is_relative_to(leftovers.CGROUPS / tree)]
    if not own:
        raise Skip(f"no cgroup tree '{tree}'")
    folder = own[0] / f"load-{os.getpid()}"
    folder.mkdir()
    try:
        for name, limit in limits.items():
            (folder / name).write_text(str(limit))
            expect((folder / name).read_text().strip() == str(limit), f"{name} is not set")
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        leftovers.wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the end of the job")
        for path in [*leftovers.below(folder), folder]:
            path.rmdir()


def inside(folder):
    """Returns a prefix that runs a command in a cgroup."""
    return ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]


# ---- the cases: each returns its result as text --------------------------------------------------------

def run_crowd(setup):
    count = 5000
    process = setup.start(setup.build("crowd"), count, options=["-i", "200ms"])
    expect(process.stdout.readline() == "ready\n", "the crowd could not start")
    seen = leftovers.wait_for(lambda: max_of(setup, "job_processes", count + 1), "a sample of all")
    out, report, status = setup.finish(process)
    expect(status == 0, f"status {status}")
    expect(seen == count + 1, f"a sample has {seen} processes")
    for what in ("started", "max_concurrent"):
        expect(value(report["processes"][what]) == count + 1, f"{what}: {report['processes'][what]}")
    expect_cpu(report, int(out[-1]))
    return f"{count:,} processes at once: all counted; tracker {report['tracker']['cpu_seconds']:.2f} s of " \
           f"CPU, {report['tracker']['max_rss_bytes'] / 1e6:.1f} MB"


def max_of(setup, column, at_least):
    """Returns the largest value so far, once it is large enough."""
    with contextlib.suppress(FileNotFoundError, KeyError):
        values = [int(row[column]) for row in setup.rows() if row[column]]
        if values and max(values) >= at_least:
            return max(values)
    return None


def run_fork_bomb(setup):
    limit = 300
    with limited("pids", {"pids.max": limit}) as folder:
        process = setup.start(setup.build("fork_bomb"), 2000, options=["-i", "50ms"], wrapper=inside(folder))
        out, report, status = setup.finish(process)
    started, peak, refused = map(int, out)
    expect(status == 0, f"status {status}")
    expect(refused > 0, "fork never failed")
    expect(value(report["processes"]["started"]) == started + 1,
           f"started: {report['processes']['started']}, {started + 1} is true")
    found = value(report["processes"]["max_concurrent"])
    # Zombies still exist for the kernel, but have exited for the job.
    expect(peak // 2 <= found <= limit, f"max_concurrent: {found}; {peak} of {limit} is true")
    return f"{started:,} processes, {refused:,} forks refused at a limit of {limit}: all counted"


def run_memory(setup):
    limit = 64 << 20
    with limited("memory", {"memory.limit_in_bytes": limit}) as folder:
        process = setup.start(setup.build("exhaust_memory"), options=["-i", "50ms"], wrapper=inside(folder))
        _, report, status = setup.finish(process)
    expect(status == 128 + signal.SIGKILL, f"status {status}: the job was not killed by the kernel")
    expect(value(report["events"]["oom_kills"]) == 1, f"{report['events']['oom_kills']}")
    expect(any(warning["code"].startswith("oom") for warning in report["warnings"]), "no warning of it")
    expect(report["limits"]["memory_bytes"] == limit, f"limit: {report['limits']}")
    peak = value(report["memory"]["combined"]["total_rss_bytes"])
    expect(0.7 * limit <= peak <= limit, f"peak: {peak}, limit {limit}")
    return f"killed by the kernel at {limit >> 20} MiB: 1 OOM kill reported, peak {peak / 1e6:.1f} MB"


def run_busy_machine(setup):
    burn = setup.build("burn")
    with leftovers.busy_loops(50, "nice", "-n", "19"):
        started = time.monotonic()
        process = setup.start(burn, 1000, options=["-i", "100ms"])
        out, report, status = setup.finish(process)
        elapsed = time.monotonic() - started
    expect(status == 0, f"status {status}")
    expect_cpu(report, int(out[-1]))
    expect(report["run"]["elapsed_seconds"] <= elapsed, "it cannot have taken longer than we waited")
    load = os.getloadavg()[0]
    return f"1 s of CPU time beside 50 busy processes (load average {load:.0f}): " \
           f"{value(report['cpu']['total_seconds']):.3f} s reported, {report['run']['samples']} samples, " \
           f"{report['tracker']['late_samples']} late"


def run_stepped_clock(setup):
    library = setup.build("stepped_clock", "-shared", "-fPIC")
    started = time.monotonic()
    process = setup.start(setup.build("burn"), 1000, options=["-i", "20ms"],
                          env={**os.environ, "LD_PRELOAD": str(library)})
    out, report, status = setup.finish(process)
    elapsed = time.monotonic() - started
    expect(status == 0, f"status {status}")
    expect_cpu(report, int(out[-1]))
    expect(1 <= report["run"]["elapsed_seconds"] <= elapsed, f"elapsed: {report['run']['elapsed_seconds']} s")
    rows = setup.rows()
    times = [float(row["elapsed_seconds"]) for row in rows]
    expect(times == sorted(times) and times[-1] <= elapsed, "elapsed_seconds of samples")
    stamps = [float(row["timestamp"]) for row in rows]
    return f"{len(rows)} samples within {elapsed:.1f} s; elapsed times right; time stamps span " \
           f"{max(stamps) - min(stamps):.0f} s"


def run_stopped(setup, is_tracker):
    process = setup.start(setup.build("burn"), 700, options=["-i", "50ms"])
    pid = process.pid if is_tracker else int(process.stdout.readline())
    started = time.monotonic()
    leftovers.wait_for(lambda: len(setup.rows()) >= 4 if (setup.folder / "s.csv").exists() else 0, "samples")
    os.kill(pid, signal.SIGSTOP)
    leftovers.wait_for(lambda: state_of(pid) == "T", "the stop")
    stopped = time.monotonic()
    time.sleep(1)  # the length of the stop is the known truth
    os.kill(pid, signal.SIGCONT)
    stopped = time.monotonic() - stopped
    out, report, status = setup.finish(process)
    elapsed = time.monotonic() - started + 1
    expect(status == 0, f"status {status}")
    expect_cpu(report, int(out[-1]))
    expect(stopped <= report["run"]["elapsed_seconds"] <= elapsed, f"elapsed: {report['run']}")
    expect(report["run"]["samples"] <= report["run"]["elapsed_seconds"] / 0.05 + 3,
           f"missed samples were made up for: {report['run']['samples']}")
    return f"stopped for 1 s: CPU time and {report['run']['elapsed_seconds']:.2f} s elapsed right, " \
           f"{report['run']['samples']} samples, {report['tracker']['late_samples']} late"


def state_of(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return None


def run_stopped_job(setup):
    return run_stopped(setup, False)


def run_stopped_tracker(setup):
    return run_stopped(setup, True)


TICK_SECONDS = 0.011  # the resolution of start times, rounded up
LONG_SECONDS = 0.1
NO_EVENTS = "cgroup,perf,ring,connector,taskstats"
PID_MAX = 310  # pids below 300 are assigned once, at the start
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             f'echo {PID_MAX} >/proc/sys/kernel/pid_max && exec "$@"', "sh"]


def check_reuse(report, out):
    """Checks that the table lists the real processes. They ran one after the other; without exit
    records (taskstats does not work in PID namespaces) their CPU time is estimated from the last
    look."""
    true = {f"long-{out[i]}": (int(out[i]), int(out[i + 1])) for i in range(0, len(out) - 2, 3)}
    started = report["processes"]["started"]
    expect(len({pid for _, pid in true.values()}) < len(true) / 2, "pids were not reused")
    expect_cpu(report, int(out[-1]))
    expect(value(started) == int(out[-2]) or not started["exact"], f"started: {started}, {out[-2]} is true")
    named = sorted((process for process in report["processes"]["largest"]
                    if process["name"].startswith("long-")), key=lambda process: true[process["name"]])
    expect([process["name"] for process in named] == list(true),
           f"{len(named)} of {len(true)} long processes are in the table, each once")
    last_begin = -LONG_SECONDS
    for process in named:
        number, pid = true[process["name"]]
        begin, end = process["started_seconds"], process["ended_seconds"]
        expect(process["pid"] == pid, f"{process['name']}: pid {process['pid']}, {pid} is true")
        expect(process["exit_code"] in (number, None), f"{process['name']}: exit code {process['exit_code']}")
        expect(last_begin + LONG_SECONDS <= begin + TICK_SECONDS <= end, f"{process['name']} from {begin} to "
               f"{end} s, and the one before from {last_begin} s")
        expect(0.25 * LONG_SECONDS <= process["cpu_seconds"] <= end - begin + TICK_SECONDS,
               f"{process['name']}: {process['cpu_seconds']} s of CPU in {end - begin} s")
        last_begin = begin
    for process in report["processes"]["largest"]:  # the parent, and processes that exit at once
        expect(process in named or process["parent_pid"] == 1 or process["cpu_seconds"] < LONG_SECONDS / 2,
               f"not of one process: {process}")


def run_reused_pids(setup):
    if subprocess.run([*NAMESPACE, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0 or \
            int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) == PID_MAX:
        raise Skip("pid_max is not per pid namespace: Linux 6.14")
    job = setup.build("reuse_pids")
    count, said = 15, []
    # With few descriptors, files of processes are not kept open, and each look opens them by PID.
    for disabled, files in (("", None), ("cgroup", None), ("cgroup,perf", None), (NO_EVENTS, None),
                            (NO_EVENTS, 24)):
        wrapper = [*NAMESPACE, *(["prlimit", f"--nofile={files}:{files}"] if files else [])]
        process = setup.start(job, count, int(LONG_SECONDS * 1000), options=["-i", "10ms"], wrapper=wrapper,
                              env={**os.environ, "SPOOR_DISABLE": disabled})
        out, report, status = setup.finish(process)
        try:
            expect(status == 0, f"status {status}")
            check_reuse(report, out)
        except AssertionError as error:
            raise AssertionError(f"SPOOR_DISABLE={disabled}, descriptors {files}: {error}") from error
        started = report["processes"]["started"]
        said.append(f"{value(started):,} of {int(out[-2]):,} ({started['source']})")
    return f"{count} processes with the same pid were kept apart; counted: {', '.join(said)}"


CASES = {"crowd": run_crowd, "fork bomb": run_fork_bomb, "memory": run_memory,
         "busy machine": run_busy_machine, "stepped clock": run_stepped_clock,
         "stopped job": run_stopped_job, "stopped tracker": run_stopped_tracker,
         "reused pids": run_reused_pids}


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=__doc__.split(" - ", 1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("spoor", nargs="?", default=TOP / "build/spoor")
    arguments = parser.parse_args()
    rows, failed = [], 0
    for name in arguments.only or CASES:
        with tempfile.TemporaryDirectory(prefix="load-") as home:
            try:
                rows.append([name, CASES[name](Setup(arguments.spoor, pathlib.Path(home)))])
            except Skip as reason:
                rows.append([name, f"not run: {reason}"])
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed += 1
                rows.append([name, f"FAILED: {error}"])
        print(": ".join(rows[-1]), flush=True)
    if not failed and arguments.write:
        results.write("load", results.table(["case", "result"], rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
