# SPDX-License-Identifier: Apache-2.0
"""Checks that the memory figures of a report do not contradict each other.

Every report that a test produces is checked (schema.py, and rules.py of tests/truth).
"""
import math

SCOPES = ("main", "descendants", "combined")
# Figures that cannot exceed the other figure, neither in value nor in a bound.
NOT_ABOVE = [
    *[(f"{scope}.{part}_rss_bytes", f"{scope}.total_rss_bytes")
      for scope in SCOPES for part in ("private", "shared")],
    *[(f"{scope}.{part}_rss_bytes", f"combined.{part}_rss_bytes")
      for scope in SCOPES[:2] for part in ("total", "private")],
    ("combined.private_rss_bytes", "combined.pss_bytes"),
    ("combined.pss_bytes", "combined.total_rss_bytes"),
    *[(f"at_peak.{part}_rss_bytes", f"combined.{part}_rss_bytes")
      for part in ("total", "private", "shared")],
    ("anon_peak_bytes", "job_peak_bytes"),
    ("page_cache_peak_bytes", "job_peak_bytes"),
]


def limits(memory, path):
    """Returns the known ones of "value", "low" and "high" of a figure."""
    figure = memory
    for key in path.split("."):
        figure = figure[key]
    value = figure["value"]
    if value is None:
        return {}
    if figure["exact"]:
        return {"value": value, "low": value, "high": value}
    if "low" not in figure:
        return {"value": value}
    high = math.inf if figure["high"] is None else figure["high"]
    return {"value": value, "low": figure["low"], "high": high}


def of_section(memory, place):
    """Returns the contradictions in one section of memory, as a list of texts."""
    faults = []
    for scope in SCOPES:
        total = limits(memory, f"{scope}.total_rss_bytes")
        if not total.get("low", 0) <= total.get("value", 0) <= total.get("high", math.inf):
            faults.append(f"{place}.{scope}: {total}")
    for path, above in NOT_ABOVE:
        part, whole = limits(memory, path), limits(memory, above)
        faults += [f"{place}: {kind} of {path}, {part[kind]}, is above that of {above}, "
                   f"{whole[kind]}" for kind in part if part[kind] > whole.get(kind, math.inf)]
    total, private, shared = (limits(memory, f"at_peak.{part}_rss_bytes").get("value")
                              for part in ("total", "private", "shared"))
    if None not in (total, private, shared) and private + shared != total:
        faults.append(f"{place}.at_peak: {private} + {shared} is not {total}")
    main, descendants, combined = (limits(memory, f"{scope}.total_rss_bytes") for scope in SCOPES)
    if main and descendants and combined["low"] > main["high"] + descendants["high"]:
        faults.append(f"{place}: at least {combined['low']} in all, but at most {main['high']} of "
                      f"main and {descendants['high']} of the descendants")
    return faults


def contradictions(report):
    """Returns the contradictions between the memory figures of a report, as a list of texts."""
    faults = of_section(report["memory"], "memory")
    for index, phase in enumerate(report["phases"]):
        faults += of_section(phase["memory"], f"phases[{index}].memory")
    return faults
