# SPDX-License-Identifier: Apache-2.0
"""torch_matmul.py SECONDS - multiplies matrices with PyTorch and reports its usage.

Like the CUDA loads (load.cuh), it prints "ready" on stdout and writes one line of JSON to the
file named by TRUTH. The memory of the context is the device's memory in use minus PyTorch's own,
which is correct if nothing else uses the device.
"""
import json
import os
import sys
import time

import torch

SIZE, BATCH = 16384, 10


def main():
    seconds = float(sys.argv[1])
    left, right = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = left @ right
    torch.cuda.synchronize()
    print("ready", flush=True)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    started, busy, count = time.monotonic(), 0.0, 0
    while time.monotonic() - started < seconds:
        begin.record()
        for _ in range(BATCH):
            torch.matmul(left, right, out=product)
        end.record()
        end.synchronize()
        busy += begin.elapsed_time(end) / 1e3
        count += BATCH
    loop = time.monotonic() - started
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.max_memory_reserved()
    truth = {"program": "torch_matmul", "pid": os.getpid(), "reserved_bytes": reserved,
             "context_bytes": total - free - torch.cuda.memory_reserved(), "busy_seconds": busy,
             "loop_seconds": loop, "products": count, "torch": torch.__version__}
    with open(os.environ.get("TRUTH", "/dev/stderr"), "a") as file:
        print(json.dumps(truth), file=file)


main()
