# SPDX-License-Identifier: Apache-2.0
"""Logs samples of a tracker to a run of Aim."""
from __future__ import annotations

from typing import Any

from .._tracker import Tracker
from ._logger import PERCENT, SampleLogger, Value


class AimLogger(SampleLogger):
    """Logs samples under Aim's names of system metrics, which the page of a run shows on its tab "System".

    ``cpu`` and ``p_memory_percent`` include the tracked process and all its descendants; 100 % of ``cpu`` is one
    CPU. Values of a GPU have the context ``{"gpu": number}``.

    Parameters
    ----------
    tracker : Tracker
        A running tracker.
    run : aim.Run
        Create it with ``system_tracking_interval=None``, so that Aim itself logs nothing under these names.
    interval : float, default 10
        Seconds between two samples.
    """
    names = {
        "cpu": ("job_cores", PERCENT),
        "p_memory_percent": ("job_memory", PERCENT),
        "memory_percent": ("host_memory", PERCENT),
        "disk_percent": ("host_disk_space", PERCENT)}
    gpu_names = {
        "gpu": ("utilization", PERCENT),
        "gpu_memory_percent": ("memory", PERCENT),
        "gpu_temp": ("temperature_celsius", 1),
        "gpu_power_watts": ("power_watts", 1)}

    def __init__(self, tracker: Tracker, run: Any, interval: float = 10) -> None:
        super().__init__(tracker, interval)
        self._run_of_tool = run

    def write(self, values: list[Value], step: int, seconds: float) -> None:
        for value in values:
            context = {} if value.gpu is None else {"gpu": value.gpu}
            self._run_of_tool.track(value.value, name=f"__system__{value.name}", context=context)
