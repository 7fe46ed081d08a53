# SPDX-License-Identifier: Apache-2.0
"""The report as a page: one HTML file that needs nothing else."""
from __future__ import annotations

import os

from ._agent import find_program
from ._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, TypeVar

    P = TypeVar("P", bound="Page")

_FRAME = ('<iframe title="report" sandbox="allow-scripts allow-downloads allow-popups" '
          'style="width: 100%; height: 80vh; border: 0" srcdoc="{}"></iframe>')


class Page(str):
    """The text of an HTML page. A notebook shows the page itself."""

    def save(self: P, path: str | os.PathLike[str]) -> P:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self: P) -> P:
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


def make_page(report: Mapping[str, Any]) -> str:
    """The page of a JSON report, made by the program."""
    import json
    import subprocess

    text = json.dumps(report, allow_nan=False)
    done = subprocess.run([find_program(), "report", "--format=html", "--output=-", "-"],
                          input=text.encode(errors="replace"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
        raise Error(f"cannot make the page: {reason.removeprefix('spoor: ')}")
    return done.stdout.decode(errors="replace")
