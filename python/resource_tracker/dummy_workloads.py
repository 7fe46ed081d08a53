# SPDX-License-Identifier: Apache-2.0
"""Work to try a tracker on."""
from __future__ import annotations

import os
import time


def cpu_single(duration: float = 1) -> None:
    """Keeps one core busy for that many seconds."""
    end = time.monotonic() + duration
    while time.monotonic() < end:
        sum(range(1000))


def cpu_multi(duration: float = 1, ncores: int | None = None) -> None:
    """Keeps that many cores busy, by default all, with one process each."""
    import multiprocessing

    count = ncores or os.cpu_count() or 1
    with multiprocessing.Pool(count) as pool:
        pool.map(cpu_single, [duration] * count, chunksize=1)
