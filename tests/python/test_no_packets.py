# SPDX-License-Identifier: Apache-2.0
"""On a machine that is not in a cloud, the Python packages send no packets unless servers are requested."""
import shlex
import sys

import pytest

from conftest import BINARY, PACKAGES
from fake_services import DMI
from packets import NOT_A_CLOUD, count_packets_of

PYTHON = {
    "spoor": """
import spoor
with spoor.Tracker(output="python.json") as tracker:
    with spoor.phase("load"):
        pass
tracker.result.save("python.csv")
str(tracker.result), spoor.load("python.json"), spoor.snapshot(), spoor.run(["true"], output="run.csv")
""",
    "gpu_tracker": """
import gpu_tracker
with gpu_tracker.Tracker(sleep_time=0.1, tracking_file="t.csv") as tracker:
    with gpu_tracker.SubTracker("block", sub_tracking_file="s.csv"):
        pass
str(tracker), gpu_tracker.SubTrackingAnalyzer("t.csv", "s.csv").sub_tracking_results()
""",
    "resource_tracker": """
import os
from resource_tracker import ResourceTracker, get_cloud_info, get_server_info
from resource_tracker.tracker_procfs import get_process_stats, get_system_stats
with ResourceTracker(interval=0.05) as tracker:
    tracker.wait_for_samples(1)
tracker.stats(), tracker.recommend_resources(), tracker.snapshot(), tracker.dump("dump.json.gz")
get_cloud_info(), get_server_info(), get_process_stats(os.getpid()), get_system_stats()
try:
    tracker.report()
except RuntimeError as error:  # a build without the page
    assert "page" in str(error), error
""",
}
KEEPER = """
from resource_tracker import ResourceTracker
with ResourceTracker(interval=0.05) as tracker:
    tracker.wait_for_samples(1)
try:
    tracker.report(servers=3)
except RuntimeError:
    pass
"""


@pytest.fixture
def count_packets(tmp_path):
    variables = {"PYTHONPATH": str(PACKAGES), "SPOOR_BIN": str(BINARY)}
    return lambda strings, text: count_packets_of(BINARY, tmp_path, variables, strings,
                                                  f"{sys.executable} -c {shlex.quote(text)}")


@pytest.mark.parametrize("text", PYTHON.values(), ids=list(PYTHON))
def test_python_packages_send_no_packets(count_packets, text):
    assert count_packets(NOT_A_CLOUD, text) == 0


@pytest.mark.parametrize("name", ["spoor", "gpu_tracker"])
def test_python_packages_send_no_query_in_a_cloud_either(count_packets, name):
    assert count_packets(DMI["aws"], PYTHON[name]) == 0


def test_sent_packets_are_detected(count_packets):
    """Proves that the tests above would detect a packet."""
    assert count_packets(NOT_A_CLOUD, KEEPER) > 0
