# SPDX-License-Identifier: Apache-2.0
"""The definition of growth in tests/torture/soak.py."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "torture"))

import soak  # noqa: E402: the line above adds its folder to the path


def looks(cpu=lambda step: step * 1000, memory=lambda step: 3000000, descriptors=lambda step: 20):
    return [(step, cpu(step), memory(step), descriptors(step)) for step in range(100, 10001, 100)]


def test_constant_usage_is_not_growth():
    faults, early, late = soak.judge("samples", looks(), False)
    assert faults == [] and early == late == (1000, 3000000, 20)


def test_growth_during_warm_up_is_accepted():
    assert soak.judge("samples", looks(memory=lambda step: min(step, 1000) * 10000), False)[0] == []


@pytest.mark.parametrize("what, grown", [
    ("CPU time per step", {"cpu": lambda step: step * step}),
    ("anonymous memory", {"memory": lambda step: 3000000 + 100 * step}),
    ("descriptors", {"descriptors": lambda step: 20 + step // 500})])
def test_steady_growth_is_detected(what, grown):
    fault, = soak.judge("samples", looks(**grown), False)[0]
    assert what in fault
