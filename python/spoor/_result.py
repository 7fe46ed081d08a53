# SPDX-License-Identifier: Apache-2.0
"""The result of a run, and its page: a single HTML file without external resources."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, TypeVar, Union

from ._measure import Measure
from ._program import Error, find_program, make_error
from ._report import Report
from ._table import Table

Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
AnyPage = TypeVar("AnyPage", bound="Page")

_FRAME = ('<iframe title="report" sandbox="allow-scripts allow-downloads allow-popups" '
          'style="width: 100%; height: 80vh; border: 0" srcdoc="{}"></iframe>')


class Page(str):
    """The text of an HTML page. A notebook shows the rendered page."""

    def save(self: AnyPage, path: Union[str, os.PathLike[str]]) -> AnyPage:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self: AnyPage) -> AnyPage:
        """Opens the page in a web browser, from a temporary file."""
        import tempfile
        import webbrowser

        # The browser may read the file long after this call, so the file stays in the temporary
        # folder.
        fd, path = tempfile.mkstemp(prefix="spoor-report-", suffix=".html")
        os.close(fd)
        self.save(path)
        webbrowser.open("file://" + path)
        return self

    def _repr_html_(self) -> str:
        from html import escape

        return _FRAME.format(escape(self))


def _call_report(words: list[str], data: Optional[Mapping[str, Any]], what: str,
                 samples: Optional[str] = None) -> str:
    """Returns the output of `spoor report`, which reads a report from standard input and
    samples, as CSV, from a file."""
    import json
    import subprocess

    text = "" if data is None else json.dumps(data, allow_nan=False)
    command = [find_program(), "report", *words]
    with open(os.memfd_create("samples"), "w", encoding="utf-8", newline="") as file:
        if samples is not None:
            file.write(samples)
            file.flush()
            command.append(f"/proc/self/fd/{file.fileno()}")
        done = subprocess.run(command, input=text.encode(errors="replace"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, pass_fds=[file.fileno()], check=False)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
        raise Error(f"{what}: {reason.removeprefix('spoor: ')}")
    return done.stdout.decode(errors="replace")


def make_page(report: Mapping[str, Any], samples: Optional[str] = None) -> str:
    """Returns the page of a JSON report, made by the program. `samples` are the rows of the run,
    as CSV."""
    return _call_report(["--format=html", "--output=-", "-"], report, "cannot make the page", samples)


def _number(text: str) -> Any:
    """Parses a cell of a CSV file. Returns a number, a text, or None if the cell is empty."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def _read_samples(path: Path, run_id: str) -> Table:
    """Returns the rows of one run in a samples file, CSV or JSON lines."""
    import csv
    import json

    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        if os.fsdecode(path).endswith((".jsonl", ".ndjson")):
            rows = [json.loads(line) for line in file]
        else:
            rows = [{name: cell if name == "run_id" else _number(cell) for name, cell in row.items()}
                    for row in csv.DictReader(file)]
    rows = [row for row in rows if row.pop("run_id", run_id) == run_id]
    return Table({name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())})


class Result(Report):
    """The result of a run: `str` is one screen of text, `to_dict` the JSON, `report` a page with plots.

    The sections of the report are attributes: ``result.memory.combined.total_rss_bytes``. The figures that are used
    most have short names. If the tracker has failed there is no report: the result is false, `reason` is the
    reason, and every other attribute raises an `Error`.

    Attributes
    ----------
    reason : str or None
        The reason why there is no report; None if there is one.
    """

    def __init__(self, data: Optional[Mapping[str, Any]], text: Optional[str] = None,
                 reason: Optional[str] = None, samples: Optional[Path] = None) -> None:
        self._data = data
        self._text = text
        self._samples = samples
        self.reason = reason
        if data is not None:
            super().__init__(data)

    def __getattr__(self, name: str) -> Any:
        """Called for missing attributes; without a report, that is every attribute."""
        if name.startswith("_") or self.__dict__.get("_data") is not None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise Error(str(self))

    @property
    def elapsed_seconds(self) -> float:
        """The time from the start to the end of the run."""
        return self.run.elapsed_seconds

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code of the process; None if a signal killed it, or if it is still running."""
        return self.run.exit_code

    @property
    def cpu_seconds(self) -> Measure:
        """The CPU time of the job."""
        return self.cpu.total_seconds

    @property
    def mean_cores(self) -> Measure:
        """The CPU time of the job divided by its elapsed time."""
        return self.cpu.mean_cores

    @property
    def peak_memory_bytes(self) -> Measure:
        """The peak memory of the job; shared pages count once."""
        return self.memory.combined.total_rss_bytes

    @property
    def peak_gpu_memory_bytes(self) -> Measure:
        """The peak GPU memory of the job."""
        return self.gpu.memory.combined_bytes

    @property
    def read_bytes(self) -> Measure:
        """The bytes that the job read from storage."""
        return self.io.read_bytes

    @property
    def written_bytes(self) -> Measure:
        """The bytes that the job wrote to storage."""
        return self.io.written_bytes

    @property
    def samples(self) -> Table:
        """The samples of the run, one per row. The tracker must have written them to a file
        (``samples=``)."""
        run_id = self.run.id
        if self._samples is None:
            raise Error("there are no samples: give the tracker a file, samples='samples.csv'; "
                        "result.curve has the course of the run in fewer points")
        return _read_samples(self._samples, run_id)

    @property
    def data(self) -> Report:
        """The report as objects, which is this result itself."""
        if self._data is None:
            raise Error(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as `spoor run -f json` writes it."""
        if self._data is None:
            raise Error(str(self))
        return dict(self._data)

    def save(self, path: Path, format: Optional[str] = None) -> Result:
        """Writes the report to a file.

        Parameters
        ----------
        path : str, bytes or os.PathLike
            The file, which is replaced if it exists.
        format : {"json", "csv", "html", "text"}, optional
            By default the suffix of the file decides: .json, .csv, .html or .txt.
        """
        words = [f"--output={os.fsdecode(path)}"] + ([] if format is None else [f"--format={format}"])
        _call_report([*words, "-"], self.to_dict(), "cannot save the report")
        return self

    def report(self) -> Page:
        """Returns the report as an HTML page, with save() and browse(). A notebook shows the
        page inline."""
        return Page(make_page(self.to_dict()))

    def __bool__(self) -> bool:
        return self._data is not None

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __str__(self) -> str:
        if self._data is None:
            return f"no result: {self.reason}"
        if self._text is None:
            self._text = _call_report(["--format=text", "--output=-", "-"], self._data, "cannot show the report")
        return self._text

    def __repr__(self) -> str:
        if self._data is None:
            return f"<spoor.Result: {self.reason}>"
        return (f"<spoor.Result pid={self.run.pid} elapsed_seconds={self.elapsed_seconds:.3f} "
                f"cpu_seconds={self.cpu_seconds:.3f} peak_memory_bytes={self.peak_memory_bytes}>")

    def _repr_html_(self) -> str:
        """Returns a small table, for notebooks."""
        import re
        from html import escape

        if self._data is None:
            return f"<p>{escape(str(self))}</p>"
        head, _, body = escape(str(self).strip("\n"), quote=False).partition("\n\n")
        rows = []
        for line in body.splitlines():
            cells = re.fullmatch(r"(\S+(?: \S+)*) {2,}(\S+(?: \S+)*)(?: {2,}(.*))?", line)
            label, value, rest = cells.groups(default="") if cells else ("", "", line.strip())
            rows.append(f'<tr><th style="text-align: left">{label}</th><td style="text-align: right">{value}</td>'
                        f'<td style="text-align: left">{rest}</td></tr>')
        return f"<table><caption>{head}</caption>{''.join(rows)}</table>"


def load(path: Path) -> Result:
    """Reads a stored run.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        A JSON report, samples (CSV or JSON lines), or a tracking file of gpu-tracker: what `spoor report` reads.

    Returns
    -------
    Result

    Raises
    ------
    Error
        If the file cannot be read, or is none of these.
    """
    import json

    name = os.path.abspath(os.fsdecode(path))
    if not os.path.exists(name):
        raise make_error("ENOENT", f"{os.fsdecode(path)!r} does not exist")
    text = _call_report(["--format=json", "--output=-", name], None, "cannot load the run")
    is_samples = name.endswith((".csv", ".jsonl", ".ndjson"))
    return Result(json.loads(text), samples=name if is_samples else None)
