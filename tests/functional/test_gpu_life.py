# SPDX-License-Identifier: Apache-2.0
"""Who is the job's on GPUs, and when they are looked at, against a stand-in for NVIDIA's
library."""
import pytest

from conftest import eventually, read_line, value
from gpus import GIB, LOOP, QUICK, SLOW, Run, card

pytestmark = pytest.mark.any_user

# No process events: as in many containers.
BLIND = "ring,connector"
# Waits for its child, which computes until its input ends.
PARENT = ("bash", "-c", "bash -c 'echo $$; until read -t 0; do :; done'; :")


def test_a_child_that_computes_keeps_its_resting_parent_from_rest(spoor, machine):
    """Though no sample has seen it: a glance has."""
    machine.play(card(0))
    run = Run(spoor, machine, "-i", "1h", command=PARENT, SPOOR_DISABLE=BLIND)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    # Of one that rests there are only slow looks, which ask three times.
    eventually(lambda: machine.calls(QUICK) > 3 * machine.calls(SLOW) + 10, "quick looks")
    assert value(run.end(), "gpu.memory.descendants_bytes") == GIB


def test_a_child_that_a_glance_has_seen_is_the_jobs_after_its_end(spoor, machine):
    """What it did shows up in the driver's samples when nobody can ask for its parents."""
    machine.play(card(0), "stream 0 gpu 200 50")
    run = Run(spoor, machine, "-i", "1h", SPOOR_DISABLE=BLIND,
              command=("bash", "-c", f"bash -c 'echo $$; until read -t 0; do :; done'; "
                                     f"read; echo; {LOOP}"))
    machine.wait_for(QUICK, times=4)
    run.process.stdin.write(b"\n")
    run.process.stdin.flush()
    assert read_line(run.process.stdout) == ""
    machine.play(f"busy 0 {run.pid} 200 30")
    machine.wait_for(QUICK, times=2)
    assert value(run.end(), "gpu.job_utilization.max_gpus") > 0
