# SPDX-License-Identifier: Apache-2.0
"""What to request for the next run, from the results of stats() of one run or several."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from .column_maps import BYTES_PER_UNIT
from .helpers import aggregate_stats, round_memory

Stats = Mapping[str, Mapping[str, Any]]

_MARGIN = 1.2
_MIB = 1 << 20
_SHORT_SECONDS = 10  # as in spoor's own reports
# Columns by the names of all versions, and the total of the run that is more exact.
MEMORY = (("memory_mib", "memory", "pss"), "memory.combined.total_rss_bytes")
VRAM = (("gpu_vram_mib", "gpu_vram"), "gpu.memory.combined_bytes")


def peak_bytes(runs: Sequence[Stats], source: tuple[tuple[str, ...], str]) -> float | None:
    """The largest one of all runs, between two rows too if that is known."""
    names, path = source
    peaks = []
    for run in runs:
        exact = (run.get("run_totals", {}).get(path) or {}).get("value")
        peaks += [] if exact is None else [exact]
        for name in names:
            value = run.get(f"process_{name}", {}).get("max")
            peaks += [] if value is None else [value * BYTES_PER_UNIT[name]]
    return max(peaks, default=None)


def is_long_enough(runs: Sequence[Stats]) -> bool:
    """Whether a report may recommend by these runs: a short one says little about the next."""
    durations = (run.get("timestamp", {}).get("duration") for run in runs)
    return any((duration or 0) >= _SHORT_SECONDS for duration in durations)


def _with_margin(peak_bytes: float) -> int:
    return round_memory(peak_bytes * _MARGIN / _MIB)


def recommend(runs: Sequence[Stats]) -> dict[str, Any]:
    """{"cpu": N, "memory": MiB, "gpu": N, "vram": MiB}; None is unknown."""
    stats = aggregate_stats(runs)
    memory, vram = peak_bytes(runs, MEMORY), peak_bytes(runs, VRAM)
    gpu = stats.get("process_gpu_usage", {})
    if memory is None:
        raise RuntimeError("the memory of the process is not known")
    is_gpu_known = gpu.get("mean") is not None
    cpu_mean = stats.get("process_cpu_usage", {}).get("mean") or 0
    gpus = max(1, round(gpu["max"])) if is_gpu_known and gpu["mean"] > 0 else 0
    return {"cpu": max(1, round(cpu_mean)), "memory": _with_margin(memory),
            "gpu": gpus if is_gpu_known else None,
            "vram": None if vram is None else _with_margin(vram) if vram > 0 else 0}
