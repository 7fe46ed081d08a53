#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""real.py [--programs FOLDER] [--only TEXT] [--markdown FILE] [SPOOR] - tests spoor on a real NVIDIA GPU.

Runs CUDA loads of known usage (cuda/) under spoor with its default options, runs nvidia-smi at
the same time, and compares the figures. Then compares the cost of tracking with two starts of
nvidia-smi per sample, as in the predecessors. Prints a table; exits with status 1 if a figure is
off, 77 without an NVIDIA GPU. Takes about three minutes, on an otherwise idle machine.
"""
import argparse
import datetime
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import nvidia_smi  # noqa: E402
import nvml_floor  # noqa: E402
from nvidia_smi import MIB  # noqa: E402
from real_bench import Bench, CaseFailed, meter  # noqa: E402
from real_rows import Row, format_markdown, format_table  # noqa: E402

CANNOT = 77
MEMORY_LIMIT, BUSY_LIMIT, JOB_BUSY_LIMIT, IDLE_LIMIT = 0.02, 0.03, 0.05, 0.02
COST_LIMIT_SHARE, COST_LIMIT_TIMES = 0.006, 50
COST_SECONDS, COST_INTERVAL, PREDECESSOR_SAMPLES = 23, 1, 10
FLOOR_SAMPLES = 10


class CaseSkipped(Exception):
    """Raised if this machine cannot run a case, with the reason."""


def memory_row(case, run, scope, true=None, smi=None, judged=("true", "smi")):
    figure = f"gpu.memory.{scope}_bytes"
    return Row(case, figure, run.figure(figure), true, smi, "near", MEMORY_LIMIT, judged)


def busy_row(case, run, figure, true, limit, smi=None):
    """Returns a row for utilization. nvidia-smi shows only its current value, which is shown,
    not judged."""
    path = f"gpu.{figure}.mean_gpus"
    return Row(case, path, run.figure(path), true, smi, "apart", limit, ("true",))


def energy_row(case, run):
    """Returns a row for energy, compared with an estimate: mean power while the load ran, times
    the time of the run."""
    watts = run.smi_mean("watts")
    smi = None if watts is None or run.elapsed is None else watts * run.elapsed
    return Row(case, "energy.gpu_joules", run.figure("energy.gpu_joules"), None, smi)


def the_truth(run):
    if len(run.truths) != 1:
        raise CaseFailed(f"{len(run.truths)} lines of truth, not one")
    return run.truths[0]


def busy_share(run):
    """Returns the busy share of the whole run, including the start of the program."""
    return the_truth(run)["busy_seconds"] / run.elapsed if run.elapsed else None


def plus_context(bench, *amounts):
    return None if bench.context_bytes is None else \
        sum(amounts) + len(amounts) * bench.context_bytes


def context(bench):
    """Measures the memory of a context by nvidia-smi. Other cases add this to their own memory."""
    with bench.beside(bench.command("hold", 0, 5)) as (pid, _):
        reading = nvidia_smi.read()
    bench.context_bytes = nvidia_smi.memory_of(reading, [pid])
    if bench.context_bytes is None:
        bench.notes.append("nvidia-smi tells no memory of processes: true memory is not known")
        return []
    bench.notes.append("true memory is what was asked for and a context, which alone is "
                       f"{bench.context_bytes / MIB:.0f} MiB by nvidia-smi")
    return []


def devices(bench, case, run):
    listed = (run.report.get("gpu") or {}).get("devices") or []
    known = {device.get("uuid") for device in listed if isinstance(device, dict)}
    count = len(bench.machine.uuids)
    return [Row(case, "gpu.count", run.figure("gpu.count"), count, None, "apart", 0),
            Row(case, "gpu.devices (UUIDs known)", len(known & set(bench.machine.uuids)), count,
                None, "apart", 0)]


def hold(bench):
    case = "1 GiB held"
    run = bench.track(bench.command("hold", 1024, 5))
    true = plus_context(bench, the_truth(run)["bytes"])
    return [*devices(bench, case, run),
            *(memory_row(case, run, scope, true, run.smi_memory()) for scope in
              ("main", "combined")),
            memory_row(case, run, "system", None, run.smi_peak("used_bytes")),
            energy_row(case, run)]


def spike(bench):
    """Tests spikes at three moments, so that not all coincide with a sample. The memory of the
    context is nvidia-smi's reading before the spike."""
    rows = []
    for held_ms, after_ms in ((30, 1130), (30, 1470), (30, 1810), (300, 1470)):
        run = bench.track(bench.command("spike", 4096, held_ms, after_ms, 3))
        truth = the_truth(run)
        before = nvidia_smi.memory_of(run.readings[0], run.pids) if run.readings else None
        true = None if before is None else before + truth["bytes"]
        case = f"4 GiB for {truth['held_ms']:.1f} ms, after {after_ms / 1000} s"
        rows.append(memory_row(case, run, "combined", true))
    return rows


def duty(bench):
    case = "busy half of the time"
    run = bench.track(bench.command("duty", 50, 100, 15))
    truth, smi = the_truth(run), run.smi_mean("busy_gpus")
    mean = run.figure("gpu.utilization.mean_gpus")
    in_loop = None if mean is None else mean * run.elapsed / truth["loop_seconds"]
    return [busy_row(case, run, "utilization", busy_share(run), BUSY_LIMIT, smi),
            busy_row(case, run, "job_utilization", busy_share(run), JOB_BUSY_LIMIT),
            Row(case, "utilization while it worked, mean_gpus", in_loop,
                truth["busy_seconds"] / truth["loop_seconds"], smi, "apart", BUSY_LIMIT,
                ("true",)),
            energy_row(case, run)]


def children(bench):
    case = "two children"
    run = bench.track(bench.command("children", 5, 1024, 2560), ready=2)
    true = plus_context(bench, *(truth["bytes"] for truth in run.truths))
    main = "gpu.memory.main_bytes"
    return [Row(case, main, run.figure(main), 0, None, "apart", 0),
            *(memory_row(case, run, scope, true, run.smi_memory()) for scope in
              ("descendants", "combined")),
            memory_row(case, run, "system", None, run.smi_peak("used_bytes"))]


def foreign_idle_job(bench):
    case = "1 GiB held, a foreign process busy"
    with bench.beside(bench.command("duty", 50, 100, 60)) as (_, theirs):
        run = bench.track(bench.command("hold", 1024, 8))
    true = plus_context(bench, the_truth(run)["bytes"])
    return [memory_row(case, run, "combined", true, run.smi_memory()),
            memory_row(case, run, "system", None, run.smi_peak("used_bytes")),
            busy_row(case, run, "job_utilization", 0, IDLE_LIMIT),
            busy_row(case, run, "utilization", loop_share(theirs), BUSY_LIMIT,
                     run.smi_mean("busy_gpus"))]


def foreign_busy_job(bench):
    """Each process is busy only while the other is idle: one for 0.8 s from the start of a
    period, the other for 0.4 s from 1.2 s on."""
    case = "40 % ours, 20 % and 3 GiB foreign"
    with bench.beside(bench.command("duty", 20, 2000, 60, 1200, 3072)) as (_, theirs):
        run = bench.track(bench.command("duty", 40, 2000, 16, 0, 512))
    true = plus_context(bench, the_truth(run)["bytes"])
    return [memory_row(case, run, "combined", true, run.smi_memory()),
            memory_row(case, run, "system", None, run.smi_peak("used_bytes")),
            busy_row(case, run, "job_utilization", busy_share(run), JOB_BUSY_LIMIT),
            busy_row(case, run, "utilization", busy_share(run) + loop_share(theirs), BUSY_LIMIT,
                     run.smi_mean("busy_gpus"))]


def mixed(bench):
    """Both processes are busy within each of the driver's samples, but each sample names only
    one process, so there is a warning."""
    case = "40 % ours, 20 % foreign, within 0.1 s"
    with bench.beside(bench.command("duty", 20, 100, 60, 60)) as (_, _theirs):
        run = bench.track(bench.command("duty", 40, 100, 6, 0))
    warnings = [warning["code"] for warning in run.report.get("warnings", [])]
    path = "gpu.job_utilization.mean_gpus"
    return [Row(case, path, run.figure(path), busy_share(run)),
            Row(case, "warnings gpu-shared", warnings.count("gpu-shared"), 1, None, "near", 0,
                ("true",))]


def loop_share(truths):
    if len(truths) != 1:
        raise CaseFailed("the foreign process did not say what it did")
    return truths[0]["busy_seconds"] / truths[0]["loop_seconds"]


def torch(bench):
    """The memory of the context is known only from the device's memory, so it is shown, not
    judged."""
    case = "PyTorch matrix product"
    found = subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False)
    if found.returncode != 0:
        raise CaseSkipped((found.stderr.strip().splitlines() or ["no PyTorch"])[-1])
    run = bench.track([sys.executable, HERE / "cuda/torch_matmul.py", 10])
    truth, smi = the_truth(run), run.smi_mean("busy_gpus")
    bench.notes.append(f"PyTorch {truth['torch']}, {truth['products']} products")
    return [memory_row(case, run, "combined", truth["reserved_bytes"] + truth["context_bytes"],
                       run.smi_memory(), ("smi",)),
            busy_row(case, run, "utilization", busy_share(run), BUSY_LIMIT, smi),
            busy_row(case, run, "job_utilization", busy_share(run), JOB_BUSY_LIMIT),
            energy_row(case, run)]


def floor(bench, smi_cpu, smi_wall):
    """Measures the cost of the driver itself: the minimum for any tracker that calls it for each
    sample."""
    case = "cost, the driver's own calls"
    try:
        cpu, wall = nvml_floor.cost(FLOOR_SAMPLES)
    except OSError as error:
        bench.notes.append(f"{case}: not measured: {error}")
        return []
    bench.notes.append(f"{case}: memory, processes and the buffered samples of both, once a second, "
                       f"mean of {FLOOR_SAMPLES}")
    return [Row(case, "per sample, cpu_seconds", cpu, None, smi_cpu, "times"),
            Row(case, "per sample, wall_seconds", wall, None, smi_wall, "times")]


def times_rows(case, what, ours, cpu, wall):
    return [Row(case, f"{what}, cpu_seconds", ours, None, cpu, "times", COST_LIMIT_TIMES),
            Row(case, f"{what}, wall_seconds", ours, None, wall, "times", COST_LIMIT_TIMES)]


def cost(bench):
    """Measures the cost per sample while the job runs, excluding the start and the end of the
    tracker."""
    with bench.beside(bench.command("hold", 256, 60)):
        cpu, wall = nvidia_smi.predecessor_cost(PREDECESSOR_SAMPLES)
        rows = floor(bench, cpu, wall)
    settling = bench.cost_seconds / 2
    for case, command, ready in (
            ("cost, job that computes", bench.command("duty", 50, 100, bench.cost_seconds), 1),
            ("cost, job with a context", bench.command("hold", 256, bench.cost_seconds), 1),
            ("cost, job without", ["sleep", str(bench.cost_seconds)], 0)):
        run = bench.track(command, ("-i", str(COST_INTERVAL)), ready,
                          meter(settling, 0.9 * bench.cost_seconds - settling))
        spent, elapsed = run.figure("tracker.cpu_seconds"), run.elapsed
        begin, end = run.readings
        settled_share = (end.cpu - begin.cpu) / (end.at - begin.at)
        rows += [Row(case, "whole run, tracker_cpu_share",
                     spent / elapsed if spent and elapsed else None, judge="most",
                     limit=COST_LIMIT_SHARE),
                 Row(case, "settled, tracker_cpu_share", settled_share, judge="most",
                     limit=COST_LIMIT_SHARE),
                 *times_rows(case, "per sample", settled_share * COST_INTERVAL, cpu, wall)]
        if end.gpu_looks - begin.gpu_looks > end.at - begin.at:  # with fewer looks, the cost per look is unreliable
            rows += times_rows(case, "per look at the GPU", (end.gpu_cpu - begin.gpu_cpu) /
                               (end.gpu_looks - begin.gpu_looks), cpu, wall)
    bench.notes.append("cost per sample under nvidia-smi: the two starts of it that gpu_tracker "
                       f"makes, mean of {PREDECESSOR_SAMPLES} samples")
    bench.notes.append("cost per sample of spoor: its CPU time in the second half of a run of "
                       f"{bench.cost_seconds:g} s, all looks between samples included; per look: "
                       "that of the thread that asks the driver, by the times it woke up; wall time "
                       "is not measured, CPU time stands for it")
    return rows


CASES = {"context": context, "hold": hold, "spike": spike, "duty": duty, "children": children,
         "foreign-idle-job": foreign_idle_job, "foreign-busy-job": foreign_busy_job, "mixed": mixed,
         "torch": torch, "cost": cost}


def run_case(name, bench):
    """Returns the rows of a case, even after a failure; a skipped case yields a note."""
    try:
        return CASES[name](bench)
    except CaseSkipped as reason:
        bench.notes.append(f"{name} skipped: {reason}")
        return []
    except CaseFailed as fault:
        return [Row(name, "run", None, fault=str(fault))]
    except Exception as error:  # the other cases still run
        return [Row(name, "run", None, fault=f"{type(error).__name__}: {error}")]


def run_all(bench, names):
    rows = []
    for name in names:
        started = time.monotonic()
        found = run_case(name, bench)
        rows += found
        print(f"{name}: {time.monotonic() - started:.0f} s, {len(found)} figures, "
              f"{sum(row.is_failed for row in found)} failed", file=sys.stderr, flush=True)
    return rows


def build(folder):
    """Compiles the programs, unless --programs provides them."""
    subprocess.run([HERE / "build-cuda", folder], check=True)
    return folder


def heading(bench):
    names = ", ".join(sorted(set(bench.machine.names))) or "no GPU"
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return f"{today}: {len(bench.machine.names)} x {names}, driver {bench.machine.driver}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spoor", type=pathlib.Path, nargs="?", help="the binary (build/spoor)",
                        default=HERE.parent.parent / "build/spoor")
    parser.add_argument("--programs", type=pathlib.Path,
                        help="folder of built CUDA loads; without it nvcc builds them")
    parser.add_argument("--only", default="", help="cases whose name has this in it: "
                        + ", ".join(CASES))
    parser.add_argument("--cost-seconds", type=float, default=COST_SECONDS,
                        help="how long a run is whose cost is measured (%(default)s)")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table to this file, too")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    # Exits through Python on SIGTERM, so that the started processes are ended.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        nvidia_smi.read_machine()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"real.py: needs an NVIDIA GPU: {error}", file=sys.stderr)
        return CANNOT
    with tempfile.TemporaryDirectory(prefix="spoor-gpu-") as name:
        home = pathlib.Path(name)
        programs = arguments.programs or build(home / "programs")
        bench = Bench(arguments.spoor.absolute(), programs.absolute(), home,
                      arguments.cost_seconds)
        rows = run_all(bench, [name for name in CASES
                               if arguments.only in name or name == "context"])
    print(heading(bench))
    print("\n".join([*format_table(rows), *bench.notes]))
    if arguments.markdown:
        arguments.markdown.write_text(format_markdown(rows, heading(bench), bench.notes))
    failed = sum(row.is_failed for row in rows)
    print(f"{len(rows)} figures, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
