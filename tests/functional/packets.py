# SPDX-License-Identifier: Apache-2.0
"""Counts packets in a network namespace that routes every packet, to any address, through the
loopback interface."""
import os
import pathlib
import shutil
import subprocess

import pytest

from fake_services import with_dmi

# Prints how many packets were sent, after the command's exit status.
COUNT = """\
PATH=$0:$PATH:/usr/sbin:/sbin
ip link set lo up && ip route add default dev lo || exit 125
{ eval "$1"; } >/dev/null 2>&1
echo "$? $(sed -n 's/^ *lo: *//p' /proc/net/dev | awk '{ print $10 }')"
"""
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
NOT_A_CLOUD = {"sys_vendor": "QEMU", "product_name": "Standard PC"}
# Requests to these addresses are packets, too.
LOOPBACK = {"SPOOR_KEEPER_URL": "http://127.0.0.1:1", "SPOOR_METADATA_URL": "http://127.0.0.1:1"}


def count_packets_of(binary, folder, variables, strings, line):
    """Runs a line of shell on a machine with these DMI strings and returns how many packets it sent."""
    commands = folder / "bin"
    commands.mkdir()
    for name in ("spoor", "gpu-tracker", "resource-tracker"):
        (commands / name).symlink_to(binary)
    for name in ("tracking.csv", "phases.csv"):
        shutil.copy(TOP / "tests/functional/sub_track" / name, folder)
    subprocess.run([binary, "run", "-q", "-o", folder / "run.json", "--", "true"], check=True)
    prefix = with_dmi(folder, strings, "--net")
    if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces are refused")
    environment = {key: text for key, text in os.environ.items() if not key.startswith(("SENTINEL_", "TRACKER_"))}
    environment.update(variables, **LOOPBACK, XDG_CACHE_HOME=str(folder))
    done = subprocess.run([*prefix, "sh", "-c", COUNT, commands, line], text=True, check=False, env=environment,
                          cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr
    status, packets = map(int, done.stdout.split())
    assert status == 0
    return packets
