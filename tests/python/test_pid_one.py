# SPDX-License-Identifier: Apache-2.0
"""A program that is PID 1, as in a container without an init, adopts the agents that it starts. It reaps these
agents and leaves its other children alone.
"""
import subprocess

import pytest

from fake_services import UNSHARE

pytestmark = pytest.mark.any_user

AS_PID_ONE = [*UNSHARE, "--pid", "--fork", "--mount-proc", "--kill-child"]

# Prints one line per child of this process that has not been reaped.
ZOMBIES = """\
import os, subprocess, sys
import spoor._agent

assert os.getpid() == 1
spoor._agent._REAP_SECONDS = 60  # an agent that is slow to exit is not a stopped one
user = subprocess.Popen(["cat"], stdin=subprocess.PIPE)

def check():
    for name in filter(str.isdigit, os.listdir("/proc")):
        with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        if int(name) not in (1, user.pid) and fields[1] == "1":
            print("child", name, fields[0])
    user.stdin.close()
    assert os.wait() == (user.pid, 0), "os.wait() returned another child"
    try:
        print("os.wait() returned", os.wait())
    except ChildProcessError:
        print("no other child")
"""

PROGRAMS = {
    "spoor": """
import spoor
for _ in range(6):
    with spoor.Tracker(interval=0.05) as tracker:
        pass
    assert tracker.result.run.pid == 1
spoor.snapshot()
spoor.run(["true"])
""",
    "gpu_tracker, abandoned": """
import gpu_tracker
for _ in range(6):
    gpu_tracker.Tracker(disable_logs=True).start()
""",
    "spoor, all at once": """
import spoor
trackers = [spoor.Tracker(interval=0.05) for _ in range(6)]
for tracker in trackers:
    tracker.start()
for tracker in trackers:
    tracker.stop()
""",
    "gpu_tracker": """
import gpu_tracker
for number in range(6):
    with gpu_tracker.Tracker(sleep_time=0.1, disable_logs=True, tracking_file=f"{number}.csv"):
        with gpu_tracker.SubTracker("block", sub_tracking_file=f"sub{number}.csv"):
            pass
gpu_tracker.SubTrackingAnalyzer("0.csv", "sub0.csv").sub_tracking_results()
""",
    "resource_tracker": """
from resource_tracker import ResourceTracker, get_cloud_info
for _ in range(6):
    with ResourceTracker(interval=0.05) as tracker:
        tracker.wait_for_samples(1)
    tracker.stats(), tracker.recommend_resources(), tracker.server_info, tracker.cloud_info
get_cloud_info()
""",
    "resource_tracker, nothing read": """
from resource_tracker import ResourceTracker
for _ in range(6):
    ResourceTracker(interval=0.05).stop()
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_agents_of_pid_one_are_reaped(script, program):
    if subprocess.run([*AS_PID_ONE, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    out = script(f"{ZOMBIES}{program}check()\n", prefix=AS_PID_ONE)
    assert out.splitlines() == ["no other child"]


def test_a_stopped_agent_of_pid_one_is_reaped_later(script):
    """An agent that does not exit in time is left alone, and reaped when the next agent starts."""
    if subprocess.run([*AS_PID_ONE, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    out = script(ZOMBIES + """
import signal, spoor

spoor._agent._REAP_SECONDS = 0.05
tracker = spoor.Tracker()
tracker.start()
pid = tracker._agent.adopted
os.kill(pid, signal.SIGSTOP)
tracker._agent.close()
assert spoor._agent._unreaped == [pid]
os.kill(pid, signal.SIGCONT)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
spoor._agent._REAP_SECONDS = 60
spoor.snapshot()
assert spoor._agent._unreaped == []
check()
""", prefix=AS_PID_ONE)
    assert out.splitlines() == ["no other child"]
