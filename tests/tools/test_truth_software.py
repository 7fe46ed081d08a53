# SPDX-License-Identifier: Apache-2.0
"""The observers of real programs, and the faults that they report (tests/truth/software.py)."""
import pathlib
import struct
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "truth"))
import software  # noqa: E402
import watching  # noqa: E402


def event(what, *numbers):
    return bytes(36) + struct.pack("=IIQ", what, 0, 0) + struct.pack(f"={len(numbers)}i", *numbers)


@pytest.mark.parametrize("message, expected", [
    (event(watching.FORK, 11, 10, 20, 20), ("fork", 10, 20)),
    (event(watching.FORK, 11, 10, 12, 10), None),
    (event(watching.EXIT, 20, 20, 0, 17), ("exit", 20)),
    (event(watching.EXIT, 21, 20, 0, 17), None),
    (event(2, 20, 20), None),
], ids=["process", "thread", "end", "end of a thread", "exec"])
def test_process_events_are_distinguished_from_thread_events(message, expected):
    assert watching.parse_event(message) == expected


def test_all_descendants_are_found():
    forks = [(1, 2), (9, 10), (2, 3), (3, 4), (10, 11), (1, 5)]
    assert watching.find_descendants(forks, 2) == {2, 3, 4}
    assert watching.find_descendants(forks, 42) == {42}


def seen(cpu=1.0, started=5, total=100e6, high=None, peak=100e6, exact=True, warning="", elsewhere=0):
    figure = {"value": None, "exact": exact, "source": "x"}
    return software.Seen({"cpu": {"total_seconds": {**figure, "value": cpu}},
                          "processes": {"started": {**figure, "value": started}},
                          "memory": {"combined": {"total_rss_bytes": {**figure, "value": total, "high": high}},
                                     "job_peak_bytes": {**figure, "value": peak}},
                          "warnings": [{"code": "x", "message": warning}]},
                         cpu_seconds=1.0, processes=5, pss_bytes=100e6, peak_bytes=100e6, disk_bytes=0,
                         exit_code=0, elsewhere_seconds=elsewhere)


@pytest.mark.parametrize("changed, words", [
    ({}, []), ({"elsewhere": 1.0}, ["tasks"]), ({"elsewhere": 1.0, "warning": "slurmd"}, []),
    ({"cpu": 0.9, "exact": False, "warning": "CPU time"}, []), ({"cpu": 0.9, "exact": False}, ["CPU"]),
    ({"cpu": 0.9, "warning": "CPU time"}, ["CPU"]), ({"cpu": 0.9}, ["CPU"]), ({"cpu": None}, ["CPU"]), ({"started": 4}, ["processes"]),
    ({"started": 4, "exact": False}, []), ({"started": 6, "exact": False}, ["processes"]),
    ({"total": 50e6}, ["memory"]), ({"total": 50e6, "high": 200e6}, []), ({"total": None}, []),
    ({"peak": 50e6}, ["cgroup"]), ({"peak": 50e6, "exact": False}, []), ({"peak": None}, []),
], ids=str)
def test_deviations_are_described(changed, words):
    found = list(software.faults(seen(**changed)))
    assert len(found) == len(words) and all(word in fault for word, fault in zip(words, found)), found


def test_a_missing_program_is_named():
    assert software.why_not(software.Case("x", "true", ("no-such-program",))) == \
        "no-such-program is not installed"
    assert software.why_not(software.Case("x", "true", user="no-such-user")) == "there is no user no-such-user"
    assert software.why_not(software.Case("x", "true", ("sh",))) == ""
