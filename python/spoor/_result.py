# SPDX-License-Identifier: Apache-2.0
"""The result of a run."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._report import Report


class Result:
    """The result of a run: as text (str), as a dict (to_dict, [...]) and as data classes."""

    def __init__(self, data: dict[str, Any], text: str = "") -> None:
        self._data = data
        self._text = text
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        if self._report is None:
            from ._report import build_report

            self._report = build_report(self._data)
        return self._report

    def to_dict(self) -> dict[str, Any]:
        """The report as `spoor run -f json` writes it."""
        return self._data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __getattr__(self, name: str) -> Any:
        """result.memory is result.report.memory."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.report, name)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        run = self._data["run"]
        return f"<spoor.Result pid={run['pid']} elapsed_seconds={run['elapsed_seconds']}>"
