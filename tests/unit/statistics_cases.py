# SPDX-License-Identifier: Apache-2.0
"""Writes statistics_cases.json, which test_statistics.c reads: values and their statistics, computed with scipy.

Run it by hand after adding a case: /usr/bin/python3 statistics_cases.py (python3-scipy)
"""

import json
import math
from pathlib import Path

import numpy
from scipy import stats

SIGNIFICANT = 0.05
EXACT_PAIRS = 2500


def interval(values):
    """Returns the 95 % interval of the median: the number of values below the median follows a
    binomial distribution."""
    count = len(values)
    ranks = [k for k in range(1, count // 2 + 1) if 2 * stats.binom.cdf(k - 1, count, 0.5) <= SIGNIFICANT]
    if not ranks:
        return None, None
    ordered = sorted(values)
    return ordered[ranks[-1] - 1], ordered[count - ranks[-1]]


def describe(values):
    low, high = interval(values)
    median = float(numpy.median(values))
    spread = 1.4826 * float(stats.median_abs_deviation(values))
    tolerance = 4 * max(spread, 0.005 * abs(median))
    return {
        "values": values,
        "min": min(values),
        "max": max(values),
        "mean": math.fsum(values) / len(values),
        "median": median,
        "low": low,
        "high": high,
        "spread": spread,
        "outliers": sum(abs(value - median) > tolerance for value in values),
    }


def p_value(a, b):
    method = "exact" if len(a) * len(b) <= EXACT_PAIRS else "asymptotic"
    return float(stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def accepted(a, b, ratios):
    """Returns the ratios that the test does not reject, for which b / ratio and a may come from
    the same distribution."""
    edges = numpy.unique(ratios)
    middles = numpy.concatenate([[edges[0] / 2], numpy.sqrt(edges[1:] * edges[:-1]), [edges[-1] * 2]])
    kept = [p_value(numpy.array(a) * middle, b) >= SIGNIFICANT for middle in middles]
    if not any(kept):  # all values are equal
        return float(edges[0]), float(edges[-1])
    first, last = kept.index(True), len(kept) - 1 - kept[::-1].index(True)
    if first == 0 or last == len(kept) - 1:
        return None, None
    return float(edges[first - 1]), float(edges[last])


def compare(a, b):
    case = {"a": sorted(a), "b": sorted(b), "p": None, "ratio": None, "low": None, "high": None}
    if 2 / math.comb(len(a) + len(b), len(a)) < SIGNIFICANT:
        case["p"] = p_value(a, b)
    if min(a) > 0 and min(b) > 0:
        ratios = numpy.divide.outer(b, a).ravel()
        case["ratio"] = float(numpy.median(ratios))
        case["low"], case["high"] = accepted(a, b, ratios)
    return case


def main():
    generator = numpy.random.default_rng(26)

    def times(count, scale=1.0):
        return [round(float(value), 6) for value in scale * generator.lognormal(0, 0.2, count)]

    def steps(count, scale=1.0):
        return [float(value) for value in numpy.ceil(scale * generator.lognormal(3, 0.1, count))]

    sets = [[5.0], [1.0, 2.0], [3.0, 1.0, 2.0], [0.0] * 8, [7.0] * 20, [1.0] * 11 + [100.0], [-3.0, 4.0, -1.0, 2.0, 9.0, 0.5]]
    sets += [times(count) for count in (5, 6, 7, 8, 9, 10, 11, 20, 21, 50, 99, 100, 300)]
    sets += [steps(count) for count in (6, 10, 25, 40)]
    sets += [[*times(30), 9.0, 0.01]]
    sets += [[float(value) for value in generator.permutation(count)] for count in (1000, 1001, 1500, 2000)]

    pairs = [([1.0], [2.0]), ([1.0, 2.0], [3.0, 4.0]), ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0])]
    pairs += [([0.0, 1.0, 2.0, 3.0], [5.0, 6.0, 7.0, 8.0]), ([2.0] * 6, [2.0] * 6), ([2.0] * 6, [3.0] * 6)]
    pairs += [(times(1), times(60, 1.1)), (times(3), times(9)), (times(4), times(4, 1.5)), (times(5), times(5)), (times(10), times(10, 1.1))]
    pairs += [(times(10), times(10, 3.2)), (times(12), times(30, 1.2)), (times(20), times(20)), (times(50), times(50, 1.05))]
    pairs += [(times(2), times(55, 1.6)), (times(51), times(50, 1.1)), (times(60), times(60))]
    pairs += [(steps(8), steps(8)), (steps(10), steps(10, 1.2)), (steps(25), steps(15, 1.05))]
    cases = {"sets": [describe(values) for values in sets], "pairs": [compare(a, b) for a, b in pairs]}
    # This case has many ties. The program omits the correction for ties when it estimates the
    # interval, so scipy's interval is not comparable.
    tied = compare(steps(60), steps(70, 1.03))
    del tied["low"], tied["high"]
    cases["pairs"].append(tied)
    for name, rows in cases.items():
        lines = ",\n".join("    " + json.dumps(row) for row in rows)
        cases[name] = f"  {json.dumps(name)}: [\n{lines}\n  ]"
    text = "{\n" + ",\n".join(cases.values()) + "\n}\n"
    Path(__file__).with_name("statistics_cases.json").write_text(text)


if __name__ == "__main__":
    main()
