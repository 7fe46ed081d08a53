# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves a machine that is not in a cloud: counted in a network namespace where every packet, to
any address, goes through the loopback interface."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import DEADLINE_SECONDS, NO_METADATA
from fake_services import DMI, with_dmi

# Prints how many packets were sent, after the output of the command.
COUNT = """\
PATH=$0:$PATH:/usr/sbin:/sbin
ip link set lo up && ip route add default dev lo || exit 125
{ eval "$1"; } >/dev/null 2>&1
echo "$? $(sed -n 's/^ *lo: *//p' /proc/net/dev | awk '{ print $10 }')"
"""
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
NOT_A_CLOUD = {"sys_vendor": "QEMU", "product_name": "Standard PC"}
NO_KEEPER = {"SPOOR_KEEPER_URL": "http://127.0.0.1:1"}  # a request is a packet all the same


@pytest.fixture
def count_packets(spoor, tmp_path):
    """Runs a line of shell on a machine with these DMI strings and returns how many packets it sent."""
    def count(strings, line):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("spoor", "gpu-tracker", "resource-tracker"):
            (folder / name).symlink_to(spoor.binary)
        for name in ("tracking.csv", "phases.csv"):
            shutil.copy(TOP / "tests/functional/sub_track" / name, tmp_path)
        subprocess.run([spoor.binary, "run", "-q", "-o", tmp_path / "run.json", "--", "true"], check=True)
        prefix = with_dmi(tmp_path, strings, "--net")
        if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip("namespaces are refused")
        environment = {key: text for key, text in os.environ.items()
                       if not key.startswith(("SENTINEL_", "TRACKER_"))}
        environment.update(NO_METADATA, **NO_KEEPER, XDG_CACHE_HOME=str(tmp_path), PYTHONPATH=str(TOP / "python"),
                           SPOOR_BIN=str(spoor.binary))
        done = subprocess.run([*prefix, "sh", "-c", COUNT, folder, line], text=True, check=False,
                              env=environment, cwd=tmp_path,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
        assert done.returncode == 0, done.stderr
        status, packets = map(int, done.stdout.split())
        assert status == 0
        return packets
    return count


COMMANDS = {
    "spoor run": "spoor run -q -- true",
    "spoor attach": "sleep 0.3 & spoor attach -q -o attach.json $!",
    "spoor system": "spoor system -i 0.05 -o system.json",
    "spoor report": "spoor report -f json -o again.json run.json",
    "spoor recommend": "spoor recommend run.json",
    "spoor doctor": "spoor doctor",
    "spoor info": "spoor info",
    "spoor phase": "spoor run -q -- spoor phase start load",
    "spoor watch": "spoor watch",
    "spoor help": "spoor help run",
    "gpu-tracker": "gpu-tracker -e true --output report.txt",
    "gpu-tracker sub-track": "gpu-tracker sub-track analyze --tf=tracking.csv --stf=phases.csv -o results.txt",
    "resource-tracker": "resource-tracker -o rows.json -- true",
}
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


def python(text):
    return f"{sys.executable} -c {shlex.quote(text)}"


@pytest.mark.parametrize("line", COMMANDS.values(), ids=list(COMMANDS))
def test_no_packet_leaves_a_machine_outside_a_cloud(count_packets, line):
    assert count_packets(NOT_A_CLOUD, line) == 0


@pytest.mark.parametrize("text", PYTHON.values(), ids=list(PYTHON))
def test_no_packet_of_a_python_package(count_packets, text):
    assert count_packets(NOT_A_CLOUD, python(text)) == 0


def test_every_command_is_counted(spoor):
    shown = subprocess.run([spoor.binary, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    commands = re.findall(r"^  ([a-z]+) ", shown.partition("Options:")[0], re.M)
    assert {"run", "doctor"} <= set(commands) <= {name.split()[1] for name in COMMANDS if " " in name}


@pytest.mark.parametrize("line", [COMMANDS["spoor run"], COMMANDS["resource-tracker"], python(PYTHON["spoor"]),
                                  python(PYTHON["gpu_tracker"])],
                         ids=["run", "resource-tracker", "Python: spoor", "Python: gpu_tracker"])
def test_a_run_sends_no_query_in_a_cloud_either(count_packets, line):
    assert count_packets(DMI["aws"], line) == 0


@pytest.mark.parametrize("strings, line", [
    (DMI["aws"], "spoor info"), (NOT_A_CLOUD, "spoor recommend --server run.json || true"),
    (NOT_A_CLOUD, python(KEEPER))], ids=["metadata", "keeper", "Python: keeper"])
def test_packets_are_counted(count_packets, strings, line):
    """The tests above would detect a packet."""
    assert count_packets(strings, line) > 0


def test_a_run_does_not_load_libcurl(spoor, tmp_path):
    """Loading it takes longer than the rest of the start."""
    prefix = with_dmi(tmp_path, DMI["aws"])
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")

    def libraries(*arguments):
        done = subprocess.run([*prefix, spoor.binary, *arguments], text=True, capture_output=True,
                              check=True, env={**os.environ, "LD_DEBUG": "files",
                                               "XDG_CACHE_HOME": str(tmp_path)})
        return done.stderr
    assert "libcurl" in libraries("info")  # its query fails
    assert "libcurl" not in libraries("run", "-q", "--", "true")
