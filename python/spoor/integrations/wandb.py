# SPDX-License-Identifier: Apache-2.0
"""Logs samples of a tracker to a run of Weights & Biases."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from .._program import Error
from .._tracker import Tracker
from ._logger import MEBIBYTE, PERCENT, SampleLogger, Value


class WandbLogger(SampleLogger):
    """Logs samples under W&B's names of system metrics, with the prefix ``system/``; ``system/seconds`` is their axis.

    ``cpu``, ``proc.*`` and ``gpu.process.*`` include the tracked process and all its descendants.

    Parameters
    ----------
    tracker : Tracker
        A running tracker.
    run : wandb.Run, optional
        By default, the run that wandb.init() started.
    interval : float, default 15
        Seconds between two samples.
    commit : bool, default False
        Log each sample as a step of its own. By default a sample becomes part of the program's next step, so the steps
        of the program stay as they are; of several samples in one step, the last one counts.
    """
    names = {
        "cpu": ("job_cpu", PERCENT),
        "proc.memory.rssMB": ("job_rss_bytes", MEBIBYTE),
        "proc.memory.percent": ("job_memory", PERCENT),
        "proc.memory.availableMB": ("host_memory_available_bytes", MEBIBYTE),
        "proc.cpu.threads": ("job_threads", 1),
        "memory_percent": ("host_memory", PERCENT),
        "network.recv": ("received_bytes", 1),
        "network.sent": ("sent_bytes", 1)}
    gpu_names = {
        "gpu.{}.gpu": ("utilization", PERCENT),
        "gpu.{}.memoryAllocated": ("memory", PERCENT),
        "gpu.{}.memoryAllocatedBytes": ("memory_bytes", 1),
        "gpu.{}.temp": ("temperature_celsius", 1),
        "gpu.{}.powerWatts": ("power_watts", 1),
        "gpu.{}.smClock": ("clock_hertz", 1e-6),
        "gpu.{}.encoderUtilization": ("encoder_utilization", PERCENT),
        "gpu.process.{}.gpu": ("job_utilization", PERCENT),
        "gpu.process.{}.memoryAllocatedBytes": ("job_memory_bytes", 1)}

    def __init__(self, tracker: Tracker, run: Any = None, interval: float = 15, commit: bool = False) -> None:
        super().__init__(tracker, interval)
        self._run_of_tool = import_module("wandb").run if run is None else run
        if self._run_of_tool is None:
            raise Error("there is no run: call wandb.init() first")
        self._commit = commit
        self._run_of_tool.define_metric("system/seconds")
        self._run_of_tool.define_metric("system/*", step_metric="system/seconds")

    def write(self, values: list[Value], step: int, seconds: float) -> None:
        data = {f"system/{value.name}": value.value for value in values}
        self._run_of_tool.log({**data, "system/seconds": seconds}, commit=self._commit)
