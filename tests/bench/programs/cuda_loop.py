# SPDX-License-Identifier: Apache-2.0
"""cuda_loop.py COUNT - multiplies matrices on the GPU COUNT times and waits for each product."""
import sys

import torch

SIZE = 8192


def main():
    left, right = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = left @ right
    for _ in range(int(sys.argv[1])):
        torch.matmul(left, right, out=product)
        torch.cuda.synchronize()


main()
