# SPDX-License-Identifier: Apache-2.0
"""Logs samples of a tracker to TensorBoard."""
from __future__ import annotations

from typing import Any

from .._tracker import Tracker
from ._logger import PERCENT, SampleLogger, Value


class TensorBoardLogger(SampleLogger):
    """Logs samples as scalars. Their step is the time since the start in seconds.

    TensorBoard has no names for system metrics: ``system/`` is the machine, ``job/`` the tracked process with all its
    descendants.

    Parameters
    ----------
    tracker : Tracker
        A running tracker.
    writer : SummaryWriter
        A writer of torch.utils.tensorboard or tensorboardX. It is not closed.
    interval : float, default 10
        Seconds between two samples.
    """
    names = {
        "job/cpu_cores": ("job_cores", 1),
        "job/memory_bytes": ("job_rss_bytes", 1),
        "job/processes": ("job_processes", 1),
        "job/threads": ("job_threads", 1),
        "system/cpu_percent": ("host_cpu", PERCENT),
        "system/memory_percent": ("host_memory", PERCENT),
        "system/network_received_bytes": ("received_bytes", 1),
        "system/network_sent_bytes": ("sent_bytes", 1)}
    gpu_names = {
        "gpu{}/utilization_percent": ("utilization", PERCENT),
        "gpu{}/memory_bytes": ("memory_bytes", 1),
        "gpu{}/job_utilization_percent": ("job_utilization", PERCENT),
        "gpu{}/job_memory_bytes": ("job_memory_bytes", 1),
        "gpu{}/power_watts": ("power_watts", 1),
        "gpu{}/temperature_celsius": ("temperature_celsius", 1)}

    def __init__(self, tracker: Tracker, writer: Any, interval: float = 10) -> None:
        super().__init__(tracker, interval)
        self._writer = writer

    def write(self, values: list[Value], step: int, seconds: float) -> None:
        for value in values:
            self._writer.add_scalar(value.name, value.value, global_step=round(seconds))
