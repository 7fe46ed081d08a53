# SPDX-License-Identifier: Apache-2.0
"""SampleLogger: a thread that logs samples of a running tracker."""
from __future__ import annotations

import os
import threading
import time
from typing import Mapping, NamedTuple, Optional, Union

from .._program import Error, make_error, warn
from .._report import Snapshot
from .._tracker import Tracker

_STOP_SECONDS = 5.0  # how long stop() waits for a logging tool that does not return
MEGABYTE = 1e-6
MEBIBYTE = 2.0**-20
PERCENT = 100.0

# Maps names in a logging tool to a value (below) and its factor. In names of GPU values, {} stands
# for the number of the GPU.
Names = Mapping[str, tuple[str, float]]


class Value(NamedTuple):
    name: str                   # the name in the logging tool
    gpu: Union[int, str, None]  # the GPU of the value: 0, or "0_1" for the part 0:1
    value: float


def _ratio(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole else None


def _increase(now: Snapshot, before: Snapshot, name: str) -> Optional[float]:
    new, old = now[name], before[name]
    return None if new is None or old is None else new - old


def _values(now: Snapshot, before: Snapshot, first: Snapshot, seconds: float) -> dict[str, Optional[float]]:
    """Returns the metrics of a sample, and values derived from two samples: means since
    `before`, amounts since `first`."""
    used, available = now["host_memory_used_bytes"], now["host_memory_available_bytes"]
    space, free = now["host_disk_space_used_bytes"], now["host_disk_space_free_bytes"]
    total = None if used is None or available is None else used + available
    cpus = (os.cpu_count() or 1) * seconds
    return {**now.metrics,
            "job_cores": _ratio(_increase(now, before, "job_cpu_seconds"), seconds),
            "job_cpu": _ratio(_increase(now, before, "job_cpu_seconds"), cpus),
            "host_cpu": _ratio(_increase(now, before, "host_cpu_seconds"), cpus),
            "job_memory": _ratio(now["job_rss_bytes"], total),
            "host_memory": _ratio(used, total),
            "host_disk_space": _ratio(space, None if space is None or free is None else space + free),
            "received_bytes": _increase(now, first, "host_network_received_bytes"),
            "sent_bytes": _increase(now, first, "host_network_sent_bytes")}


class SampleLogger:
    """The base of the loggers. A logger logs a sample every `interval` seconds, and a last one when it stops.

    It never fails the program. If the tool raises an exception, a RuntimeWarning is issued once, and the next sample is
    tried again. The logger ends with the tracker. In a forked child it does nothing.
    """
    names: Names = {}
    gpu_names: Names = {}

    def __init__(self, tracker: Tracker, interval: float) -> None:
        if not interval > 0:
            raise make_error("EINVAL", f"interval: {interval!r} is out of range")
        self._tracker, self._interval = tracker, interval
        self._thread: Optional[threading.Thread] = None
        self._must_stop = threading.Event()
        self._owner = 0
        self._has_warned = False

    def write(self, values: list[Value], step: int, seconds: float) -> None:
        """Passes the values of a sample to the tool. `step` counts samples, `seconds` is the time since start()."""
        raise NotImplementedError

    def start(self) -> SampleLogger:
        """Starts logging. The tracker must be running."""
        if self._thread is not None and self._owner == os.getpid():
            raise Error("the logger is already running")
        first, start = self._tracker.snapshot(), time.monotonic()
        self._owner, self._must_stop = os.getpid(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(first, start, self._must_stop), name="spoor-logger",
                                        daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Logs a last sample and stops. Does nothing if the logger is not running."""
        if self._thread is not None and self._owner == os.getpid():
            self._must_stop.set()
            self._thread.join(_STOP_SECONDS)
            self._thread = None

    def __enter__(self) -> SampleLogger:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _run(self, first: Snapshot, start: float, must_stop: threading.Event) -> None:
        last, before, step = start, first, 0
        while True:
            is_last = must_stop.wait(self._interval)
            try:
                now = self._tracker.snapshot()
            except Exception:  # the tracker was killed or is stopped; the tracker reports it
                if is_last or not self._tracker.is_running:
                    return
                continue
            time_now = time.monotonic()
            self._log(_values(now, before, first, time_now - last), now, step, time_now - start)
            before, last, step = now, time_now, step + 1
            if is_last:
                return

    def _log(self, metrics: Mapping[str, Optional[float]], now: Snapshot, step: int, seconds: float) -> None:
        values = [Value(name, None, value * factor) for name, (key, factor) in self.names.items()
                  for value in [metrics[key]] if value is not None]
        for gpu in now.gpus:
            number = gpu["index"] if gpu["part"] is None else f"{gpu['index']}_{gpu['part']}"
            measured = {**gpu, "memory": _ratio(gpu["memory_bytes"], gpu["memory_total_bytes"])}
            values += [Value(name.format(number), number, value * factor)
                       for name, (key, factor) in self.gpu_names.items()
                       for value in [measured[key]] if value is not None]
        try:
            self.write(values, step, seconds)
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                warn(f"a sample was not logged: {type(error).__name__}: {error}")
