# SPDX-License-Identifier: Apache-2.0
"""The shell for Nextflow, called in the same way as by Nextflow's .command.run. Debian does not package Nextflow
itself."""
import os
import re
import subprocess
import sys

import pytest
from conftest import BINARY, DEADLINE_SECONDS, TOP

sys.path.append(str(TOP / "tests/functional"))
from nextflow import parse_trace  # noqa: E402 - after the path

SHELL = f"{TOP}/share/nextflow/bash -ue"
PAGE = (TOP / "docs/FROM-NEXTFLOW.md").read_text(encoding="utf-8")

# With an argument, runs the task, then writes a trace in two steps. Without, launches itself, or
# the task if nothing is to be measured, and runs the line of afterScript.
STAND_IN = r"""#!/bin/bash
if [ "${1-}" = nxf_trace ]; then
    touch .command.trace
    %(shell)s "$PWD/.command.sh" &
    wait $! || status=$?
    printf '%%s\n' nextflow.trace/v2 realtime=1 %%cpu=1 cpu_model=none rchar=1 syscr=22 >|.command.trace
    printf '%%s\n' %%mem=1 vmem=33 rss=1 peak_vmem=44 peak_rss=1 >>.command.trace
    exit ${status-0}
fi
(set -o pipefail; %(launch)s | tee .command.out) || status=$?
%(after)s
exit ${status-0}
"""


@pytest.fixture(name="task")
def fixture_task(tmp_path):
    """Returns a function that runs a script as a task. Returns its exit code, its output, and
    the trace as read by Nextflow."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/spoor").symlink_to(BINARY)

    def run(script, launch=f'{SHELL} "$PWD/.command.run" nxf_trace', after="", path=f"{tmp_path}/bin:/usr/bin:/bin"):
        (tmp_path / ".command.sh").write_text(f"#!{SHELL}\n{script}\n")
        (tmp_path / ".command.run").write_text(STAND_IN % {"shell": SHELL, "launch": launch, "after": after})
        done = subprocess.run(["/bin/bash", ".command.run"], cwd=tmp_path, env={**os.environ, "PATH": path}, check=False,
                              capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        trace = tmp_path / ".command.trace"
        assert not (tmp_path / ".command.spoor").exists() or after
        return done.returncode, done.stdout + done.stderr, parse_trace(trace.read_text()) if trace.exists() else None
    return run


BLOCK = "python3 -c 'import time; block = b\"x\" * 300_000_000; time.sleep(0.1)'; echo \"it's done\""


def check_figures(trace):
    assert 300e6 < trace["peak_rss"] == trace["rss"] < 330e6 and trace["%mem"] > 0
    assert trace["realtime"] > 100 and trace["%cpu"] > 1 and trace["cpu_model"] != "none" and trace["rchar"] > 1000
    assert (trace["syscr"], trace["vmem"], trace["peak_vmem"]) == (22, 33 * 1024, 44 * 1024)  # Nextflow's own


def test_trace_has_figures_of_spoor_and_keeps_the_other_fields(task):
    code, output, trace = task(BLOCK)
    assert (code, output) == (0, "it's done\n")
    check_figures(trace)


def test_documented_line_supports_nextflow_before_24_12(task):
    [after] = re.findall(r"process\.afterScript = '(.*)'", PAGE)
    code, output, trace = task(BLOCK, launch='/bin/bash "$PWD/.command.run" nxf_trace', after=after)
    assert (code, output) == (0, "it's done\n")
    check_figures(trace)


def test_a_task_that_fails_has_its_exit_code_and_figures(task):
    code, _, trace = task("echo $UNSET_VARIABLE")
    assert code != 0 and trace["rchar"] > 1000
    code, _, trace = task("exit 42")
    assert code == 42 and trace["peak_rss"] > 1024


def test_unmeasured_task_leaves_no_file(task):
    code, output, trace = task("echo plain", launch=f'{SHELL} "$PWD/.command.sh"')
    assert (code, output, trace) == (0, "plain\n", None)


def test_task_runs_unchanged_without_spoor(task, tmp_path):
    (tmp_path / "bin/spoor").unlink()
    code, output, trace = task("echo plain")
    assert (code, output) == (0, "plain\n") and trace["peak_rss"] == 1024


def test_nextflow_recognizes_the_wrapper_as_bash():
    """For outputs of type env, Nextflow searches for a word `bash` between spaces and slashes."""
    [shell] = re.findall(r"process\.shell = \['([^']*)'", PAGE)
    assert shell.split("/")[-1] == "bash" and shell.endswith(str((TOP / "share/nextflow/bash").relative_to(TOP / "share")))
