# SPDX-License-Identifier: Apache-2.0
"""Stored reports are shown again without changes."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import load
from gpus import GIB, Run, card
from test_agent import ready

pytestmark = pytest.mark.any_user

EXPECTED = pathlib.Path(__file__).parent.parent / "replay/expected"
UNICODE = {**os.environ, "LC_ALL": "C.UTF-8"}


def again(spoor, path, *options, **others):
    kind = [] if {"-f", "-o", "--text"} & set(map(str, options)) else ["-f", "text"]
    done = spoor("report", *kind, *options, path, text=False, errors=None, **others)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def assert_same(spoor, path):
    assert again(spoor, path, "-f", "json") == pathlib.Path(path).read_bytes()


def has_sparklines(text):
    return bool(set(text) & set("▁▂▃▄▅▆▇█"))


def lines_of(text):
    """Returns the lines that must be equal: all but the tracker's own usage and the curve."""
    return [line for line in text.splitlines()
            if not line.startswith("tracker ") and not set(line.strip()) & set("▁▂▃▄▅▆▇█")]


COMMANDS = {
    "plain": ["true"],
    "failed": ["sh", "-c", "exit 7"],
    "killed": ["sh", "-c", "kill -9 $$"],
    "core": ["sh", "-c", "ulimit -c 0; kill -SEGV $$"],
    "real-time signal": ["sh", "-c", "kill -40 $$"],
    "several processes": ["sh", "-c", "sleep 0.1 & sleep 0.2 | cat; wait"],
    "hostile arguments": ["sh", "-c", ":", b"\xff\xc0\xaf", "\x1b[2J\u202e\U0001f600", "\n\"\\,", ""],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_loaded_run_is_written_unchanged(spoor, command):
    path = spoor.new_path("r.json")
    spoor("run", "-q", "-i", "10ms", "-o", path, "--", *command)
    load(path)
    assert_same(spoor, path)


def test_names_and_tags_are_written_unchanged(spoor):
    path = spoor.new_path("r.json")
    spoor("run", "-q", "-o", path, "--name", b"\xffx\x1b[1m", "--tag", b"\xff=1", "--tag", b"\xfe=2",
          "--tag", "a=b=c", "--tag", "b=\n", "--tag", "a=", "--", "true")
    assert load(path)["run"]["tags"] == {"\ufffd": "2", "b": "\n", "a": ""}
    assert_same(spoor, path)


def test_phases_are_unchanged_after_loading(spoor, held):
    path = spoor.new_path("r.json")
    agent = ready(spoor, "--pid", str(held.pid), "-i", "0.02", "-o", path, "--tag", "a=b")
    for request in (("phase-start", "load \u202e\x1b\n"), ("phase-start", "\ufffd"), ("sample",),
                    ("phase-stop", "\ufffd"), ("phase-stop", "load \u202e\x1b\n"), ("stop",)):
        assert agent.ask(*request)["event"] == "done"
    agent.end()
    assert load(path)["phases"]
    assert_same(spoor, path)


def test_an_attached_run_is_written_unchanged(spoor, held):
    path = spoor.new_path("r.json")
    assert spoor("attach", "-q", "--duration", "0.2", "-i", "0.02", "-o", path,
                 str(held.pid)).returncode == 0
    assert load(path)["run"]["exit_code"] is None
    assert_same(spoor, path)


def test_gpus_are_written_unchanged(spoor, machine):
    machine.play(card(0), "device 0 mig 1", card(1), "device 1 power 250500", card(2), *(
        f"device 0.{part} {fact}" for part in (0, 1)
        for fact in (f"uuid MIG-{part}", f"name part {part}", "total 70000000000",
                     "used 1500000000", f"instance {part + 3}")))
    run = Run(spoor, machine, "--gpus", "0:1,1")
    machine.play(f"process 1 compute {run.pid} {GIB}")
    machine.wait_for(times=2)
    result = run.end()
    assert len(result["host"]["gpus"]) == 5 and len(result["gpu"]["devices"]) == 2
    assert_same(spoor, run.path)
    shown = again(spoor, run.path).decode()
    assert "GPU memory       1.07 GB" in shown and "\n  GPU 1 " in shown


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*.json")), ids=lambda path: path.stem)
def test_golden_reports_are_written_unchanged(spoor, path):
    assert_same(spoor, path)
    text = path.with_suffix(".text").read_text(encoding="utf-8")
    assert lines_of(again(spoor, path, "--processes", "0", env=UNICODE).decode()) == lines_of(text)
    assert again(spoor, path, "-f", "csv").decode() == path.with_suffix(".csv").read_text()


@pytest.mark.parametrize("command", [["true"], ["sh", "-c", "sleep 0.3 & sleep 0.2; kill -9 $$"]])
def test_text_equals_that_of_the_run(spoor, command):
    path = spoor.new_path("r.json")
    done = spoor("run", "-i", "20ms", "-o", path, "--name", "\u00fc\x1b", "--", *command, env=UNICODE)
    shown = again(spoor, path, env=UNICODE).decode()
    assert lines_of(shown) == lines_of(done.stderr)
    assert has_sparklines(shown) == has_sparklines(done.stderr)


def test_format_follows_the_option_or_the_file_name(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-o", path, "--", "true")
    text = again(spoor, path)
    # -f or the suffix selects the format; options may follow the file; - is standard input or
    # output.
    assert again(spoor, path, "-f", "text") == text
    assert spoor("report", path, "-o", tmp_path / "r.txt").stdout == ""
    assert (tmp_path / "r.txt").read_bytes() == text
    with open(path, "rb") as file:
        assert again(spoor, "-", "-o", "-", stdin=file) == text
    assert b"\x1b[1m" in again(spoor, path, "--color", "always")
    for _ in range(2):
        spoor("report", path, "--append", "-o", tmp_path / "r.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [row["run_id"] for row in rows] == [json.loads(path.read_text())["run"]["id"]] * 2
    # The report overwrites its own file.
    assert spoor("report", "-f", "json", "-o", path, path).returncode == 0
    assert again(spoor, path) == text


def test_table_on_stdout_always_has_its_header(spoor, tmp_path):
    (tmp_path / "stdout").write_text("not a table")
    path = next(EXPECTED.glob("*.json"))
    table = again(spoor, path, "--append", "-f", "csv", cwd=tmp_path)
    assert table == again(spoor, path, "-f", "csv", cwd=tmp_path)


def test_variables_that_apply_to_runs_are_ignored(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-o", path, "--", "true")
    before = path.read_bytes()
    environment = {**os.environ, "SPOOR_OUTPUT": str(path), "SPOOR_FORMAT": "csv"}
    assert again(spoor, path, env=environment).startswith(b"true\nexit code 0, started ")
    assert path.read_bytes() == before


REFUSED = {
    "no file": ([], "missing argument: spoor report [OPTIONS] FILE..."),
    "not there": (["no.json"], "cannot read 'no.json': No such file or directory"),
    "not JSON": (["bad.json"], "'bad.json': not valid JSON (line 1, column 2); expected a report "
                               "written by 'spoor run -f json'"),
    "of a machine": (["info.json"], "'info.json': not the report of a run; expected a report"),
    "of a later version": (["later.json"], "'later.json': schema 'spoor/9' is not supported; this "
                                           "version reads spoor/1"),
    "wrong type": (["type.json"], "'type.json': run.pid: expected a whole number that is not negative"),
    "no such format": (["-f", "xml", "bad.json"], "xml"),
    "no such folder": (["-o", "no/r.txt", "bad.json"], "no/r.txt"),
    "not samples": (["rows.csv"], "'rows.csv': not a table of samples; expected a report, or samples"),
    "no rows": (["head.csv"], "'head.csv': no complete row; expected a report, or samples"),
    "nothing": (["empty.csv"], "'empty.csv': the file is empty; expected a report, or samples"),
    "a directory": (["."], "'./bad.json': not valid JSON"),
    "charts of a format": (["--text", "-f", "json", "bad.json"], "--text and --format cannot be combined"),
    "charts in a page": (["--text", "-o", "t.html", "bad.json"], "--text cannot write 't.html': name a .txt file"),
    "opening a table": (["--open", "-f", "json", "bad.json"], "--open requires a page"),
    "exists": (["--no-clobber", "-o", "bad.json", "bad.json"], "exists"),
}


@pytest.mark.parametrize("arguments, message", REFUSED.values(), ids=REFUSED)
def test_unusable_files_are_refused(spoor, tmp_path, arguments, message):
    (tmp_path / "bad.json").write_text("{'a': 1}")
    (tmp_path / "later.json").write_text('{"schema": "spoor/9", "run": {}}')
    (tmp_path / "type.json").write_text('{"schema": "spoor/1", "run": {"pid": "1"}}')
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    (tmp_path / "head.csv").write_text("timestamp,elapsed_seconds,job_rss_bytes\n")
    (tmp_path / "empty.csv").write_text("")
    with open(tmp_path / "info.json", "wb") as file:
        subprocess.run([spoor.binary, "info", "-f", "json"], stdout=file, check=True)
    kind = ["-f", "text"] if arguments and not {"-f", "-o", "--text"} & set(arguments) else []
    done = spoor("report", *kind, *arguments, cwd=tmp_path)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("spoor: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_unwritable_output_is_reported(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-o", path, "--", "true")
    with open("/dev/full", "wb") as full:
        done = spoor("report", "-f", "text", path, stdout=full)
    assert done.returncode == 125
    assert done.stderr == "spoor: cannot write the report: No space left on device\n"


def test_all_reports_of_a_file_are_shown(spoor, tmp_path):
    path = tmp_path / "r.json"
    for name in ("first", "second", "third"):
        spoor("run", "-q", "--append", "--name", name, "-o", path, "--", "true")
    text = spoor("report", "-f", "text", path).stdout
    assert [text.index(f"{name}: true") for name in ("first", "second", "third")] == \
        sorted(text.index(f"{name}: true") for name in ("first", "second", "third"))
    rows = list(csv.DictReader(io.StringIO(spoor("report", "-f", "csv", path).stdout)))
    assert [row["name"] for row in rows] == ["first", "second", "third"]
    assert spoor("report", "-f", "json", path).stdout == path.read_text()
    assert spoor("report", "-o", tmp_path / "copy.json", path).returncode == 0
    assert (tmp_path / "copy.json").read_text() == path.read_text()


def test_damaged_report_among_several_is_reported(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-o", path, "--", "true")
    whole = path.read_text()
    for damaged in (whole + whole[:-10], whole + "x", whole + "{}", "\n" + whole[:-10] + whole):
        path.write_text(damaged)
        done = spoor("report", "-f", "text", path)
        assert done.returncode == 125 and str(path) in done.stderr and not done.stdout


def test_large_report_is_read(spoor, tmp_path):
    path = tmp_path / "r.json"
    spoor("run", "-q", "-o", path, "--", "true")
    report = json.loads(path.read_text())
    report["later"] = "x" * (20 << 20)
    path.write_text(json.dumps(report))
    assert spoor("report", "-f", "text", path).stdout.startswith("true\n")


@pytest.mark.parametrize("run, kills, line", [
    ({"exit_code": 137, "signal": "SIGKILL"}, 1, "killed by SIGKILL (out of memory), started "),
    ({"exit_code": 1, "signal": None}, 2, "exit code 1, some processes were killed for lack of memory, started "),
    ({"exit_code": 0, "signal": None}, 1, "exit code 0, a process was killed for lack of memory, started "),
    ({"exit_code": 0, "signal": None}, 0, "exit code 0, started "),
])
def test_headline_reports_that_the_job_ran_out_of_memory(spoor, run, kills, line):
    """A limit is shown in the unit in which it was set: 300 MiB, not 315 MB."""
    path = spoor.new_path("r.json")
    spoor("run", "-q", "-o", path, "--", "true")
    report = json.loads(path.read_text())
    report["run"].update(run)
    report["events"]["oom_kills"]["value"] = kills
    for limit, shown in ((300 << 20, "300 MiB"), (1536 << 20, "1536 MiB"), (4 << 30, "4 GiB"),
                         (300_000_000, " 300 MB"), (25_214_177_280, "25.2 GB")):
        report["limits"].update(memory_bytes=limit, memory_source="cgroup.memory.max")
        path.write_text(json.dumps(report))
        text = spoor("report", "-f", "text", path).stdout
        assert text.splitlines()[1].startswith(line)
        assert re.search(f"^  limit +{shown.strip()} ", text, re.M), text
