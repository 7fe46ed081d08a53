# SPDX-License-Identifier: Apache-2.0
"""The result of a run, and its page: one HTML file that needs nothing else."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping

from ._program import Error, find_program

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._report import Report

_FRAME = ('<iframe title="report" sandbox="allow-scripts allow-downloads allow-popups" '
          'style="width: 100%; height: 80vh; border: 0" srcdoc="{}"></iframe>')


class Page(str):
    """The text of an HTML page. A notebook shows the page itself."""

    def save(self, path: str | os.PathLike[str]) -> Self:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> Self:
        """Opens the page in a web browser, from a temporary file."""
        import tempfile
        import webbrowser

        # The browser may read the file long after this call, so it is left in the temporary folder.
        fd, path = tempfile.mkstemp(prefix="spoor-report-", suffix=".html")
        os.close(fd)
        self.save(path)
        webbrowser.open("file://" + path)
        return self

    def _repr_html_(self) -> str:
        from html import escape

        return _FRAME.format(escape(self))


def make_page(report: Mapping[str, Any], samples: str | None = None) -> str:
    """The page of a JSON report, made by the program. samples are the rows of the run, as CSV."""
    import json
    import subprocess

    text = json.dumps(report, allow_nan=False)
    command = [find_program(), "report", "--format=html", "--output=-", "-"]
    with open(os.memfd_create("samples"), "w", encoding="utf-8", newline="") as file:
        if samples is not None:
            file.write(samples)
            file.flush()
            command.append(f"/proc/self/fd/{file.fileno()}")
        done = subprocess.run(command, input=text.encode(errors="replace"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, pass_fds=[file.fileno()], check=False)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
        raise Error(f"cannot make the page: {reason.removeprefix('spoor: ')}")
    return done.stdout.decode(errors="replace")


class Result:
    """The result of a run: as text (str), as a dict (to_dict, [...]), as data classes (data) and as
    a page (report()).

    If the tracker has failed there is no report: the result is false, `reason` and its text say
    why, and everything else raises an Error.
    """

    def __init__(self, data: dict[str, Any] | None, text: str = "",
                 reason: str | None = None) -> None:
        self._data = data
        self._text = text
        self.reason = reason  # why there is no report; None: there is one
        self._report: Report | None = None

    @property
    def data(self) -> Report:
        """The report as data classes."""
        if self._report is None:
            from ._report import build_report

            self._report = build_report(self.to_dict())
        return self._report

    def report(self) -> Page:
        """The report as an HTML page, with save() and browse(). A notebook shows it inline."""
        return Page(make_page(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """The report as `spoor run -f json` writes it."""
        if self._data is None:
            raise Error(str(self))
        return self._data

    def __bool__(self) -> bool:
        return self._data is not None

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __getattr__(self, name: str) -> Any:
        """result.memory is result.data.memory."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.data, name)

    def __str__(self) -> str:
        return self._text if self else f"no result: {self.reason}"

    def __repr__(self) -> str:
        if self._data is None:
            return f"<spoor.Result: {self.reason}>"
        run = self._data["run"]
        return f"<spoor.Result pid={run['pid']} elapsed_seconds={run['elapsed_seconds']}>"
