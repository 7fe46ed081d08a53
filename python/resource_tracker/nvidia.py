# SPDX-License-Identifier: Apache-2.0
"""GPU figures. They come from spoor, for all GPUs that spoor supports; nvidia-smi is not started."""
from __future__ import annotations

from typing import Any, Iterable

from .tracker_procfs import get_gpu_stats

__all__ = ["process_nvidia_smi", "process_nvidia_smi_pmon", "start_nvidia_smi",
           "start_nvidia_smi_pmon"]


def start_nvidia_smi_pmon() -> None:
    """Does nothing: no process is needed."""


def process_nvidia_smi_pmon(nvidia_process: object = None,
                            pids: Iterable[int] | None = None) -> dict[str, Any]:
    """The GPU usage of processes, by default all processes together.

    gpu_usage: between 0 and the number of GPUs; gpu_vram_mib; gpu_utilized: the number of GPUs in
    use; gpu_utilized_indexes: which ones. nvidia_process has no effect.
    """
    return get_gpu_stats(pids)


def start_nvidia_smi() -> None:
    """Does nothing: no process is needed."""


def process_nvidia_smi(nvidia_process: object = None) -> dict[str, Any]:
    """The usage of all GPUs: gpu_usage, gpu_vram_mib and gpu_utilized. nvidia_process has no
    effect."""
    stats = get_gpu_stats(None)
    del stats["gpu_utilized_indexes"]
    return stats
