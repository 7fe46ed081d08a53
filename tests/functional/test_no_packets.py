# SPDX-License-Identifier: Apache-2.0
"""Nothing leaves a machine that is not in a cloud: counted in a network namespace where every packet, to
any address, goes through the loopback interface."""
import os
import subprocess

import pytest

from conftest import DEADLINE_SECONDS, NO_METADATA
from fake_services import DMI, with_dmi

# Prints how many packets were sent, after the output of the command.
COUNT = """\
PATH=$PATH:/usr/sbin:/sbin
ip link set lo up && ip route add default dev lo || exit 125
"$@" >/dev/null 2>&1
echo "$? $(sed -n 's/^ *lo: *//p' /proc/net/dev | awk '{ print $10 }')"
"""


@pytest.fixture
def count_packets(spoor, tmp_path):
    """Runs a command on a machine with these DMI strings and returns how many packets it sent."""
    def count(strings, name, *arguments):
        link = tmp_path / "bin" / name
        link.parent.mkdir(exist_ok=True)
        if not link.exists():
            link.symlink_to(spoor.binary)
        prefix = with_dmi(tmp_path, strings, "--net")
        if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip("namespaces are refused")
        environment = {key: text for key, text in os.environ.items()
                       if not key.startswith(("SENTINEL_", "TRACKER_"))}
        done = subprocess.run([*prefix, "sh", "-c", COUNT, "sh", link, *arguments], text=True, check=False,
                              env={**environment, **NO_METADATA, "XDG_CACHE_HOME": str(tmp_path)}, cwd=tmp_path,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
        assert done.returncode == 0, done.stderr
        status, packets = map(int, done.stdout.split())
        assert status == 0
        return packets
    return count


COMMANDS = {
    "info": ("spoor", "info"),
    "run": ("spoor", "run", "-q", "--", "true"),
    "system": ("spoor", "system", "-i", "0.05", "-o", "system.json"),
    "doctor": ("spoor", "doctor"),
    "watch": ("spoor", "watch"),
    "resource-tracker": ("resource-tracker", "-o", "rows.json", "--", "true"),
    "gpu-tracker": ("gpu-tracker", "-e", "true", "--output", "report.txt"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_no_packet_leaves_a_machine_outside_a_cloud(count_packets, command):
    assert count_packets({"sys_vendor": "QEMU", "product_name": "Standard PC"}, *command) == 0


@pytest.mark.parametrize("command", [COMMANDS["run"], COMMANDS["resource-tracker"]],
                         ids=["run", "resource-tracker"])
def test_a_run_asks_nothing_in_a_cloud_either(count_packets, command):
    assert count_packets(DMI["aws"], *command) == 0


def test_packets_are_counted(count_packets):
    """That the tests above would see one."""
    assert count_packets(DMI["aws"], "spoor", "info") > 0


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
    assert "libcurl" in libraries("info")  # asks in vain
    assert "libcurl" not in libraries("run", "-q", "--", "true")
