# SPDX-License-Identifier: Apache-2.0
"""Figures for monitoring systems: OpenMetrics as a report."""
import re

import pytest

from conftest import load

pytestmark = pytest.mark.any_user

LINE = re.compile(r'(spoor_[a-z0-9_]+)\{([^}]*)\} (-?[0-9.e+-]+)')


def values_of(text):
    """{name: [(labels, value)]} of a text in OpenMetrics or in the format of Prometheus."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            found.setdefault(name, []).append((labels, float(value)))
    return found


def value_of(text, name):
    (_, value), = values_of(text)[name]
    return value


def test_a_report_in_openmetrics(spoor):
    path, prom = spoor.new_path("r.json"), spoor.new_path("r.prom")
    spoor("run", "-q", "--name", 'a"b\\', "-o", path, "-o", prom, "--", "true")
    report, text = load(path), prom.read_text()
    assert text.endswith("\n# EOF\n")
    assert value_of(text, "spoor_run_cpu_total_seconds") == report["cpu"]["total_seconds"]["value"]
    assert value_of(text, "spoor_run_exit_code") == 0
    (labels, _), = values_of(text)["spoor_run_elapsed_seconds"]
    assert (labels["run_id"], labels["name"]) == (report["run"]["id"], r'a\"b\\')
    assert spoor("report", "-f", "openmetrics", path).stdout == text


def test_several_reports_share_their_families(spoor):
    paths = [spoor.new_path("r.json") for _ in range(3)]
    for path in paths:
        spoor("run", "-q", "-o", path, "--", "true")
    text = spoor("report", "-f", "openmetrics", *paths).stdout
    assert len(values_of(text)["spoor_run_elapsed_seconds"]) == 3
    assert text.count("# TYPE spoor_run_elapsed_seconds gauge\n") == text.count("# EOF\n") == 1


def test_the_machine_in_openmetrics(spoor):
    text = spoor("system", "-i", "50ms", "-f", "openmetrics").stdout
    assert value_of(text, "spoor_run_system_memory_used_bytes") > 0
