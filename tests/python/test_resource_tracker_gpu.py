# SPDX-License-Identifier: Apache-2.0
"""GPU columns of resource_tracker, on a simulated machine with two GPUs, with a stand-in for NVIDIA's library
(tests/gpu/standin).
"""
import os
import subprocess

from conftest import BINARY, DEADLINE_SECONDS

CARD = """\
device {0} uuid GPU-{0}000-aaaa
device {0} name NVIDIA H200
device {0} pci 0:{1}:0
device {0} total 150000000000
device {0} used {2}
device {0} minor {0}
"""
PROGRAM = """
    import os, time
    from resource_tracker import ResourceTracker, nvidia
    from resource_tracker.tracker_procfs import get_process_stats, get_system_stats

    def eventually(condition):
        deadline = time.monotonic() + 50
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def process_stats(name):
        return get_process_stats(os.getpid())[name]

    def find_busy():
        # All of them each time: they need some seconds to respond, and may wait together.
        return [process_stats("gpu_usage"), get_system_stats()["gpu_usage"],
                nvidia.process_nvidia_smi_pmon(None, {os.getpid()})["gpu_usage"]]

    print(os.getpid(), flush=True)
    input()
    with ResourceTracker(interval=0.05) as tracker:
        def process(name):
            return [value for value in tracker.process_metrics[name] if value]

        def system(name):
            return [value for value in tracker.system_metrics[name] if value]

        eventually(lambda: process("gpu_usage") and system("gpu_usage"))
        eventually(lambda: process("gpu_vram_mib") and system("gpu_vram_mib"))
        print(process("gpu_usage")[-1], process("gpu_vram_mib")[-1], process("gpu_utilized")[-1])
        print(system("gpu_usage")[-1], system("gpu_vram_mib")[-1], system("gpu_utilized")[-1])
    eventually(lambda: all(find_busy()))
    print(process_stats("gpu_vram_mib"), process_stats("gpu_utilized_indexes"))
    print(get_system_stats()["gpu_vram_mib"], get_system_stats()["gpu_utilized"])
    print(*nvidia.process_nvidia_smi_pmon(nvidia.start_nvidia_smi_pmon(), {os.getpid(), 1}).values())
    print(*nvidia.process_nvidia_smi_pmon(None).values())
    print(*nvidia.process_nvidia_smi(nvidia.start_nvidia_smi()).values())
"""


def test_an_idle_gpu_does_not_hide_a_busy_one(script, tmp_path):
    """Bug W6 of the predecessor: GPUs after an idle one were lost."""
    library = BINARY.parent / "tests/gpu/standin/full"
    played = tmp_path / "script"
    played.write_text("")
    process = script.start(PROGRAM, stdin=subprocess.PIPE, env={
        **os.environ, "LD_LIBRARY_PATH": str(library), "SPOOR_NVML_SCRIPT": str(played)})
    pid = int(process.stdout.readline())
    played.write_text(CARD.format(0, 59, 1 << 30) + CARD.format(1, 60, 3 << 30) + f"""\
stream 0 gpu 200 0
stream 1 gpu 200 90
process 1 compute {pid} {2 << 30}
busy 1 {pid} 200 90
""")
    out, _ = process.communicate("\n", timeout=DEADLINE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines() == ["0.9 2048.0 1", "0.9 4096.0 1", "2048 {1}", "4096 1",
                                "0.9 2048 1 {1}", "0.9 4096 1 {1}", "0.9 4096 1"]


def test_gpu_figures_without_a_gpu_are_0(monkeypatch):
    from resource_tracker import nvidia, tracker_procfs

    monkeypatch.setattr(tracker_procfs, "_may_have_gpus", lambda: False)
    zeros = {"gpu_usage": 0, "gpu_vram_mib": 0, "gpu_utilized": 0}
    assert nvidia.start_nvidia_smi() is nvidia.start_nvidia_smi_pmon() is None
    assert nvidia.process_nvidia_smi(None) == zeros
    assert nvidia.process_nvidia_smi_pmon(None) == \
        nvidia.process_nvidia_smi_pmon(None, {os.getpid()}) == \
        {**zeros, "gpu_utilized_indexes": set()}


def test_figures_that_the_driver_does_not_report_are_none(monkeypatch):
    from resource_tracker import nvidia, tracker_procfs

    monkeypatch.setattr(tracker_procfs, "_may_have_gpus", lambda: True)
    monkeypatch.setattr(tracker_procfs, "_ask", lambda op, *arguments: {"stats": {
        "gpu_usage": 0.5, "gpu_vram_mib": None, "gpu_utilized": 1, "gpu_utilized_indexes": [2]}})
    assert nvidia.process_nvidia_smi_pmon(None, {1, 2}) == {
        "gpu_usage": 1.0, "gpu_vram_mib": None, "gpu_utilized": 1, "gpu_utilized_indexes": {2}}
