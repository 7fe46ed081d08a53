# SPDX-License-Identifier: Apache-2.0
"""Every command that prints to stdout fails if stdout is full or closed."""
import os

import pytest

from test_output_files import RUN, refused

pytestmark = pytest.mark.any_user

SPEAKING = [["--help"], ["--version"], ["help"], ["help", "run"], ["run", "--help"],
            ["run", "--version"], ["doctor"], ["doctor", "--help"], ["info"], ["info", "-f", "json"],
            ["report", "-f", "text", "REPORT"], ["report", "--text", "REPORT"], ["recommend", "REPORT"], ["system", "-i", "20ms"], ["--complete", ""], ["--man-options", "spoor", "run"]]
NAMED = {"report", "system", "info", "doctor", "recommend"}  # commands whose output -o may also redirect
GPU_TRACKER_SPEAKING = [["--help"], ["--version"], ["sub-track", "--help"]]


def speak(program, arguments, **options):
    return program(*arguments, **{"env": {**os.environ, "LC_ALL": "C"}, **options})


@pytest.mark.parametrize("arguments", SPEAKING, ids=" ".join)
def test_write_error_on_stdout_makes_spoor_fail(spoor, tmp_path, arguments):
    path = tmp_path / "r.json"
    if "REPORT" in arguments:
        spoor(*RUN, "-o", path, "--", "true")
    arguments = [path if word == "REPORT" else word for word in arguments]
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert refused(speak(spoor, arguments, stdout=full), "No space left on device")
    closed = speak(spoor, arguments, stdout=None, preexec_fn=lambda: os.close(1))
    assert refused(closed, "not open" if arguments[0] in NAMED and "--help" not in arguments else "Bad file descriptor")
    assert speak(spoor, arguments).returncode == 0


@pytest.mark.parametrize("arguments", GPU_TRACKER_SPEAKING, ids=" ".join)
def test_write_error_on_stdout_makes_gpu_tracker_fail(gpu_tracker, arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = speak(gpu_tracker, arguments, stdout=full)
    assert done.returncode == 1 and "No space left on device" in done.stderr
    assert speak(gpu_tracker, arguments).returncode == 0


def test_report_to_a_closed_stdout_is_refused(spoor, tmp_path):
    marker = tmp_path / "ran"
    for path in ("-", "/dev/stdout"):
        done = spoor("run", "-o", path, "--", "touch", marker, stdout=None,
                     preexec_fn=lambda: os.close(1))
        assert refused(done, "not open")
    assert not marker.exists()
