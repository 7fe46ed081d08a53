# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: `pytest --spoor` measures every test, including the processes that the test starts.

pytest imports this package wherever spoor is installed. It is therefore not a part of `spoor`, which is imported
only with --spoor.

Each test has its own tracker, from the end of its setup to the start of its teardown. The tracker is another
process, so its own usage is not counted. Before each test, the kernel's memory peak of this process is reset, so
that a peak is exact even if an earlier test had a higher one.
"""
from __future__ import annotations

import functools
import os
import re
import time
from typing import Any, Callable, NamedTuple, Optional

import pytest

_SHOWN_MAX = 10
_BYTES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SECONDS = {"s": 1, "ms": 1e-3, "min": 60}


class _Figure(NamedTuple):
    name: str
    limit: str     # the keyword of the mark
    property: str  # the name of the property in the test report and in JUnit's XML
    units: dict[str, float]

    def text(self, value: Optional[float], sign: str = "") -> str:
        if value is None:
            return "unknown"
        return f"{value / 1e6:{sign}.1f} MB" if self.units is _BYTES else f"{value:.3f} s"


_FIGURES = {
    "memory": _Figure("peak memory", "max_memory", "spoor_memory_bytes", _BYTES),
    "growth": _Figure("memory growth", "max_growth", "spoor_growth_bytes", _BYTES),
    "cpu": _Figure("CPU time", "max_cpu", "spoor_cpu_seconds", _SECONDS),
    "time": _Figure("time", "max_time", "spoor_time_seconds", _SECONDS)}
_REASON = "spoor_unknown"  # the property with the reasons why figures are missing


# ---- limits ----

def _parse(figure: _Figure, limit: object) -> float:
    """Returns a limit in bytes or seconds from a number or a text with a unit."""
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        return limit
    found = re.fullmatch(r"(\d+\.?\d*) ?([A-Za-z]+)", limit) if isinstance(limit, str) else None
    if not found or found[2] not in figure.units:
        pytest.fail(f"spoor: invalid limit {figure.limit}={limit!r}: expected a number of "
                    f"{'bytes' if figure.units is _BYTES else 'seconds'}, or one with a unit: "
                    f"{', '.join(figure.units)}", pytrace=False)
    return float(found[1]) * figure.units[found[2]]


def _find_limits(item: pytest.Item) -> dict[str, tuple[object, float]]:
    """Returns {figure: (limit as written, its value)}. The closest mark with a limit is used."""
    limits: dict[str, tuple[object, float]] = {}
    for mark in item.iter_markers("spoor"):
        names = [figure.limit for figure in _FIGURES.values()]
        for unknown in [repr(value) for value in mark.args] + [name for name in mark.kwargs if name not in names]:
            pytest.fail(f"spoor: invalid argument {unknown} of the mark: expected {', '.join(names)}", pytrace=False)
        for key, figure in _FIGURES.items():
            if figure.limit in mark.kwargs and key not in limits:
                limit = mark.kwargs[figure.limit]
                limits[key] = (limit, _parse(figure, limit))
    return limits


def _check(item: pytest.Item, usage: dict[str, Any], limits: dict[str, tuple[object, float]]) -> None:
    """Fails the test if a figure is above its limit; warns if the figure is unknown."""
    exceeded = []
    for key, (limit, value) in limits.items():
        figure = _FIGURES[key]
        measured = usage.get(figure.property)
        if measured is None:
            item.warn(pytest.PytestWarning(f"spoor: {figure.limit}={limit!r} was not checked: the {figure.name} of "
                                           f"{item.nodeid} is unknown: {usage.get(_REASON)}"))
        elif measured > value:
            exceeded.append(f"spoor: the {figure.name} of the test is {figure.text(measured)}, more than "
                            f"{figure.limit}={limit!r}")
    if exceeded:
        pytest.fail("\n".join(exceeded), pytrace=False)


# ---- one test ----

def _reset_high_water_mark() -> None:
    """Resets the kernel's memory peak of this process to its current memory. Trackers that
    include the tests first read the old peak."""
    from spoor._tracker import sample_all

    sample_all()
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass  # if an earlier test had a higher peak, the peak is then only a lower bound


def _has_children() -> bool:
    """Returns whether this process has children, including exited ones that were not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class _KernelCounters:
    """The kernel's counters of this process and of the children it has waited for. If a test
    begins without children, all counted children, even short-lived ones, belong to the test, so
    the counters are lower bounds of the test's figures."""

    def __init__(self) -> None:
        from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

        own, children = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
        self.cpu_seconds = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
        self.largest_child_bytes = children.ru_maxrss * 1024

    def bounds_since(self, before: _KernelCounters) -> dict[str, float]:
        bounds = {"spoor_cpu_seconds": self.cpu_seconds - before.cpu_seconds}
        if self.largest_child_bytes > before.largest_child_bytes:
            bounds["spoor_memory_bytes"] = self.largest_child_bytes
        return bounds


def _measure(runtest: Callable[[], None], usage: dict[str, Any]) -> None:
    """Runs a test and measures its usage. If the tracker fails, `usage` contains the reason; the
    test does not fail."""
    import spoor

    tracker, before, owner = spoor.Tracker(gpus="none"), None, os.getpid()
    had_children = _has_children()
    _reset_high_water_mark()
    try:
        before = tracker.start().snapshot().rss_bytes
    except spoor.Error as error:
        usage[_REASON] = str(error)
    counters, start = _KernelCounters(), time.perf_counter()
    try:
        runtest()
    finally:
        usage["spoor_time_seconds"] = time.perf_counter() - start
        if tracker.is_running and owner == os.getpid():  # not in a child that the test has forked
            bounds = {} if had_children else _KernelCounters().bounds_since(counters)
            _read_result(tracker.stop(), before, bounds, usage)


def _read_result(result: Any, before: Optional[float], bounds: dict[str, float], usage: dict[str, Any]) -> None:
    if not result:
        usage.setdefault(_REASON, result.reason)
        return
    for name, measure in (("spoor_memory_bytes", result.peak_memory_bytes), ("spoor_cpu_seconds", result.cpu_seconds)):
        if measure.value is None:
            usage.setdefault(_REASON, measure.reason)
        else:
            usage[name] = max(measure.value, bounds.get(name, 0))
    if before is not None and "spoor_memory_bytes" in usage:
        usage["spoor_growth_bytes"] = max(usage["spoor_memory_bytes"] - before, 0)


def _run(item: pytest.Item, runtest: Callable[[], None]) -> None:
    """Replaces item.runtest(). An exceeded limit fails the test here, so that xfail and plugins
    treat it like any other failure."""
    usage: dict[str, Any] = {}
    limits = _find_limits(item)
    try:
        _measure(runtest, usage)
    finally:  # remove properties of an earlier attempt
        item.user_properties[:] = [pair for pair in item.user_properties if not pair[0].startswith("spoor_")]
        item.user_properties += usage.items()
    _check(item, usage, limits)


# ---- the plugin ----

class _Plugin:
    def __init__(self, sort: str) -> None:
        self._sort = sort
        self._tests: dict[str, dict[str, Any]] = {}  # the properties of each test, by node ID

    def pytest_itemcollected(self, item: Any) -> None:
        item.runtest = functools.partial(_run, item, item.runtest)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects properties. Called in the process that prints the summary; with pytest-xdist,
        tests run in other processes."""
        if report.when == "call":
            self._tests[report.nodeid] = {name: value for name, value in report.user_properties
                                          if name.startswith("spoor_")}

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        figure, write = _FIGURES[self._sort], terminalreporter.write_line
        if not self._tests:
            return
        known = [test for test in self._tests.items() if figure.property in test[1]]
        known.sort(key=lambda test: float(test[1][figure.property]), reverse=True)
        terminalreporter.write_sep("=", f"spoor: largest {figure.name}, {len(known[:_SHOWN_MAX])} of "
                                        f"{len(self._tests)} tests")
        if known:
            write(f"{'memory':>12} {'growth':>12} {'CPU':>10} {'time':>10}  test")
        for name, usage in known[:_SHOWN_MAX]:
            memory, growth, cpu, seconds = (each.text(usage.get(each.property), "+" if key == "growth" else "")
                                            for key, each in _FIGURES.items())
            write(f"{memory:>12} {growth:>12} {cpu:>10} {seconds:>10}  {name}")
        missing: dict[str, list[str]] = {}  # tests by reason
        for name, usage in self._tests.items():
            if _REASON in usage:
                missing.setdefault(usage[_REASON], []).append(name)
        for reason, names in missing.items():
            write(f"unknown: {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spoor")
    group.addoption("--spoor", action="store_true", help="measure memory, CPU time and time of each test")
    group.addoption("--spoor-sort", choices=list(_FIGURES), default="memory",
                    help="the figure by which --spoor selects tests (default: %(default)s)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spoor(max_memory, max_growth, max_cpu, max_time): with --spoor, fail the test "
                                       "if it uses more, such as max_memory='200MB' or max_cpu=1.5 (seconds)")
    if config.getoption("--spoor"):
        config.pluginmanager.register(_Plugin(config.getoption("--spoor-sort")))
