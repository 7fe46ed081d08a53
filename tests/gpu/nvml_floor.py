# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of only the driver calls that return the figures of one sample."""
import ctypes
import time

ROOM_BYTES = 1 << 16
SAMPLE_BYTES, USAGE_BYTES, PROCESS_BYTES = 16, 32, 24
GPU_UTILIZATION = 1  # value of nvmlSamplingType_t


class Device:
    """The first GPU, accessed through NVIDIA's library itself."""

    def __init__(self):
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.handle = ctypes.c_void_p()
        self.room = ctypes.create_string_buffer(ROOM_BYTES)
        assert self.nvml.nvmlInit_v2() == 0, "nvmlInit_v2"
        assert self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)) == 0

    def close(self):
        self.nvml.nvmlShutdown()

    def read(self, since_us):
        """Reads the memory of the device and of its processes, and the buffered samples of both."""
        def count(size):
            return ctypes.byref(ctypes.c_uint(ROOM_BYTES // size))

        since = ctypes.c_ulonglong(since_us)
        self.nvml.nvmlDeviceGetMemoryInfo(self.handle, self.room)
        self.nvml.nvmlDeviceGetComputeRunningProcesses_v3(self.handle, count(PROCESS_BYTES),
                                                          self.room)
        self.nvml.nvmlDeviceGetSamples(self.handle, GPU_UTILIZATION, since,
                                       ctypes.byref(ctypes.c_int()), count(SAMPLE_BYTES), self.room)
        self.nvml.nvmlDeviceGetProcessUtilization(self.handle, self.room, count(USAGE_BYTES), since)


def cost(samples, interval=1.0):
    """Returns (CPU seconds, wall seconds) per sample, at the pace of a tracker."""
    device = Device()
    cpu = wall = 0.0
    for _ in range(samples):
        since_us = int(time.time() * 1e6)
        time.sleep(interval)
        cpu_before, wall_before = time.thread_time(), time.perf_counter()
        device.read(since_us)
        cpu += time.thread_time() - cpu_before
        wall += time.perf_counter() - wall_before
    device.close()
    return cpu / samples, wall / samples
