# SPDX-License-Identifier: Apache-2.0
"""On a machine that is not in a cloud, spoor sends no packets: see packets.py."""
import os
import re
import subprocess

import pytest

from fake_services import DMI, with_dmi
from packets import NOT_A_CLOUD, count_packets_of


@pytest.fixture
def count_packets(spoor, tmp_path):
    return lambda strings, line: count_packets_of(spoor.binary, tmp_path, {}, strings, line)


COMMANDS = {
    "spoor run": "spoor run -q --counters --carbon-intensity 380 --pue 1.2 -- true",
    "spoor attach": "sleep 600 & spoor attach -q --duration 20ms -o attach.json $!; code=$?; kill $!; (exit $code)",
    "spoor system": "spoor system -i 0.05 -o system.json",
    "spoor report": "spoor report -f json -o again.json run.json",
    "spoor merge": "spoor run -q --group ranks -- true; spoor merge ranks",
    "spoor recommend": "spoor recommend run.json",
    "spoor doctor": "spoor doctor",
    "spoor info": "spoor info",
    "spoor phase": "spoor run -q -- spoor phase start load",
    "spoor watch": "spoor watch",
    "spoor bench": "spoor bench -n 2 -- true",
    "spoor compare": "spoor compare run.json run.json",
    "spoor check": "spoor check --max time=1h run.json",
    "spoor history": "spoor run -q --save -- true; spoor history",
    "spoor help": "spoor help run",
    "gpu-tracker": "gpu-tracker -e true --output report.txt",
    "gpu-tracker sub-track": "gpu-tracker sub-track analyze --tf=tracking.csv --stf=phases.csv -o results.txt",
    "resource-tracker": "resource-tracker -o rows.json -- true",
}
@pytest.mark.parametrize("line", COMMANDS.values(), ids=list(COMMANDS))
def test_no_packet_leaves_a_machine_outside_a_cloud(count_packets, line):
    assert count_packets(NOT_A_CLOUD, line) == 0


def test_packet_test_covers_every_command(spoor):
    shown = subprocess.run([spoor.binary, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    commands = re.findall(r"^  ([a-z]+) ", shown.partition("Options:")[0], re.M)
    assert {"run", "doctor"} <= set(commands) <= {name.split()[1] for name in COMMANDS if " " in name}


@pytest.mark.parametrize("line", [COMMANDS["spoor run"], COMMANDS["resource-tracker"]],
                         ids=["run", "resource-tracker"])
def test_a_run_sends_no_query_in_a_cloud_either(count_packets, line):
    assert count_packets(DMI["aws"], line) == 0


@pytest.mark.parametrize("strings, line", [
    (DMI["aws"], "spoor info"), (NOT_A_CLOUD, "spoor recommend --server run.json || true")],
    ids=["metadata", "keeper"])
def test_sent_packets_are_detected(count_packets, strings, line):
    """Proves that the tests above would detect a packet."""
    assert count_packets(strings, line) > 0


def test_a_run_does_not_load_libcurl(spoor, tmp_path):
    """Loading libcurl takes longer than the rest of the start."""
    prefix = with_dmi(tmp_path, DMI["aws"])
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")

    def libraries(*arguments):
        done = subprocess.run([*prefix, spoor.binary, *arguments], text=True, capture_output=True,
                              check=True, env={**os.environ, "LD_DEBUG": "files",
                                               "XDG_CACHE_HOME": str(tmp_path)})
        return done.stderr
    assert "libcurl" in libraries("info")  # the query, which fails, needs libcurl
    assert "libcurl" not in libraries("run", "-q", "--", "true")
