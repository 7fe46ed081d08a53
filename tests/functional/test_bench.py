# SPDX-License-Identifier: Apache-2.0
"""spoor bench: runs commands several times. tests/unit/test_statistics.c tests the statistics."""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import signal

import pytest

import schema
from conftest import DEADLINE_SECONDS, eventually
from screen import Screen

pytestmark = pytest.mark.any_user


@pytest.fixture(name="log")
def fixture_log(tmp_path):
    """Creates a file that commands append to; log.read_text().split() lists their words."""
    path = tmp_path / "log"
    path.touch()
    return path


def bench(spoor, *arguments, code=0):
    done = spoor("bench", *arguments)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def summary(spoor, *arguments, code=0):
    return json.loads(bench(spoor, "-f", "json", *arguments, code=code))


def note(log, word):
    return ["sh", "-c", f"echo {word} >>{log}"]


def figure(result, name):
    return next(figure for figure in result["figures"] if figure["name"] == name)


def test_commands_take_turns(spoor, log):
    result = summary(spoor, "-n", "3", "--", *note(log, "a"), "--vs", *note(log, "b"))
    assert log.read_text().split() == ["a", "b"] * 3
    assert [command["runs"] for command in result["commands"]] == [[0, 2, 4], [1, 3, 5]]
    assert [len(command["values"]) for command in figure(result, "time")["commands"]] == [3, 3]


def test_the_default_is_ten_runs(spoor, log):
    assert "of 10 runs" in bench(spoor, *note(log, "a"))
    assert len(log.read_text().split()) == 10


def test_warmup_runs_are_not_counted(spoor, log):
    result = summary(spoor, "-n", "2", "--warmup", "3", *note(log, "a"))
    assert len(log.read_text().split()) == 5
    assert result["commands"][0]["runs"] == [0, 1]


def test_prepare_command_runs_before_each_run(spoor, log):
    bench(spoor, "-n", "2", "--warmup", "1", "--prepare", f"echo prepare >>{log}", *note(log, "run"))
    assert log.read_text().split() == ["prepare", "run"] * 3


def test_failure_of_the_prepare_command_stops_the_bench(spoor, log):
    done = spoor("bench", "--prepare", "exit 3", *note(log, "run"))
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == "spoor: --prepare failed (exit code 3): exit 3\n"
    assert log.read_text() == ""


def test_runs_so_far_are_reported_if_prepare_fails_later(spoor, log):
    done = spoor("bench", "-f", "json", "--prepare", f"[ $(wc -l <{log}) -lt 2 ]", *note(log, "run"))
    assert done.returncode == 125
    assert done.stderr.startswith("spoor: --prepare failed (exit code 1)")
    assert json.loads(done.stdout)["commands"][0]["runs"] == [0, 1]


def test_parameters_are_combined(spoor, log, tmp_path):
    runs = tmp_path / "runs.jsonl"
    result = summary(spoor, "-n", "1", "-o", runs, "-L", "x=1,2", "-L", "y=a,b", "-L", "z=9", "--name", "{x}{y}",
                     "--", *note(log, "{x}{y}"), "--vs", *note(log, "{z}{y"))
    assert [command["name"] for command in result["commands"]] == [
        "1a", "1b", "2a", "2b", f"sh -c 'echo 9{{y >>{log}'"]
    assert log.read_text().split() == ["1a", "1b", "2a", "2b", "9{y"]
    tags = [json.loads(line)["run"]["tags"] for line in runs.read_text().splitlines()]
    assert tags == [*({"x": x, "y": y} for x in "12" for y in "ab"), {"z": "9"}]


def test_parameter_used_only_in_prepare_is_part_of_the_command_name(spoor, log):
    result = summary(spoor, "-n", "2", "-L", "branch=main,next", "--prepare", f"echo {{branch}} >>{log}", "true")
    assert [command["name"] for command in result["commands"]] == ["true (branch=main)", "true (branch=next)"]
    assert log.read_text().split() == ["main", "next"] * 2


@pytest.mark.parametrize("arguments, message", [
    ([], "missing command: spoor bench [OPTIONS] -- COMMAND [ARGUMENT...]"),
    (["--", "true", "--vs"], "missing command after --vs"),
    (["--", "--vs", "true"], "missing command before --vs"),
    (["true", "--vs", "true"], "'true' is given twice: give each command its own --name"),
    (["-L", "x=1,2", "true"], "no command contains {x}"),
    (["-L", "x", "true"], "-L: invalid parameter 'x': expected NAME=VALUE,VALUE..."),
    (["-n", "0", "true"], "-n: invalid number '0': expected 1 to 4096"),
    (["-n", "4000", "true", "--vs", "false"], "more than 4096 runs: use a smaller -n"),
    (["--name", "a", "--name", "b", "true"], "--name: there are more names than commands"),
    (["-o", "runs.csv", "true"], "--output 'runs.csv': the runs are written as JSON lines: name a .jsonl file "
                                 "(--format is the format of the summary on standard output)"),
    (["-o", "/nonexistent/runs.jsonl", "true"], "--output '/nonexistent/runs.jsonl'"),
    (["--report", "/nonexistent/page.html", "true"], "--report '/nonexistent/page.html'"),
])
def test_invalid_arguments_are_refused_before_the_first_run(spoor, arguments, message):
    done = spoor("bench", *arguments)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(f"spoor: {message}")


def test_missing_command_is_reported_in_the_same_way_as_by_run(spoor):
    done = spoor("bench", "--", "no-such-command")
    assert (done.returncode, done.stdout, done.stderr) == (
        127, "", "spoor: 'no-such-command': command not found\n")


FAILS_ONCE = "test -e {0} || {{ touch {0}; exit 4; }}"


def test_failed_run_is_excluded_from_the_statistics(spoor, tmp_path):
    result = summary(spoor, "-n", "3", "--name", "x", "sh", "-c", FAILS_ONCE.format(tmp_path / "mark"), code=1)
    assert result["commands"] == [{"name": "x", "failed": 1, "runs": [1, 2]}]
    assert "1 of 3 runs of 'x' failed; their figures are left out" in result["warnings"]
    assert len(figure(result, "time")["commands"][0]["values"]) == 2


def test_failed_run_is_included_on_request(spoor, tmp_path):
    result = summary(spoor, "-n", "3", "--ignore-failure", "--name", "x", "sh", "-c",
                     FAILS_ONCE.format(tmp_path / "mark"))
    assert result["commands"] == [{"name": "x", "failed": 1, "runs": [0, 1, 2]}]


def test_no_figures_are_shown_for_a_command_that_always_fails(spoor):
    assert bench(spoor, "-n", "2", "false", code=1).split() == "warning every run of 'false' failed".split()
    result = summary(spoor, "-n", "2", "sh", "-c", "kill -9 $$", "--vs", "true", code=1)
    assert [command["failed"] for command in result["commands"]] == [2, 0]


def test_report_of_every_run_is_written_to_the_output_file(spoor, tmp_path):
    runs = tmp_path / "runs.jsonl"
    runs.write_text("old\n")
    bench(spoor, "-n", "2", "-o", runs, "--tag", "v=1", "true", "--vs", "sleep", "0")
    reports = [json.loads(line) for line in runs.read_text().splitlines()]
    for report in reports:
        schema.check(report)
    assert [report["run"]["command"] for report in reports] == [["true"], ["sleep", "0"]] * 2
    assert {report["run"]["tags"]["v"] for report in reports} == {"1"}
    assert len({report["run"]["id"] for report in reports}) == 4
    rows = csv.DictReader(io.StringIO(spoor("report", "-f", "csv", runs).stdout))
    assert [row["command"] for row in rows] == ["true", "sleep 0"] * 2
    assert "judging by 4 runs" in spoor("recommend", runs).stdout
    bench(spoor, "-n", "1", "-o", runs, "--append", "true")
    assert len(runs.read_text().splitlines()) == 5


def test_command_with_half_the_cpu_time_is_reported_as_best(spoor, workload):
    result = summary(spoor, "-n", "10", "--name", "half", "--name", "whole", "--",
                     workload("burn"), "0.1", "--vs", workload("burn"), "0.2")
    cpu = figure(result, "cpu")
    half, whole = cpu["commands"]
    assert cpu["best"] == 0
    assert whole["differs"] and not half["differs"]
    # CPU time that a hypervisor takes may be charged to any run: the ratio is between the extremes.
    least, most = whole["min"] / half["max"], whole["max"] / half["min"]
    assert least <= whole["ratio_low"] <= whole["ratio"] <= whole["ratio_high"] <= most
    assert whole["ratio"] > 1 and 1.7 < whole["min"] / half["min"] < 2.3 and half["min"] > 0.09
    assert half["min"] <= half["low"] <= half["median"] <= half["high"] <= half["max"]
    assert half["values"] == sorted(half["values"])


def test_command_with_less_memory_is_reported_as_best(spoor):
    text = bench(spoor, "-n", "6", "--name", "small", "--name", "large", "--",
                 "python3", "-c", "b'x' * 10", "--vs", "python3", "-c", "b'x' * 100_000_000")
    lines = text.splitlines()
    at = lines.index("Least memory: small")
    assert lines[at + 1].endswith("times less than large")


def test_summary_is_available_in_every_format(spoor):
    text = bench(spoor, "-n", "6", "--name", "a|b", "--", "true").splitlines()
    assert text[0].split() == ["FIGURE", "COMMAND", "MEDIAN", "LOW", "HIGH", "MIN", "MAX"]
    assert text[1].split()[:2] == ["Time", "a|b"]
    assert "Low and high are the 95 % interval of the median of 6 runs." in text
    markdown = bench(spoor, "-n", "2", "-f", "markdown", "true", "--vs", "sleep", "0").splitlines()
    assert markdown[:2] == ["| FIGURE | COMMAND | MEDIAN | LOW | HIGH | MIN | MAX |",
                            "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    assert "- Time: too few runs to compare" in markdown
    rows = list(csv.DictReader(io.StringIO(bench(spoor, "-n", "2", "-f", "csv", "true"))))
    assert (rows[0]["figure"], rows[0]["command"], rows[0]["runs"], rows[0]["failed"]) == ("time", "true", "2", "0")
    assert float(rows[0]["min"]) <= float(rows[0]["mean"]) <= float(rows[0]["max"])
    assert summary(spoor, "-n", "2", "true")["schema"] == "spoor-bench/1"


def test_a_hostile_name_is_shown_safely(spoor):
    for form in ["text", "markdown", "csv"]:
        text = bench(spoor, "-n", "4", "-f", form, "--name", "a\033[2J\nb", "--name", "c", "--", "true", "--vs",
                     "false", code=1)
        assert "\033" not in text and "\\n" in text


def test_output_of_the_commands_is_discarded_by_default(spoor):
    command = ["sh", "-c", "cat; echo out; echo err >&2"]
    done = spoor("bench", "-n", "1", "-f", "csv", *command, input="text", stdin=None)
    assert done.stdout.startswith("figure,command,") and "\nout\n" not in done.stdout and done.stderr == ""
    done = spoor("bench", "-n", "2", "--show-output", *command, input="text", stdin=None)
    assert done.stdout.startswith("out\nout\nFIGURE") and done.stderr == "err\nerr\n"


BLOCKS_IN_RUN_3 = "echo x >>{0}; if [ $(wc -l <{0}) -ge 3 ]; then exec sleep 1000; fi"


@pytest.mark.parametrize("number, send", [(signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)])
def test_a_signal_ends_the_bench_and_reports_the_runs_so_far(spoor, log, tmp_path, number, send):
    runs = tmp_path / "runs.jsonl"
    process = spoor.start("bench", "-f", "json", "-o", runs, "sh", "-c", BLOCKS_IN_RUN_3.format(log),
                          start_new_session=True)
    eventually(lambda: len(log.read_text().split()) == 3, "the third run")
    eventually(lambda: "sleep\n" in names_in_session(process.pid), "the third run sleeps")
    send(process.pid, number)
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, err) == (-number, b"")
    assert json.loads(out)["commands"][0]["runs"] == [0, 1]
    assert len(runs.read_text().splitlines()) == 2


def names_in_session(session):
    names = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            if os.getsid(int(path.parent.name)) == session:
                names.append(path.read_text())
    return names


def test_progress_is_shown_on_a_terminal_and_removed(spoor):
    master, terminal = pty.openpty()
    done = spoor("bench", "-n", "3", "true", stderr=terminal)
    os.close(terminal)
    written = b""
    try:
        while chunk := os.read(master, 65536):
            written += chunk
    except OSError:  # end of output
        pass
    os.close(master)
    screen = Screen(80, 24)
    screen.feed(written.decode())
    assert done.returncode == 0
    assert "run 1 of 3: true" in written.decode() and "run 3 of 3 (about" in written.decode()
    assert set(screen.text()) == {""}


def test_page_contains_the_runs_and_their_statistics(spoor, tmp_path):
    page = tmp_path / "page.html"
    bench(spoor, "-n", "2", "--report", page, "true", "--vs", "sleep", "0")
    text = page.read_text()
    start = text.index(">", text.index('id="spoor-data"')) + 1
    data = json.loads(text[start:text.index("</script>", start)])
    assert len(data["runs"]) == 4
    assert data["bench"]["schema"] == "spoor-bench/1"
    assert [command["name"] for command in data["bench"]["commands"]] == ["true", "sleep 0"]
