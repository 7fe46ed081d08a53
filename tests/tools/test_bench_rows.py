# SPDX-License-Identifier: Apache-2.0
"""The verdicts of the bench, and its table."""
import pathlib
import random
import statistics
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import rows  # noqa: E402


def row(value, limit, spread=0.0):
    return rows.Row("a figure", "ms", value, 1.0, limit, "", spread)


def test_value_at_the_limit_is_ok():
    assert row(5.0, 5.0).verdict == "ok"


def test_value_above_the_limit_is_over():
    assert row(5.1, 5.0).verdict == "OVER"
    assert row(5.1, 5.0, 0.04).verdict == "OVER"


def test_value_above_the_limit_within_the_noise_is_unclear():
    assert row(5.1, 5.0, 0.06).verdict == "unclear"


def test_without_a_limit_there_is_no_verdict():
    assert row(5.0, None).verdict == ""
    assert row(5.0, None).as_json()["verdict"] is None


def test_one_outlier_does_not_widen_the_spread():
    assert rows.spread_of([10.0] * 9 + [1000.0]) == 0.0


def test_spread_is_the_standard_error_of_the_median():
    chance = random.Random(1)
    medians = [statistics.median(values) for values in
               ([chance.gauss(10, 2) for _ in range(25)] for _ in range(1000))]
    spreads = [rows.spread_of([chance.gauss(10, 2) for _ in range(25)]) for _ in range(1000)]
    assert statistics.mean(spreads) == pytest.approx(statistics.stdev(medians), rel=0.1)


def test_columns_of_the_table_are_aligned():
    lines = rows.format_table([row(5.0, 5.0), row(12345.6, None)])
    assert lines[2].startswith("a figure") and lines[2].endswith("ok")
    assert lines[3].index(" ms") - lines[2].index(" ms") == 0
    assert "12,346 ms" in lines[3]
