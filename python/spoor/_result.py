# SPDX-License-Identifier: Apache-2.0
"""The result of a run."""
from __future__ import annotations

from ._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._page import Page
    from ._report import Report


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
        from ._page import Page, make_page

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
