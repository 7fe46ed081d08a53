#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py FUZZ - runs every target under libFuzzer, and writes the results to docs/RELIABILITY.md.

Variables: FUZZ_SECONDS for each target (60), FUZZ_TARGETS (names; all), FUZZ_SEED (random). An input that makes a
target fail is added to tests/fuzz/corpus/TARGET, where `make test` finds it: give it a descriptive name. Inputs that
libFuzzer finds interesting are kept next to FUZZ and used again.
"""
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "torture"))
import results  # noqa: E402
import seeds  # noqa: E402

# libFuzzer checks for leaks after each input that did not free all its allocations. Another check
# at the end takes seconds on aarch64.
SANITIZERS = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:detect_leaks=1:leak_check_at_exit=0",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:abort_on_error=1"}
INPUT_SECONDS_MAX = 5
# The kind of input of the targets in each targets_*.c.
AREAS = {"proc": "files of `/proc/PID`", "host": "files of the machine", "cgroup": "cgroups and systemd",
         "events": "events of the kernel", "gpu": "files of GPU drivers", "nvml": "NVIDIA's library",
         "text": "text formats", "record": "reports, samples, catalogues", "store": "files of gpu-tracker",
         "front": "command lines, config files, requests", "net": "responses of servers",
         "machine": "whole machines"}


def environment(target, scratch):
    return {**os.environ, **SANITIZERS, "FUZZ_TARGET": target, "TMPDIR": str(scratch)}


def is_confirmed(program, artifact, target, scratch):
    """Returns whether an input is slow by CPU time, which does not depend on other load."""
    command = ["prlimit", f"--cpu={INPUT_SECONDS_MAX + 1}", program, "-timeout=0", artifact]
    return not artifact.name.startswith("timeout") or subprocess.run(
        command, env=environment(target, scratch), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0


def keep_artifacts(program, folder, target, scratch):
    """Copies the inputs that made a target fail to the corpus. Returns their names."""
    names = []
    for artifact in sorted(folder.iterdir()):
        if artifact.name.startswith("slow-unit") or \
                not is_confirmed(program, artifact, target, scratch):
            continue
        corpus = HERE / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        names.append(artifact.name[:20])
        shutil.copyfile(artifact, corpus / names[-1])
    return names


def read_output(text):
    """Returns the final statistics of libFuzzer: (executions, executions per second, edges
    covered)."""
    def last(pattern):
        found = re.findall(pattern, text)
        return int(found[-1]) if found else 0
    return (last(r"stat::number_of_executed_units:\s+(\d+)") or last(r"^#(\d+)\b"),
            last(r"stat::average_exec_per_sec:\s+(\d+)"), last(r"\bcov: (\d+)"))


def fuzz(program, target, seconds, seed, inputs, scratch):
    """Runs one target. Returns a row of the table and, after a failure, the output."""
    found, artifacts = program.parent / "found" / target, scratch / f"artifacts-{target}"
    folders = [found, HERE / "corpus" / target, inputs / target]
    found.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir()
    done = subprocess.run(
        [program, f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}", f"-max_len={seeds.MAX}",
         "-rss_limit_mb=2048", f"-seed={seed}", "-print_final_stats=1", f"-artifact_prefix={artifacts}/",
         *[folder for folder in folders if folder.is_dir()]],
        env=environment(target, scratch), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    failures = keep_artifacts(program, artifacts, target, scratch)
    if done.returncode != 0 and not any(artifacts.iterdir()):
        failures = [f"status {done.returncode}"]
    row = [target, *read_output(done.stdout), len(failures)]
    print(f"{target:<22} {row[1]:>10} executions {row[2]:>7}/s {row[3]:>6} edges "
          f"{', '.join(failures) or 'clean'}", flush=True)
    return row, done.stdout[-6000:] if failures else ""


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    seconds = int(os.environ.get("FUZZ_SECONDS", "60"))
    seed = int(os.environ.get("FUZZ_SEED", random.randrange(1, 1 << 31)))
    everything = subprocess.run([program, "list"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.split()
    targets = os.environ.get("FUZZ_TARGETS", "").split() or everything
    print(f"{len(targets)} targets, {seconds} s each, FUZZ_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spoor-fuzz-", dir=seeds.MEMORY) as name:
        scratch = pathlib.Path(name)
        seeds.collect(scratch / "seeds")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            outcomes = list(pool.map(lambda target: fuzz(program, target, seconds, seed,
                                                         scratch / "seeds", scratch), targets))
    rows = [row for row, _ in outcomes]
    for (target, *_), said in outcomes:
        if said:
            print(f"\n==== {target}\n{said}")
    crashes = sum(row[4] for row in rows)
    print(f"{sum(row[1] for row in rows)} executions, {crashes} inputs not survived")
    if targets == everything:
        write_results(rows, seconds, seed)
    return 1 if crashes else 0


def area_of(target):
    """Returns the area of a target, which is determined by the file that defines it."""
    return next((name for file, name in AREAS.items()
                 if f'{{ "{target}", ' in (HERE / f"targets_{file}.c").read_text()), "others")


def totals(rows, find_area=area_of):
    """Returns one row per area, and a row for the total: [area, targets, executions, crashes]."""
    areas = {}
    for target, executions, _, _, crashes in rows:
        for area in (find_area(target), "all"):
            total = areas.setdefault(area, [0, 0, 0])
            total[:] = [total[0] + 1, total[1] + executions, total[2] + crashes]
    areas["all"] = areas.pop("all")
    return [[area, *total] for area, total in areas.items()]


def write_results(rows, seconds, seed):
    header = ["input", "targets", "executions", "crashes, leaks, hangs"]
    results.write("fuzz", f"{time.strftime('%Y-%m-%d')}, {os.uname().machine}: {seconds} s for each target, "
                          f"seed {seed}. An input that takes more than {INPUT_SECONDS_MAX} s counts as a "
                          f"hang.\n\n" + results.table(header, totals(rows)))


if __name__ == "__main__":
    sys.exit(main())
