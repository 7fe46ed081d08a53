# SPDX-License-Identifier: Apache-2.0
"""Measure: a number with its source and its bounds."""
from __future__ import annotations

from typing import Any, Optional, Union

from ._program import Error

Number = Union[int, float]


class UnknownError(Error, ValueError):
    """Raised when an unmeasured figure is used as a number; str(error) is the reason."""


class Measure:
    """A measured number. It compares, calculates and formats as one: ``result.cpu_seconds > 60``.

    A figure that was not measured has no number. It is false, its text is ``unknown``, and an attempt to calculate
    with it raises an `UnknownError` with the reason.

    Attributes
    ----------
    value : int, float or None
        None if the figure was not measured.
    source : str or None
        The origin of the value, such as ``"cgroup.cpu.stat"``.
    exact : bool
        True if the value is exact. A value that was sampled is a lower bound of a peak.
    low, high : int, float or None
        Bounds of the true value. None if a bound is unknown.
    reason : str or None
        The reason why there is no value.
    """
    __slots__ = ("value", "source", "exact", "low", "high", "reason")

    value: Optional[Number]
    source: Optional[str]
    exact: bool
    low: Optional[Number]
    high: Optional[Number]
    reason: Optional[str]

    def __init__(self, value: Optional[Number] = None, source: Optional[str] = None, exact: bool = False,
                 low: Optional[Number] = None, high: Optional[Number] = None, reason: Optional[str] = None) -> None:
        self.value, self.source, self.exact = value, source, exact
        self.low, self.high, self.reason = low, high, reason

    def _number(self) -> Number:
        if self.value is None:
            raise UnknownError(f"unknown: {self.reason or 'it was not measured'}")
        return self.value

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Measure) else other)

    def __lt__(self, other: Any) -> bool:
        return bool(self._number() < _plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._number() <= _plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._number() > _plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._number() >= _plain(other))

    def __add__(self, other: Any) -> Any:
        return self._number() + _plain(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._number() - _plain(other)

    def __rsub__(self, other: Any) -> Any:
        return _plain(other) - self._number()

    def __mul__(self, other: Any) -> Any:
        return self._number() * _plain(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._number() / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _plain(other) / self._number()

    def __round__(self, digits: Optional[int] = None) -> Any:
        return round(self._number(), digits)

    def __format__(self, spec: str) -> str:
        if self.value is not None:
            return format(self.value, spec)
        # The width of a number format still applies, so that tables stay aligned.
        width = spec.lstrip("<>=^+- #0").partition(".")[0].rstrip("_,%bcdeEfFgGnoxX")
        return "unknown".rjust(int(width)) if width.isdigit() else "unknown"

    def __str__(self) -> str:
        return format(self, "")

    def __repr__(self) -> str:
        if self.value is None:
            return f"Measure(unknown: {self.reason or 'not measured'})"
        if self.exact:
            return f"Measure({self.value}, exact)"
        if self.low is None and self.high is None:
            return f"Measure({self.value})"
        low, high = ("?" if bound is None else bound for bound in (self.low, self.high))
        return f"Measure({self.value}, {low} to {high})"


def _plain(other: Any) -> Any:
    return other._number() if isinstance(other, Measure) else other
