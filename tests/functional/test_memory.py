# SPDX-License-Identifier: Apache-2.0
"""Memory: figures that agree with each other, and whose memory it is."""
import pytest

GROWS = "x = bytearray(300 << 20)"
FORKS = """
import os
x = bytearray(100 << 20)
pid = os.fork()
y = bytearray(50 << 20)
if pid:
    os.waitpid(pid, 0)
"""
MAPS_TWICE = """
import mmap, os, tempfile
with tempfile.TemporaryFile() as file:
    file.write(bytes(60 << 20))
    file.flush()
    maps = [mmap.mmap(file.fileno(), 60 << 20) for _ in range(2)]
    print(sum(sum(each[::4096]) for each in maps))
"""


@pytest.mark.parametrize("interval", ["0.01", "1"])
@pytest.mark.parametrize("script", [GROWS, FORKS, MAPS_TWICE], ids=["grows", "forks", "maps-twice"])
def test_figures_of_memory_agree(spoor, script, interval):
    """Those of every job do, or it would not load; these jobs are the hard ones."""
    _, result = spoor.result("sh", "-c", 'python3 -c "$1"; true', "sh", script,
                             options=["-i", interval])
    memory = result["memory"]["main"]["total_rss_bytes"]
    assert memory.get("low", memory["value"]) > memory["value"] / 2  # sh maps nothing twice
    spoor.result("python3", "-c", script, options=["-i", interval])
