# SPDX-License-Identifier: Apache-2.0
"""spoor phase: rows of a sub-tracking file, from any language and any number of processes."""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

import pytest

from sub_tracking import read_events

HERE = pathlib.Path(__file__).parent
# Beside the copied tests, or in the repository.
EXAMPLES = next(path for path in (HERE.parent / "examples", HERE.parent.parent / "examples")
                if path.exists())


def phase(spoor, *arguments, folder, **environment):
    return spoor("phase", *arguments, cwd=folder, env={**os.environ, **environment})


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_rows_name_the_caller_the_phase_and_the_time(spoor, tmp_path, kind):
    path = tmp_path / f"p.{kind}"
    before = time.time()
    for word in ("start", "stop"):
        done = phase(spoor, word, 'say "x", é', "--file", path, folder=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = read_events(path)
    assert [row[:3] for row in rows] == [(os.getpid(), 'say "x", é', 0),
                                         (os.getpid(), 'say "x", é', 1)]
    assert before <= rows[0][3] <= rows[1][3] <= time.time()


def test_the_shape_of_the_csv(spoor, tmp_path):
    phase(spoor, "start", "a,b", "--file=p.csv", folder=tmp_path)
    header, row, end = (tmp_path / "p.csv").read_bytes().split(b"\r\n")
    assert header == b"process_id,code_block_name,position,timestamp" and end == b""
    assert row.startswith(b'%d,"a,b",0,' % os.getpid())


def test_where_the_rows_go(spoor, tmp_path):
    assert phase(spoor, "start", "x", folder=tmp_path).returncode == 0
    assert len(read_events(tmp_path / f"{os.getpid()}.csv")) == 1
    phase(spoor, "stop", "x", folder=tmp_path, SPOOR_PHASE_FILE="v.csv")
    assert len(read_events(tmp_path / "v.csv")) == 1
    phase(spoor, "--file", "o.csv", "stop", "x", folder=tmp_path, SPOOR_PHASE_FILE="v.csv")
    assert len(read_events(tmp_path / "o.csv")) == 1 and len(read_events(tmp_path / "v.csv")) == 1
    # An empty file is one without a header.
    (tmp_path / "e.csv").touch()
    phase(spoor, "stop", "x", "--file=e.csv", folder=tmp_path, SPOOR_PHASE_FILE="")
    assert len(read_events(tmp_path / "e.csv")) == 1


@pytest.mark.parametrize("kind, writers, rounds", [("csv", 8, 20), ("sqlite", 4, 5)])
def test_many_writers_and_one_header(spoor, tmp_path, kind, writers, rounds):
    script = 'for i in $(seq "$2"); do "$1" phase start b; "$1" phase stop b; done'
    started = [subprocess.Popen(["sh", "-c", script, "sh", spoor.binary, str(rounds)],
                                cwd=tmp_path, env={**os.environ, "SPOOR_PHASE_FILE": f"p.{kind}"})
               for _ in range(writers)]
    assert [process.wait() for process in started] == [0] * writers
    rows = read_events(tmp_path / f"p.{kind}")
    assert len(rows) == 2 * writers * rounds
    for process in started:
        assert [row[2] for row in rows if row[0] == process.pid] == [0, 1] * rounds


BAD = {
    "nothing": [], "no name": ["start"], "no position": ["load", "x"], "empty name": ["start", ""],
    "three words": ["start", "two", "words"], "unknown option": ["start", "x", "--fil=p.csv"],
    "option of run": ["start", "x", "-q"], "no kind of file": ["start", "x", "--file=p.txt"],
    "no file": ["start", "x", "--file"], "empty file": ["start", "x", "--file="],
    "no folder": ["start", "x", "--file=no/such/p.csv"],
    "no folder, sqlite": ["start", "x", "--file=no/such/p.sqlite"],
    "a folder": ["start", "x", "--file=folder.csv"],
    "no database": ["start", "x", "--file=text.sqlite"],
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(spoor, tmp_path, case):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "text.sqlite").write_text("no database" * 100)
    before = sorted(tmp_path.iterdir())
    done = phase(spoor, *BAD[case], folder=tmp_path)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("spoor: ") and done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_help(spoor, tmp_path):
    text = phase(spoor, "start", "--help", folder=tmp_path).stdout
    assert text.startswith("Usage: spoor phase [OPTIONS] start|stop NAME\n") and "--file" in text
    assert phase(spoor, "-V", folder=tmp_path).stdout.startswith("spoor ")


def test_a_full_disk_leaves_whole_rows(spoor, tmp_path):
    path = tmp_path / "p.csv"
    phase(spoor, "start", "x", "--file=p.csv", folder=tmp_path)
    whole = path.read_bytes()
    limited = subprocess.run(
        ["prlimit", f"--fsize={len(whole) + 5}", "--", spoor.binary, "phase", "stop", "x",
         "--file=p.csv"], cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
    assert limited.returncode == 125 and "p.csv" in limited.stderr
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_the_example_of_a_shell_script(spoor, gpu_tracker, kind):
    """examples/phases.sh, tracked and analysed by the commands that it names."""
    script = EXAMPLES / "phases.sh"
    track, analyze = (shlex.split(line.strip("#\n ").replace(".csv", f".{kind}"))[1:]
                      for line in script.read_text().splitlines() if "gpu-tracker" in line)
    (gpu_tracker.folder / "phases.sh").write_text(script.read_text())
    (gpu_tracker.folder / "spoor").symlink_to(spoor.binary)
    options = {"cwd": gpu_tracker.folder,
               "env": {**os.environ, "SPOOR_PHASE_FILE": f"phases.{kind}",
                       "PATH": f"{gpu_tracker.folder}:{os.environ['PATH']}"}}
    done = gpu_tracker(*track, **options)
    assert done.returncode == 0 and "status code: 0" in done.stdout
    done = gpu_tracker(*analyze, "-f", "json", **options)
    assert done.returncode == 0, done
    result = json.loads(done.stdout)
    assert result["static_data"]["ram_unit"] == "gigabytes"
    compute, load = result["code_block_results"]
    assert (compute["name"], compute["num_calls"]) == ("compute", 2)
    assert (load["name"], load["num_calls"], load["num_non_empty_calls"]) == ("load", 1, 1)
    assert load["compute_time"]["total"] >= 0.5 and load["num_timepoints"] >= 1
    assert load["resource_usage"]["combined_ram"]["max"] > 0
    assert len({row[0] for row in read_events(gpu_tracker.folder / f"phases.{kind}")}) == 1
