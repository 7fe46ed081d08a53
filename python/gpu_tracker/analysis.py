# SPDX-License-Identifier: Apache-2.0
"""The usage of code blocks. The program gpu-tracker does the analysis.

If pandas is installed, `Frame` is a pandas.DataFrame and `Column` a pandas.Series. Otherwise they are a _table.Table
and a _table.Series.
"""
from __future__ import annotations

import csv
import io
import json
import logging
import os
import pickle
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any, Iterable, Iterator, List, Tuple
from urllib.parse import quote

from spoor._agent import Agent

from ._table import frame, plain, series, table
from .sub_tracker import check_extension, check_present

Frame = Any
Column = Any
Pairs = List[Tuple[float, float]]


class _Results:
    _text = ""  # the output of the program

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = _plain(self)
        return data

    def __str__(self) -> str:
        return self._text or repr(self)


@dataclass
class CodeBlockResults:
    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: Column   # in seconds: min, max, mean, std, total
    resource_usage: Frame  # columns: min, max, mean, std; a row for each measurement


@dataclass
class SubTrackingResults(_Results):
    overall: Frame  # same columns as resource_usage
    static_data: Column
    code_block_results: list[CodeBlockResults]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the results as JSON data, so that any version of pandas can read them."""
        return _read_results, (self.to_json(), self._text)


@dataclass
class ComparisonResults(_Results):
    overall_resource_usage: dict[str, Column]                # measurement -> session
    code_block_resource_usage: dict[str, dict[str, Column]]  # measurement -> block -> session
    code_block_compute_time: dict[str, Column]               # block -> session


def _plain(results: Any) -> Any:
    """Converts the results to JSON data."""
    data = {field.name: plain(getattr(results, field.name)) for field in fields(results)}
    if isinstance(results, SubTrackingResults):
        data["code_block_results"] = [_plain(block) for block in results.code_block_results]
    return data


def _read_results(data: dict[str, Any], text: str = "") -> SubTrackingResults:
    results = SubTrackingResults(
        table(data["overall"]), series(data["static_data"]),
        [CodeBlockResults(block["name"], block["num_timepoints"], block["num_calls"],
                          block["num_non_empty_calls"], series(block["compute_time"]),
                          table(block["resource_usage"]))
         for block in data["code_block_results"]])
    results._text = text
    return results


class _Unpickler(pickle.Unpickler):
    """Loads only results: any other class in a pickle could run arbitrary code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _read_results.__name__):
            return _read_results
        raise pickle.UnpicklingError(f"{module}.{name} is no part of results")


def _unpickle(data: bytes, path: str) -> SubTrackingResults:
    try:
        results = _Unpickler(io.BytesIO(data)).load()
        if isinstance(results, SubTrackingResults) and _plain(results):
            return results
    except Exception:  # a damaged pickle may raise anything
        pass
    raise ValueError(f"File {path} is not a result of SubTrackingAnalyzer.sub_tracking_results()")


def _run(op: str, *arguments: str) -> dict[str, Any]:
    """Returns the response of `gpu-tracker agent sub-track`. Logs its warnings and raises its error."""
    agent = Agent("sub-track", name="gpu-tracker")
    try:
        answer = agent.ask(op, *map(os.fsdecode, arguments))
    finally:
        agent.close()
    for warning in answer.get("warnings", ()):
        logging.warning(warning)
    return answer


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _read_rows(path: str, skip: int = 0) -> Iterator[dict[str, Any]]:
    """Yields the rows of a tracking or sub-tracking file; skips `skip` lines of a CSV file."""
    if path.endswith(".csv"):
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            for _ in range(skip):
                file.readline()
            for row in csv.DictReader(file):
                yield {key: value if key == "code_block_name" else _number(value)
                       for key, value in row.items()}
    else:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            yield from map(dict, connection.execute("SELECT * FROM data"))


class SubTrackingAnalyzer:
    """Analyzes the usage of code blocks, from a tracking file and a sub-tracking file."""

    def __init__(self, tracking_file: str | None, sub_tracking_file: str) -> None:
        for path in (tracking_file, sub_tracking_file):
            if path is not None:
                check_extension(path)
        if tracking_file is not None:
            check_present(tracking_file)
        self._tracking_file = tracking_file
        self._sub_tracking_file = sub_tracking_file

    def _tracking_path(self) -> str:
        if self._tracking_file is None:
            raise ValueError("The analyzer was made without a tracking file.")
        return self._tracking_file

    def read_static_data(self) -> Column:
        """Returns the units and capacities in the tracking file."""
        return series(_run("analyze", self._tracking_path())["results"]["static_data"])

    def load_code_block_names(self) -> list[str]:
        return sorted({row["code_block_name"] for row in _read_rows(self._sub_tracking_file)})

    def combine_sub_tracking_files(self, files: Iterable[str]) -> None:
        """Combines the files of several processes into the sub-tracking file."""
        try:
            _run("combine", self._sub_tracking_file, *files)
        except FileExistsError as error:
            raise ValueError(str(error)) from None

    def load_timestamp_pairs(self, code_block_name: str) -> Pairs:
        """Returns the start and stop times of each call. If calls are nested, the first stop
        belongs to the innermost one. Calls that have not stopped are left out."""
        calls = _run("calls", self._sub_tracking_file, code_block_name)["calls"]
        return [(float(start), float(stop)) for _, start, stop in sorted(calls)]  # by process ID

    def load_timepoints(self, timestamp_pairs: Pairs) -> Frame:
        """Returns the rows of the tracking file within one of the pairs, start and stop included: a
        pandas.DataFrame or, without pandas, a list of dicts."""
        rows = list(_read_rows(self._tracking_path(), skip=2))
        return frame([row for row in rows if any(start <= row["timestamp"] <= stop
                                                 for start, stop in timestamp_pairs)], [*rows[0]] if rows else [])

    def overall_timepoint_results(self) -> Frame:
        """Returns min, max, mean and std of each measurement over all rows of the tracking file."""
        return table(_run("analyze", self._tracking_path())["results"]["overall"])

    def sub_tracking_results(self) -> SubTrackingResults:
        """Returns the results overall and for each block."""
        answer = _run("analyze", self._tracking_path(), self._sub_tracking_file)
        return _read_results(answer["results"], answer["text"])


class TrackingComparison:
    """Compares the results of several sessions. The argument is {session: path of its results},
    as JSON or as a pickle of SubTrackingResults."""

    def __init__(self, file_path_map: dict[str, str]) -> None:
        self.results_map: dict[str, SubTrackingResults] = {}
        with tempfile.TemporaryDirectory(prefix="gpu-tracker-") as folder:
            words = []
            for number, (session, path) in enumerate(file_path_map.items()):
                with open(path, "rb") as file:
                    data = file.read()
                if data.startswith((b"\x80", b"cgpu_tracker.")):
                    self.results_map[session] = _unpickle(data, path)
                    path = os.path.join(folder, f"{number}.json")
                    with open(path, "w", encoding="utf-8") as text:
                        json.dump(self.results_map[session].to_json(), text)
                words += [session, os.fspath(path)]
            self._statistics = _run("compare", *words)["statistics"]
        for session, path in file_path_map.items():
            if session not in self.results_map:
                with open(path, encoding="utf-8") as file:
                    self.results_map[session] = _read_results(json.load(file))

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """Returns one statistic (min, max, mean, std) of each measurement for each session."""
        if statistic not in self._statistics:
            raise ValueError(f"Invalid summary statistic '{statistic}'. Valid values are "
                             f"{' '.join(self._statistics)}.")
        answer = self._statistics[statistic]
        data = answer["results"]
        results = ComparisonResults(
            {name: series(row) for name, row in data["overall_resource_usage"].items()},
            {name: {block: series(row) for block, row in blocks.items()}
             for name, blocks in data["code_block_resource_usage"].items()},
            {block: series(row) for block, row in data["code_block_compute_time"].items()})
        results._text = answer["text"]
        return results
