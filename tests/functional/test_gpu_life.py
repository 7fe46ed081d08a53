# SPDX-License-Identifier: Apache-2.0
"""Which GPU processes belong to the job, and when they are read, with a stand-in for NVIDIA's
library."""
import pytest

from conftest import eventually, read_line, value
from gpus import GIB, LOOP, QUICK, SLOW, Run, card

pytestmark = pytest.mark.any_user

# Disables process events, as in many containers.
BLIND = "ring,connector"
# A shell that waits for a child, which computes until end of file on its input.
PARENT = ("bash", "-c", "bash -c 'echo $$; until read -t 0; do :; done'; :")


def test_a_computing_child_keeps_the_job_active(spoor, machine):
    """No sample has seen the child, but a glance has."""
    machine.play(card(0))
    run = Run(spoor, machine, "-i", "1h", command=PARENT, SPOOR_DISABLE=BLIND)
    machine.play(f"process 0 compute {run.pid} {GIB}")
    # An idle job gets only slow looks, which make this call three times.
    eventually(lambda: machine.calls(QUICK) > 3 * machine.calls(SLOW) + 10, "quick looks")
    assert value(run.end(), "gpu.memory.descendants_bytes") == GIB


def test_a_child_seen_by_a_glance_belongs_to_the_job_after_its_exit(spoor, machine):
    """The child's work appears in the driver's samples when its parents can no longer be read."""
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
