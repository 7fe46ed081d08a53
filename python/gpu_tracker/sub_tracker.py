# SPDX-License-Identifier: Apache-2.0
"""Sub-tracking: when blocks of code ran, and what was used meanwhile.

A sub-tracking file has a row for each start (position 0) and stop (1) of a block. The analysis
is that of the program gpu-tracker.
"""
from __future__ import annotations

import os
import sys
import time
from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

    Statistics = Dict[str, Dict[str, float]]  # measurement -> statistic -> value
    Rows = List[Dict[str, Any]]
else:
    from ._dataclass import dataclass

_COLUMNS = ("process_id", "code_block_name", "position", "timestamp")
_begun: Set[str] = set()  # files that this process, or the one that it was forked from, has made
_databases: Dict[Tuple[int, str], Any] = {}  # connections, by process and file


def _extension(path: str) -> str:
    for extension in (".csv", ".sqlite"):
        if path.endswith(extension):
            return extension
    raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and '
                     '".sqlite".')


# ---- writing ------------------------------------------------------------------------------

def _cell(text: str) -> str:
    if any(letter in text for letter in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _append(path: str, text: str) -> None:
    """In one piece, so that rows of several processes do not mix."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileNotFoundError(f"The file {path} was removed in the middle of writing data to "
                                "it.") from None
    try:
        os.write(fd, text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)


def _database(path: str) -> Any:
    key = (os.getpid(), os.path.abspath(path))
    if key not in _databases:
        import sqlite3

        connection = sqlite3.connect(path, timeout=60, isolation_level=None,
                                     check_same_thread=False)
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = OFF")  # safe against our end, not the machine's
        _databases[key] = connection
    return _databases[key]


def _begin(path: str, overwrite: bool) -> None:
    """Makes the file; one that was there before this session is not touched unasked."""
    extension = _extension(path)
    if os.path.isfile(path):
        if not overwrite:
            raise FileExistsError(f"File {path} already exists. Set overwrite to True to "
                                  "overwrite the existing file.")
        os.remove(path)
        _databases.pop((os.getpid(), os.path.abspath(path)), None)
    if extension == ".csv":
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(",".join(_COLUMNS) + "\r\n")
    else:
        _database(path).execute("CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
                                "position INTEGER, timestamp FLOAT)")
    _begun.add(os.path.abspath(path))


def _log(path: str, overwrite: bool, process_id: int, name: str, position: int) -> None:
    now = time.time()
    if os.path.abspath(path) not in _begun:
        _begin(path, overwrite)
    if path.endswith(".csv"):
        _append(path, f"{process_id},{_cell(name)},{position},{now!r}\r\n")
        return
    if not os.path.isfile(path):
        raise FileNotFoundError(f"The file {path} was removed in the middle of writing data to "
                                "it.")
    _database(path).execute("INSERT INTO data VALUES (?, ?, ?, ?)",
                            (process_id, name, position, now))


class SubTracker:
    """The block of code that it is around of: its start and stop become rows of a file.

    code_block_name is by default the file and line of the block; code_block_attribute takes
    the line's place. sub_tracking_file is by default PID.csv in the working directory.
    """

    def __init__(self, code_block_name: Optional[str] = None,
                 code_block_attribute: Optional[str] = None,
                 sub_tracking_file: Optional[str] = None, overwrite: bool = False) -> None:
        if code_block_name is None:
            frame = sys._getframe(1)
            attribute = frame.f_lineno if code_block_attribute is None else code_block_attribute
            code_block_name = f"{os.path.relpath(frame.f_code.co_filename)}:{attribute}"
        self.code_block_name = code_block_name
        self.process_id = os.getpid()
        self.sub_tracking_file = f"{self.process_id}.csv" if sub_tracking_file is None else \
            sub_tracking_file
        _extension(self.sub_tracking_file)
        self._overwrite = overwrite

    def __enter__(self) -> "SubTracker":
        _log(self.sub_tracking_file, self._overwrite, self.process_id, self.code_block_name, 0)
        return self

    def __exit__(self, *exception: object) -> None:
        _log(self.sub_tracking_file, self._overwrite, self.process_id, self.code_block_name, 1)


def sub_track(code_block_name: Optional[str] = None, code_block_attribute: Optional[str] = None,
              sub_tracking_file: Optional[str] = None, overwrite: bool = False
              ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function whose calls are blocks. Its name is by default FILE:FUNCTION."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = code_block_name
        if name is None:
            attribute = function.__name__ if code_block_attribute is None else \
                code_block_attribute
            name = f"{os.path.abspath(sys._getframe(1).f_code.co_filename)}:{attribute}"

        @wraps(function)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            with SubTracker(name, sub_tracking_file=sub_tracking_file, overwrite=overwrite):
                return function(*arguments, **keywords)
        return wrapper
    return decorate


# ---- reading ------------------------------------------------------------------------------

def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _read_csv(path: str, skip: int = 0, limit: Optional[int] = None) -> Rows:
    import csv

    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        for _ in range(skip):
            file.readline()
        rows = []
        for row in csv.DictReader(file):
            if limit is not None and len(rows) == limit:
                break
            rows.append({key: value if key == "code_block_name" else _number(value)
                         for key, value in row.items()})
        return rows


def _read_table(path: str, table: str) -> Rows:
    import sqlite3
    from urllib.parse import quote

    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
    finally:
        connection.close()


def _combine_csv(path: str, files: Iterable[str]) -> None:
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="") as out:
        out.write(",".join(_COLUMNS) + "\n")
        for file in files:
            with open(file, encoding="utf-8", errors="surrogateescape", newline="") as rows:
                rows.readline()
                text = rows.read().replace("\r\n", "\n")
                out.write(text if not text or text.endswith("\n") else text + "\n")


def _combine_sqlite(path: str, files: Iterable[str]) -> None:
    rows = [tuple(row[column] for column in _COLUMNS)
            for file in files for row in _read_table(file, "data")]
    import sqlite3

    connection = sqlite3.connect(path)
    try:
        with connection:
            connection.execute("CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, "
                               "position INTEGER, timestamp FLOAT)")
            connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", rows)
    finally:
        connection.close()


def _describe_stop(events: List[Tuple[int, float, int]]) -> str:
    """A stop with nothing open before it, and the row that comes next."""
    process_id, timestamp, _ = events[0]
    invalid = "Sub-tracking file is invalid. Detected"
    if len(events) == 1:
        return f"{invalid} a stop ({timestamp}) of process ID {process_id} without a start."
    pair = f"{invalid} timestamp pair ({timestamp}, {events[1][1]})"
    if events[1][0] != process_id:
        return f"{pair} with differing process IDs: {process_id} and {events[1][0]}."
    return f"{pair} of process ID {process_id} with a start time greater than the stop time."


# ---- analysis -----------------------------------------------------------------------------

@dataclass
class CodeBlockResults:
    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: Dict[str, float]  # in seconds: min, max, mean, std, total
    resource_usage: Statistics      # min, max, mean, std of each measurement


@dataclass
class SubTrackingResults:
    overall: Statistics
    static_data: Dict[str, Any]
    code_block_results: List[CodeBlockResults]

    def to_json(self) -> Dict[str, Any]:
        from dataclasses import asdict

        return asdict(self)

    def __str__(self) -> str:
        return getattr(self, "_text", "") or repr(self)


@dataclass
class ComparisonResults:
    overall_resource_usage: Dict[str, Dict[str, float]]                # measurement -> session
    code_block_resource_usage: Dict[str, Dict[str, Dict[str, float]]]  # measurement -> block
    code_block_compute_time: Dict[str, Dict[str, float]]               # block -> session

    def to_json(self) -> Dict[str, Any]:
        from dataclasses import asdict

        return asdict(self)

    def __str__(self) -> str:
        return getattr(self, "_text", "") or repr(self)


def _run(*words: str) -> Tuple[Dict[str, Any], str]:
    """`gpu-tracker sub-track WORDS` as JSON and as text. Its complaint is our exception."""
    import json
    import subprocess

    from spoor import find_program

    outputs = []
    for form in ("json", "text"):
        done = subprocess.run(["gpu-tracker", "sub-track", *words, "-f", form],
                              executable=find_program(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode != 0:
            raise ValueError(said.partition("ERROR:root:")[2] or said)
        outputs.append(done.stdout.decode("utf-8", "replace"))
        if form == "json" and said:
            import logging

            for line in said.splitlines():
                logging.warning(line.partition("WARNING:root:")[2] or line)
    return json.loads(outputs[0]), outputs[1].rstrip("\n")


class SubTrackingAnalyzer:
    """What was used while blocks of code ran: a tracking file and a sub-tracking file."""

    def __init__(self, tracking_file: Optional[str], sub_tracking_file: str) -> None:
        for path in (tracking_file, sub_tracking_file):
            if path is not None:
                _extension(path)
        self._tracking_file = tracking_file
        self._sub_tracking_file = sub_tracking_file

    def _tracking_path(self) -> str:
        if self._tracking_file is None:
            raise ValueError("The analyzer was made without a tracking file.")
        return self._tracking_file

    def _events(self) -> Rows:
        path = self._sub_tracking_file
        return _read_csv(path) if path.endswith(".csv") else _read_table(path, "data")

    def _all_timepoints(self) -> Rows:
        path = self._tracking_path()
        return _read_csv(path, skip=2) if path.endswith(".csv") else _read_table(path, "data")

    def read_static_data(self) -> Dict[str, Any]:
        """The units and capacities of the tracking file."""
        path = self._tracking_path()
        rows = _read_csv(path, limit=1) if path.endswith(".csv") else \
            _read_table(path, "static_data")
        return rows[0]

    def load_code_block_names(self) -> List[str]:
        return sorted({row["code_block_name"] for row in self._events()})

    def combine_sub_tracking_files(self, files: List[str]) -> None:
        """Makes the sub-tracking file out of those of several processes."""
        path = self._sub_tracking_file
        extension = _extension(path)
        if os.path.exists(path):
            raise ValueError(f"Cannot create sub-tracking file {path}. File already exists.")
        for file in files:
            if not file.endswith(extension):
                raise ValueError(f"File {file} does not end with the same extension as {path}. "
                                 f'Must end in "{extension}".')
        (_combine_csv if extension == ".csv" else _combine_sqlite)(path, files)

    def load_timestamp_pairs(self, code_block_name: str) -> List[Tuple[float, float]]:
        """Start and stop of each call. Of calls inside each other the innermost stops first; a
        call that has not stopped is left out."""
        events = sorted(((row["process_id"], float(row["timestamp"]), row["position"])
                         for row in self._events() if row["code_block_name"] == code_block_name),
                        key=lambda event: event[:2])
        pairs: List[Tuple[int, float, float]] = []
        started: Dict[int, List[float]] = {}
        for i, (process_id, timestamp, position) in enumerate(events):
            starts = started.setdefault(process_id, [])
            if position == 0:
                starts.append(timestamp)
            elif starts:
                pairs.append((process_id, starts.pop(), timestamp))
            else:
                raise ValueError(_describe_stop(events[i:i + 2]))
        return [(start, stop) for _, start, stop in sorted(pairs)]

    def load_timepoints(self, timestamp_pairs: List[Tuple[float, float]]) -> Rows:
        """The rows of the tracking file that lie in one of the pairs, ends included."""
        return [row for row in self._all_timepoints()
                if any(start <= row["timestamp"] <= stop for start, stop in timestamp_pairs)]

    def overall_timepoint_results(self) -> Statistics:
        """min, max, mean and std of each measurement over all rows of the tracking file."""
        rows = self._all_timepoints()
        results: Statistics = {}
        for name in rows[0] if rows else ():
            if name != "timestamp":
                values = [float(row[name]) for row in rows]
                mean = sum(values) / len(values)
                results[name] = {
                    "min": min(values), "max": max(values), "mean": mean,
                    "std": (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5}
        return results

    def sub_tracking_results(self) -> SubTrackingResults:
        """All of it: overall, and for each block."""
        data, text = _run("analyze", f"--tf={self._tracking_path()}",
                          f"--stf={self._sub_tracking_file}")
        results = SubTrackingResults(
            data["overall"], data["static_data"],
            [CodeBlockResults(**block) for block in data["code_block_results"]])
        results._text = text  # type: ignore[attr-defined]
        return results


class TrackingComparison:
    """Results of several sessions side by side: {session: path of its JSON results}."""

    def __init__(self, file_path_map: Dict[str, str]) -> None:
        self._file_path_map = dict(file_path_map)
        self.results_map: Dict[str, Any] = {}
        import json

        for session, path in self._file_path_map.items():
            with open(path, encoding="utf-8") as file:
                try:
                    self.results_map[session] = json.load(file)
                except ValueError:
                    raise ValueError(f"{path} is no JSON: write the results of a session with "
                                     "json.dump(results.to_json(), file), or by gpu-tracker "
                                     "sub-track analyze -f json") from None
        self._compare("mean")

    def _compare(self, statistic: str) -> Tuple[Dict[str, Any], str]:
        words = [word for session, path in self._file_path_map.items()
                 for word in ("-m", f"{session}={path}")]
        return _run("compare", *words, f"--stat={statistic}")

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """One statistic (min, max, mean, std) of every measurement, session by session."""
        if statistic not in ("min", "max", "mean", "std"):
            raise ValueError(f"Invalid summary statistic '{statistic}'. Valid values are min max "
                             "mean std.")
        data, text = self._compare(statistic)
        results = ComparisonResults(**data)
        results._text = text  # type: ignore[attr-defined]
        return results
