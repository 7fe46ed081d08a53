# SPDX-License-Identifier: Apache-2.0
"""Reports of real programs compared with the kernel's own figures: the cases of tests/truth/software.py."""
import argparse
import os
import sys

import pytest
from conftest import BINARY, TOP

sys.path.insert(0, str(TOP / "tests/truth"))
import software  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the outer cgroup and the proc connector need root")


@pytest.mark.parametrize("case", software.CASES, ids=lambda case: case.name)
def test_report_agrees_with_the_kernel(case):
    try:
        seen = software.observe(case, argparse.Namespace(binary=str(BINARY), user="", disable=""))
    except software.Unavailable as reason:
        pytest.skip(str(reason))
    assert list(software.faults(seen)) == []
