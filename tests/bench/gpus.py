# SPDX-License-Identifier: Apache-2.0
"""gpus.py - the cost of `spoor run` on a machine with a GPU. The driver is the stand-in of
tests/gpu/standin: its calls take as much CPU time as on an H200."""
import contextlib
import os
import time

import machine
from rows import Row

SECONDS = 20
LIMIT_PERCENT = 0.6

# Microseconds of CPU time of each call, measured on an H200 after a pause and without a CUDA
# context. In a loop some calls take a fifth of this; with a context, samples take half.
PRICES = {
    "any": 80,
    "nvmlInit": 12_300,
    "nvmlDeviceGetSamples": 2_800,
    "nvmlDeviceGetProcessUtilization": 2_700,
    "nvmlDeviceGetTotalEnergyConsumption": 4_200,
    "nvmlDeviceGetEncoderUtilization": 10,
    "nvmlDeviceGetDecoderUtilization": 10,
    "nvmlDeviceGetPowerUsage": 400,
    "nvmlDeviceGetTemperature": 300,
    "nvmlDeviceGetClockInfo": 400,
    "nvmlGpmSampleGet": 100,
    "nvmlGpmMetricsGet": 1_900,
}
CARD = """\
device 0 uuid GPU-00000000-aaaa
device 0 name NVIDIA H200
device 0 pci 0:59:0
device 0 minor 0
device 0 total 150000000000
device 0 used 3000000000
device 0 energy 1000
device 0 power 100000
device 0 temperature 40
device 0 clock 1000
device 0 throttle 0
device 0 encoder 0
device 0 decoder 0
stream 0 gpu 200 0
gpm 0 all 0
"""
ASLEEP = "import time; time.sleep(3600)"
AWAKE = "import time\nwhile True:\n    time.sleep(0.05)\n    sum(range(20_000))"


@contextlib.contextmanager
def tracked(bench, code, has_context):
    """Runs a job on a machine with this GPU. Yields the tracker's process."""
    script = CARD + "".join(f"cost {call} {price}\n" for call, price in PRICES.items())
    with machine.scratch() as folder:
        path = folder / "script"
        path.write_text(script)
        environment = {**os.environ, "SPOOR_NVML_SCRIPT": str(path), "LD_LIBRARY_PATH":
                       str(bench.programs.parent / "gpu/standin/full")}
        with machine.started([bench.spoor, "run", "-q", "-i", "1", "--", "/usr/bin/python3", "-c",
                              code], env=environment) as process:
            machine.wait_until(lambda: machine.children(process.pid), "job")
            if has_context:
                job, = machine.children(process.pid)
                new = folder / "new"
                new.write_text(f"{script}process 0 compute {job} 1073741824\n")
                new.rename(path)
            yield process


def share(bench, code, has_context):
    """Returns the tracker's usage during the first seconds, including its start, in percent of a
    core."""
    seconds = bench.much(SECONDS, 4)
    with tracked(bench, code, has_context) as process:
        began = time.monotonic()
        time.sleep(seconds)
        return machine.cpu_seconds(process.pid) / (time.monotonic() - began) * 100


def gpus(bench):
    """Measures the CPU time of the whole tracker since it started, at an interval of 1 s."""
    seconds = bench.much(SECONDS, 4)
    cases = (("none used", ASLEEP, False), ("memory held, asleep", ASLEEP, True),
             ("memory held, awake every 50 ms", AWAKE, True))
    return [Row(f"CPU with a GPU priced as an H200: {name}, first {seconds} s", "%",
                share(bench, code, has_context), limit=LIMIT_PERCENT, limit_is="of a core")
            for name, code, has_context in cases]
