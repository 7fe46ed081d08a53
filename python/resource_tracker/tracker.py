# SPDX-License-Identifier: Apache-2.0
"""The trackers, and the functions of version 0.1 for one process at a time. ResourceTracker uses the agent
of the program resource-tracker."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from spoor._program import Error, LazyModule, warn, warn_of_failure

from ._combine import combine_frames, default_specs, guess_allocation
from ._loop import PidTracker, ProcessTracker, SystemTracker
from .column_maps import NEWEST, check_dialect
from .helpers import is_partition, logger, render_csv_row
from .tiny_data_frame import StatSpec, TinyDataFrame
from .tracker_procfs import old_system_stats as get_system_stats
from .tracker_procfs import (get_pid_children, get_pid_proc_io, get_pid_proc_times,
                             get_pid_pss_rollup, get_pid_rss, old_process_stats)

if TYPE_CHECKING:
    from . import report as _report
    from ._tracking import RowFile, Tracking
else:
    _report = LazyModule("resource_tracker.report")

__all__ = ["PidTracker", "ProcessTracker", "ResourceTracker", "SystemTracker", "get_pid_children",
           "get_pid_proc_io", "get_pid_proc_times", "get_pid_pss_rollup", "get_pid_rss",
           "get_pid_stats", "get_system_stats", "is_partition"]

_METHODS = ("fork", "spawn", "forkserver")
_UPLOAD_TOKEN = "SENTINEL_API_TOKEN"
_RUN_STATUSES = ("finished", "failed")
_SNAPSHOT_VERSION = 1
_PARAMETERS = ("pid", "children", "interval", "method", "track_processes", "track_system",
               "discover_server", "discover_cloud", "dialect")


def get_pid_stats(pid: int, children: bool = True) -> dict[str, Any]:
    """Returns the usage of a process so far, including its descendants unless children is False:
    in clock ticks and kB, as in version 0.1. tracker_procfs.get_process_stats is the newer
    function."""
    return old_process_stats("pss", pid, children)


def _describe_process(pid: int) -> dict[str, Any]:
    """Returns the command of a process, if it is running, and the name of this machine."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")[:-1]
    except OSError:
        words = []
    return {"command": words or None, "host": os.uname().nodename}


class _CsvFile:
    """A frame as a CSV file in memory, so that nothing is left behind, however this process
    exits."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("resource_tracker.csv")

    def write(self, frame: TinyDataFrame) -> str:
        """Replaces the file's contents by a frame, and returns the path."""
        lines = [render_csv_row(value or 0 if isinstance(value, float) else value
                                for value in values) for values in zip(*frame._data)]
        if frame.columns:
            lines.insert(0, render_csv_row(frame.columns))
        os.truncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        with open(self._fd, "w", encoding="utf-8", newline="", closefd=False) as file:
            file.writelines(lines)
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)


class ResourceTracker:
    """Tracks a process, by default this one, and the machine, from start() to stop().

        tracker = ResourceTracker(interval=0.5)
        work()
        tracker.stop()
        tracker.stats()
        tracker.get_combined_metrics().to_csv("metrics.csv")

    interval is in seconds. Without children only the process itself is tracked. track_processes
    and track_system switch either part off. autostart decides whether tracking starts at once; if it
    is not given, tracking starts at once, and a later start() starts it again. dialect is the
    generation of the column names: "resource-tracker" (0.5), "resource-tracker-0.3" or
    "resource-tracker-0.1".

    The tracker is a separate process, whatever `method` is. Once tracking has started, its
    failures do not fail the program: they are RuntimeWarnings.

    With discover_server and discover_cloud there are server_info and cloud_info. With sentinel_token, or
    the environment variable SENTINEL_API_TOKEN, the metrics are also uploaded to Sentinel, every
    upload_interval seconds; streaming_metadata describes the run there. Neither start() nor the program
    waits for the upload. A tracker that uploads is not started again: it is one run.
    """

    # The predecessor's processes; here, the tracker is not a child of the program.
    process_tracker_process: None = None
    system_tracker_process: None = None

    def __init__(self, pid: int | None = None, children: bool = True, interval: float = 1,
                 method: str | None = None, autostart: bool | None = None,
                 track_processes: bool = True, track_system: bool = True,
                 discover_server: bool = True, discover_cloud: bool = True,
                 sentinel_token: str | None = None, upload_interval: float = 60,
                 streaming_metadata: Mapping[str, Any] | None = None, *,
                 dialect: str = NEWEST) -> None:
        if method is not None and method not in _METHODS:
            raise ValueError(f"cannot find context for {method!r}")
        if not interval > 0:
            raise ValueError(f"invalid interval {interval!r}: must be positive")
        self.pid = os.getpid() if pid is None else pid
        self.children = children
        self.interval = interval
        self.method = method or "fork"
        self.autostart = autostart is None or bool(autostart)
        self.dialect = check_dialect(dialect)
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        self.trackers = [name for name, is_on in (("process_tracker", track_processes),
                                                  ("system_tracker", track_system)) if is_on]
        self.start_time: float | None = None
        self.stop_time: float | None = None
        self.sentinel_result: dict[str, Any] | None = None
        self.upload_interval = upload_interval
        self.streaming_metadata = streaming_metadata
        self._token = sentinel_token or os.environ.get(_UPLOAD_TOKEN)
        self._tracking: Tracking | None = None
        self._owner = 0
        self._is_implicit = False  # started without a call of start()
        self._has_warned = False
        self._rows: dict[str, RowFile] = {}             # by table: "process", "system"
        self._frames: dict[str, TinyDataFrame] = {}     # by table, from a snapshot
        self._csv_files: dict[str, _CsvFile] = {}        # by table, created on request
        self._totals: dict[str, Any] | None = None
        self._exit_code: int | None = None
        self._server_info: dict[str, Any] | None = None
        self._cloud_info: dict[str, Any] | None = None
        self._process_facts: dict[str, Any] | None = None  # from a snapshot; see _describe_process()
        if self.autostart:
            self._start()
            self._is_implicit = autostart is None

    # ---- start and stop ----

    @property
    def track_processes(self) -> bool:
        return "process_tracker" in self.trackers

    @property
    def track_system(self) -> bool:
        return "system_tracker" in self.trackers

    @property
    def running(self) -> bool:
        return self.start_time is not None and self.stop_time is None

    @property
    def mpc(self) -> Any:
        """The multiprocessing context of `method`, which the tracker does not need."""
        import multiprocessing

        return multiprocessing.get_context(self.method)

    @property
    def error_queue(self) -> Any:
        """An empty queue: failures of the tracker are reported as RuntimeWarnings."""
        from queue import SimpleQueue

        return SimpleQueue()

    def _csv_path(self, table: str) -> str | None:
        if f"{table}_tracker" not in self.trackers:
            return None
        if table not in self._csv_files:
            self._csv_files[table] = _CsvFile()
        return self._csv_files[table].write(self._frame(table))

    @property
    def process_tracker_filepath(self) -> str | None:
        """A CSV file, in memory, with the current process_metrics. It can be read until the
        tracker is deleted or cleanup() is called. None if processes are not tracked."""
        return self._csv_path("process")

    @property
    def system_tracker_filepath(self) -> str | None:
        """A CSV file, in memory, with the current system_metrics."""
        return self._csv_path("system")

    def start(self) -> None:
        """Starts tracking. Returns after the first measurement."""
        if self.stop_time is not None:
            raise RuntimeError("Resource tracker already stopped. Create a new instance instead of "
                               "trying to restart it.")
        if self.running and not self._is_implicit:
            raise RuntimeError("Resource tracker already running, cannot start again.")
        if self._tracking is not None and self._tracking.is_uploading:
            self._is_implicit = False  # the run is registered with Sentinel, so it continues
            return
        self._discard()
        self.start_time = None
        self._start()

    def _start(self) -> None:
        self._is_implicit = False
        start_time = time.time()
        if self.discover_cloud and self._cloud_info is None and os.getpid() != 1:  # PID 1 would have to reap it
            from .cloud_info import start_discovery

            start_discovery()
        self._tracking = self._track_and_upload() if self._token else self._track()
        self._rows = self._tracking.rows
        self._owner = os.getpid()
        self.start_time = start_time

    def _track(self, upload: Mapping[str, Any] | None = None) -> Tracking:
        from ._tracking import Tracking

        return Tracking([name.partition("_")[0] for name in self.trackers], self.dialect,
                        self.interval, self.pid, self.children, upload)

    def _track_and_upload(self) -> Tracking:
        """Starts tracking with an upload; if the upload cannot start, tracks without it."""
        try:
            return self._track({"token": self._token, "interval": self.upload_interval,
                                "metadata": self.streaming_metadata})
        except (Error, TypeError, ValueError) as error:
            tracking = self._track()
            warn(f"nothing is uploaded: {error}")
            return tracking

    def _discard(self) -> None:
        """Ends the tracking without a result and deletes the data."""
        if self._tracking is not None:
            self._tracking.close()
            self._tracking = None
        self._frames.clear()
        self._csv_files.clear()

    def stop(self, exit_code: int = 0, run_status: str = "finished") -> None:
        """Stops tracking, after a last row. If metrics are uploaded, waits a few seconds for the
        last metrics; exit_code and run_status ("finished" or "failed") are sent to Sentinel, and
        sentinel_result is the response. If this process is tracked, report() shows exit_code,
        too."""
        tracking = self._tracking
        if tracking is None or not (self.running or tracking.agent is not None):
            return
        if self._owner != os.getpid():
            raise RuntimeError("the tracker belongs to the process that started it")
        status = str(getattr(run_status, "value", run_status))
        if status not in _RUN_STATUSES:
            raise ValueError(f"invalid run_status {run_status!r}: expected 'finished' or 'failed'")
        if self.running:
            self._exit_code = int(exit_code) if self.pid == self._owner else None
            self._stop_tracking(tracking)
        try:
            self._report_upload(tracking.finish_upload(int(exit_code), status))
        except Error as error:
            warn_of_failure(self, error)

    def _stop_tracking(self, tracking: Tracking) -> None:
        try:
            self._totals = tracking.stop()
        except Error as error:
            warn_of_failure(self, error)
        self.stop_time = time.time()
        for message in tracking.warnings:
            warn(message)

    def _report_upload(self, upload: Mapping[str, Any] | None) -> None:
        if upload is None:
            return
        self.sentinel_result = upload.get("result")
        if not upload["is_complete"]:
            warn(f"the upload is not complete: {upload['message']}; {upload['kept_rows']} rows are kept "
                 f"in {upload['folder']} and will be sent by the next run that uploads")
        if upload["dropped_rows"]:
            warn(f"{upload['dropped_rows']} rows were not uploaded: too many had to be kept on disk")

    def cleanup(self) -> None:
        """Stops tracking and deletes the data. Never fails."""
        try:
            self.stop()
        except Exception:
            pass
        self._discard()

    def __enter__(self) -> ResourceTracker:
        if not self.running or self._is_implicit:
            self.start()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._owner == os.getpid():  # not in a forked child
            if kind is None:
                self.stop()
            else:
                self.stop(exit_code=1, run_status="failed")

    # ---- metrics ----

    def _frame(self, table: str) -> TinyDataFrame:
        if table in self._frames:
            return self._frames[table][:]  # type: ignore[no-any-return]
        return self._rows[table].frame() if table in self._rows else TinyDataFrame({})

    @property
    def process_metrics(self) -> TinyDataFrame:
        """The usage of the process, with a row per interval. Empty if processes are not tracked."""
        return self._frame("process")

    @property
    def system_metrics(self) -> TinyDataFrame:
        """The usage of the machine, with a row per interval. Empty if the machine is not
        tracked."""
        return self._frame("system")

    @property
    def n_samples(self) -> int:
        """The number of rows so far; of two tables, the shorter one counts."""
        counts = [len(rows) for rows in self._rows.values()]
        counts += [len(frame) for frame in self._frames.values()]
        return min(counts, default=0)

    def wait_for_samples(self, n: int = 1, timeout: float = 5) -> None:
        """Waits until there are n rows, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self.n_samples < n:
            if self.stop_time is not None:
                raise RuntimeError("Resource tracker has been already stopped with "
                                   f"{self.n_samples} sample(s), cannot wait to collect the "
                                   f"requested {n} sample(s).")
            left = deadline - time.monotonic()
            if left <= 0:
                raise RuntimeError("Timed out waiting for resource tracker to collect "
                                   f"{n} samples")
            time.sleep(min(left, self.interval / 10, 0.1))

    def get_combined_metrics(self, bytes: bool = False, human_names: bool = False,
                             system_prefix: str | None = None, process_prefix: str | None = None,
                             offset: int | None = None) -> TinyDataFrame:
        """Joins both tables: the timestamp, the columns of the machine, the columns of the process. A row
        describes one moment; if one table lost its row, that moment is missing.

        bytes: memory and disk space in bytes, under the same names. human_names: "Process CPU
        usage" instead of process_cpu_usage. The prefixes replace "system_" and "process_", or
        "System " and "Process ". offset: leave out that many rows at the beginning.
        """
        prefixes = ("System ", "Process ") if human_names else ("system_", "process_")
        parts = []
        for table, prefix, given in (("system", prefixes[0], system_prefix),
                                     ("process", prefixes[1], process_prefix)):
            if table in self._rows or table in self._frames:
                parts.append((self._frame(table), prefix if given is None else given))
        try:
            return combine_frames(parts, self.interval, bytes, human_names, offset, self.dialect)
        except Exception as error:
            logger().error("the metrics cannot be combined: %s", error)
            raise

    @property
    def run_totals(self) -> dict[str, Any]:
        """Totals and peaks of the process, with their sources and bounds, as in spoor's JSON
        report. They include usage between two rows. Empty if processes are not tracked."""
        if self._tracking is not None and self._tracking.agent is not None:
            try:
                self._totals = self._tracking.agent.ask("figures")["figures"]
            except Error as error:
                warn_of_failure(self, error)
        return dict(self._totals or {})

    def stats(self, specs: Sequence[StatSpec] | None = None) -> dict[str, dict[str, Any]]:
        """Computes {column: {name: result}} from the combined metrics.

        Without specs these are means, maxima and sums of the columns that matter most, and the numbers of
        run_totals, {"run_totals": {"cpu.total_seconds": 1.5}}. In a mean, each row counts by its length.
        """
        if self.n_samples == 0:
            raise RuntimeError("No metrics collected (yet)")
        frame = self.get_combined_metrics()
        results = frame.stats(default_specs(frame, self.start_time) if specs is None else specs)
        if "duration" in results.get("timestamp", {}) and self.start_time is not None:
            first = frame.stats([StatSpec("timestamp", min)])["timestamp"]["min"]
            before = max(0.0, first - self.start_time)  # covered by the first row
            results["timestamp"]["duration"] = round(
                results["timestamp"]["duration"] + before, 3)
        if specs is None:
            totals = {path: figure["value"] for path, figure in self.run_totals.items()}
            totals = {path: value for path, value in totals.items() if type(value) in (int, float)}
            results.update({"run_totals": totals} if totals else {})
        return results

    # ---- the server ----

    @property
    def server_info(self) -> dict[str, Any] | None:
        """Facts about this machine. `allocation` is "shared" if other programs use the machine
        too."""
        if not self.discover_server:
            return None
        if self._server_info is None:
            from .server_info import get_server_info

            try:
                self._server_info = get_server_info()
            except Error as error:
                warn_of_failure(self, error)
                return None
        return {"allocation": guess_allocation(self.process_metrics, self.system_metrics, self.start_time),
                **self._server_info}

    @property
    def cloud_info(self) -> dict[str, Any] | None:
        """The cloud in which this machine runs, as returned by get_cloud_info(). start() starts
        the lookup in the background; this property waits for the result."""
        if self._cloud_info is None and self.discover_cloud:
            from .cloud_info import get_cloud_info

            self._cloud_info = get_cloud_info()
        return self._cloud_info

    def recommend_resources(self, historical_stats: Sequence[Mapping[str, Any]] = ()) -> dict[
            str, Any]:
        """The resources to request for the next run: {"cpu": N, "memory": MiB, "gpu": N, "vram": MiB}.

        Memory is 1.2 times the peak, which includes peaks between two rows if they are known, rounded up
        to 128, 256 or 512 MiB, 1 GiB, 2 GiB, or whole GiB. historical_stats are results of stats() of
        earlier runs.
        """
        if not self.track_processes:
            raise RuntimeError("there are no metrics of a process to recommend resources by")
        if self.running:
            self.wait_for_samples(1, timeout=max(5, 5 * self.interval))
        return _report.get_needs(_report.recommend([self.stats(), *historical_stats]))

    def recommend_server(self, **arguments: Any) -> dict[str, Any]:
        """Returns the cheapest server for the next run, with the keys of the Spare Cores keeper,
        which is queried. The arguments are historical_stats and the arguments of
        keeper.get_recommended_cloud_servers(), such as vendor_id="aws" or catalog="servers.csv",
        a file that is used instead of the service. If there is no server, raises a RuntimeError
        with the reason."""
        from .keeper import get_recommended_cloud_servers

        needs = self.recommend_resources(arguments.pop("historical_stats", ()))
        wanted: dict[str, Any] = {"n": 1, **needs, **arguments}
        found = get_recommended_cloud_servers(**wanted)
        if not found:
            raise RuntimeError(f"no server fits: {wanted}")
        return found[0]

    def report(self, integration: str = "standalone", historical_stats: Sequence[Mapping[str, Any]] = (),
               status_failed: bool = False, integration_version: str | None = None, *,
               name: str | None = None, servers: int | None = None,
               catalog: str | os.PathLike[str] | None = None) -> _report.Report:
        """The report as an HTML page, with save() and browse(). A notebook shows it inline.

        historical_stats are results of stats() of earlier runs, which the page compares with this one. name is
        the title of the page. servers is the number of recommended servers, as recommend_server(): from a
        catalogue, 3 by default, or from the Spare Cores keeper, which is queried only if servers is given. The
        recommended resources are those of recommend_resources().
        """
        count = (3 if catalog else 0) if servers is None else servers
        return _report.make_report(self, integration, historical_stats, status_failed, integration_version,
                                   name, count, catalog)

    # ---- snapshots ----

    def _metadata(self) -> dict[str, Any]:
        from ._version import __version__

        if self._process_facts is None:
            self._process_facts = _describe_process(self.pid)
        start_time, stop_time = self.start_time or time.time(), self.stop_time or time.time()
        return {
            "version": _SNAPSHOT_VERSION,
            "resource_tracker": {"version": __version__, "implementation": "spoor"},
            **{name: getattr(self, name) for name in _PARAMETERS}, "autostart": self.autostart,
            "start_time": start_time, "stop_time": stop_time, "exit_code": self._exit_code,
            "duration": round(stop_time - start_time, 2), **self._process_facts}

    def snapshot(self) -> dict[str, Any]:
        """Returns all data tracked so far, as plain values."""
        return {"metadata": self._metadata(), "server_info": self.server_info,
                "cloud_info": self.cloud_info, "process_metrics": self.process_metrics.to_dict(),
                "system_metrics": self.system_metrics.to_dict(), "run_totals": self.run_totals}

    @classmethod
    def from_snapshot(cls, snapshot: Mapping[str, Any]) -> ResourceTracker:
        """Creates a stopped tracker from a snapshot."""
        metadata = snapshot["metadata"]
        tracker = cls(autostart=False,
                      **{name: metadata[name] for name in _PARAMETERS if name in metadata})
        tracker.autostart = metadata.get("autostart", False)
        tracker.start_time, tracker.stop_time = metadata["start_time"], metadata["stop_time"]
        tracker._server_info = snapshot.get("server_info")
        tracker.discover_server = tracker._server_info is not None  # otherwise, facts about this machine would be read
        tracker._cloud_info = snapshot.get("cloud_info")
        tracker.discover_cloud = tracker._cloud_info is not None
        tracker._totals = snapshot.get("run_totals")
        tracker._exit_code = metadata.get("exit_code")
        tracker._process_facts = {key: metadata.get(key) for key in ("command", "host")}
        for name in tracker.trackers:
            table = name.partition("_")[0]
            tracker._frames[table] = TinyDataFrame(snapshot[f"{table}_metrics"])
        return tracker

    def dumps(self) -> str:
        """Returns the snapshot as JSON."""
        import json

        return json.dumps(self.snapshot())

    @classmethod
    def loads(cls, text: str | bytes) -> ResourceTracker:
        """Creates a tracker from a text written by dumps()."""
        import json

        return cls.from_snapshot(json.loads(text))

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Writes the snapshot to a file, as compressed JSON."""
        import gzip

        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(self.dumps())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ResourceTracker:
        """Creates a tracker from a file written by dump()."""
        import gzip

        with gzip.open(path, "rt", encoding="utf-8") as file:
            return cls.loads(file.read())
