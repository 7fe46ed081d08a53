# SPDX-License-Identifier: Apache-2.0
"""ranks.py - measures the total cost of the trackers on a full node: one `spoor run` for each
rank of a Slurm step.

Memory is measured as PSS, so program pages that all trackers map count once.
"""
import contextlib
import os
import statistics
import time

import machine
from rows import Row

RANKS = 64
SECONDS = 20
SETTLING_SECONDS = 8  # samples and glances are more frequent at first
TOGETHER_PERCENT = 3.0
EACH_PERCENT = 0.05
EACH_MB = 4.0


def environment(rank, ranks):
    """Returns the variables that srun sets on one node."""
    return {**os.environ, "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank),
            "SLURM_LOCALID": str(rank), "SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_NTASKS": str(ranks),
            "SLURM_NODEID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_TASKS_PER_NODE": str(ranks)}


@contextlib.contextmanager
def trackers(bench, count, folder):
    """Starts a tracker for each rank; the job of each is one sleeping process. Yields the PIDs
    of the trackers."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(machine.started(
            [bench.spoor, "run", "-q", "-i", "1", "-o", str(folder / f"{rank}.json"), "--", "sleep", "600"],
            env=environment(rank, count))).pid for rank in range(count)]


def pss_mb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:")) / 1e6


def ranks(bench):
    """Measures the trackers once they have settled."""
    count, seconds = bench.much(RANKS, 8), bench.much(SECONDS, 5)
    with machine.scratch() as folder, trackers(bench, count, folder) as pids:
        time.sleep(SETTLING_SECONDS)
        before, start = [machine.cpu_seconds(pid) for pid in pids], time.monotonic()
        time.sleep(seconds)
        used = [machine.cpu_seconds(pid) - then for pid, then in zip(pids, before)]
        passed = time.monotonic() - start
        memory = [pss_mb(pid) for pid in pids]
        resident = [machine.resident_bytes(pid)[0] / 1e6 for pid in pids]
    percent = [cpu / passed * 100 for cpu in used]
    return [Row(f"CPU of {count} trackers at 1 s, one sleeping process each", "%", sum(percent), None,
                TOGETHER_PERCENT * count / RANKS),
            Row("of each of them", "%", statistics.median(percent), None, EACH_PERCENT, "",
                statistics.pstdev(percent) / count ** 0.5, {"most": max(percent)}),
            Row("memory of each of them (PSS)", "MB", max(memory), None, EACH_MB, "", 0.0,
                {"resident": max(resident)})]
