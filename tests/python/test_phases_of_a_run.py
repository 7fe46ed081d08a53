# SPDX-License-Identifier: Apache-2.0
"""Phases that a Python program marks in a `spoor run`."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

from conftest import BINARY, DEADLINE_SECONDS


PATIENTLY = "from spoor import _run\n_run._ANSWER_SECONDS = 60\n"  # a busy machine may answer late


@pytest.fixture
def tracked(tmp_path):
    """tracked(text) runs a Python program under `spoor run` and returns its output and its
    phases."""
    def run(text, **environment):
        path = tmp_path / "program.py"
        path.write_text(PATIENTLY + textwrap.dedent(text))
        done = subprocess.run([BINARY, "run", "-q", "-o", "r.json", "--", sys.executable, path],
                              check=False, capture_output=True, text=True,
                              timeout=DEADLINE_SECONDS, env={**os.environ, **environment})
        assert done.returncode == 0, done.stderr
        phases = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["phases"]
        return done, [phase["name"] for phase in phases]
    return run


def test_phase_without_a_tracker_belongs_to_the_run(tracked):
    done, phases = tracked("""
        import time, spoor
        with spoor.phase("load \\udcff"):
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
        for _ in range(2):
            with spoor.phase("again"):
                pass
    """)
    assert done.stderr == "" and phases == ["load \ufffd", "again", "again"]


def test_phase_with_a_tracker_belongs_to_the_tracker_and_the_run(tracked):
    done, phases = tracked("""
        import spoor
        with spoor.Tracker() as tracker:
            with spoor.phase("both"), tracker.phase("the tracker's"):
                pass
        print(*[phase.name for phase in tracker.result.phases], sep="|")
    """)
    assert done.stdout == "both|the tracker's\n" and phases == ["both"]


def test_forked_child_does_not_end_its_parents_phase(tracked):
    done, phases = tracked("""
        import os, spoor
        with spoor.phase("p"):
            child = os.fork()
            if child == 0:
                with spoor.phase("child"):
                    pass
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    """)
    assert done.stderr == "" and phases == ["p", "child"]


def test_mistakes_cause_warnings(tracked):
    done, phases = tracked("""
        import spoor
        with spoor.phase("x" * 200), spoor.phase("a\\0b"), spoor.phase(""):
            print("fine")
    """)
    assert done.stdout == "fine\n" and phases == []
    assert "RuntimeWarning: a phase name must have 1 to" in done.stderr
    assert "RuntimeWarning: a phase name must not contain NUL" in done.stderr


def test_phase_after_a_killed_run_is_ignored(tmp_path):
    """After the run was killed, the job continues without a warning."""
    (tmp_path / "job.py").write_text(textwrap.dedent("""
        import os, signal, spoor
        with spoor.phase("p"):
            os.kill(os.getppid(), signal.SIGKILL)
            os.read(0, 1)
        with spoor.phase("q"):
            print("fine", flush=True)
    """))
    process = subprocess.Popen([BINARY, "run", "-q", "--", sys.executable, "-W", "error", "job.py"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.wait()
    assert process.communicate(timeout=DEADLINE_SECONDS)[0] == "fine\n"
