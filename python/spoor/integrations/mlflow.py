# SPDX-License-Identifier: Apache-2.0
"""Logs samples of a tracker to a run of MLflow."""
from __future__ import annotations

import time
from importlib import import_module
from typing import Any, Optional

from .._program import Error
from .._tracker import Tracker
from ._logger import MEGABYTE, PERCENT, SampleLogger, Value


class MlflowLogger(SampleLogger):
    """Logs samples under MLflow's names of system metrics, which the page of a run shows on its own tab.

    They describe the machine. Metrics of the tracked process and all its descendants have ``job_`` in their names.

    Parameters
    ----------
    tracker : Tracker
        A running tracker.
    run_id : str, optional
        By default, the active run.
    interval : float, default 10
        Seconds between two samples.
    client : mlflow.MlflowClient, optional
        By default one for the current tracking URI.
    """
    names = {
        "cpu_utilization_percentage": ("host_cpu", PERCENT),
        "system_memory_usage_megabytes": ("host_memory_used_bytes", MEGABYTE),
        "system_memory_usage_percentage": ("host_memory", PERCENT),
        "disk_usage_megabytes": ("host_disk_space_used_bytes", MEGABYTE),
        "disk_usage_percentage": ("host_disk_space", PERCENT),
        "disk_available_megabytes": ("host_disk_space_free_bytes", MEGABYTE),
        "network_receive_megabytes": ("received_bytes", MEGABYTE),
        "network_transmit_megabytes": ("sent_bytes", MEGABYTE),
        "job_cpu_utilization_percentage": ("job_cpu", PERCENT),
        "job_memory_usage_megabytes": ("job_rss_bytes", MEGABYTE)}
    gpu_names = {
        "gpu_{}_utilization_percentage": ("utilization", PERCENT),
        "gpu_{}_memory_usage_megabytes": ("memory_bytes", MEGABYTE),
        "gpu_{}_memory_usage_percentage": ("memory", PERCENT),
        "gpu_{}_power_usage_watts": ("power_watts", 1),
        "gpu_{}_job_utilization_percentage": ("job_utilization", PERCENT),
        "gpu_{}_job_memory_usage_megabytes": ("job_memory_bytes", MEGABYTE)}

    def __init__(self, tracker: Tracker, run_id: Optional[str] = None, interval: float = 10,
                 client: Any = None) -> None:
        super().__init__(tracker, interval)
        mlflow = import_module("mlflow")
        active = mlflow.active_run() if run_id is None else None
        if run_id is None and active is None:
            raise Error("there is no run: call mlflow.start_run() first, or pass run_id")
        self._run_id = run_id if active is None else active.info.run_id
        self._client = mlflow.MlflowClient() if client is None else client
        self._metric = mlflow.entities.Metric

    def write(self, values: list[Value], step: int, seconds: float) -> None:
        now = int(time.time() * 1000)
        self._client.log_batch(self._run_id, metrics=[self._metric(f"system/{value.name}", value.value, now, step)
                                                      for value in values])
