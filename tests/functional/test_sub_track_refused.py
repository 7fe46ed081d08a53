# SPDX-License-Identifier: Apache-2.0
"""gpu-tracker sub-track: usage, help, and invalid files."""
import os
import subprocess

import pytest

from sub_tracking import GOLDEN, refused, succeeded, write_events

pytestmark = pytest.mark.any_user


FILES = ("--tf=t.csv", "--stf=s.csv")
USAGES = {
    "nothing": ([], "missing subcommand: expected combine, analyze or compare"),
    "unknown command": (["merge"], "unknown subcommand 'merge': expected combine, analyze or compare"),
    "two commands": (["analyze", "combine"], "'combine'"),
    "no tracking file": (["analyze", "--stf=s.csv"], "--tf"),
    "no sub-tracking file": (["analyze", "--tf=t.csv"], "--stf"),
    "nothing to combine": (["combine", "--stf=s.csv"], "--path"),
    "no file to combine into": (["combine", "-p", "x"], "--stf"),
    "option of another command": (["analyze", *FILES, "--stat=min"], "--stat"),
    "option of tracking": (["analyze", *FILES, "--ru=bytes"], "--ru"),
    "unknown letter": (["compare", "-z"], "-z"),
    "value missing": (["analyze", "--stf=s.csv", "--tf"], "--tf"),
    "not unique": (["analyze", "--st=s.csv"], "--st is not a unique prefix: --stf, --stat?"),
    "no path in the map": (["compare", "-m", "A"], "invalid session 'A': expected <name>=<file-path>"),
    "no name in the map": (["compare", "-m", "=x"], "invalid session '=x'"),
}


@pytest.mark.parametrize("case", USAGES)
def test_bad_usage_shows_the_usage(sub_track, case):
    arguments, word = USAGES[case]
    done = sub_track(*arguments)
    assert done.returncode == 1 and done.stdout == ""
    first, *usage = done.stderr.splitlines()
    assert word in first
    assert [line.split()[:3] for line in usage] == [["Usage:"]] + [
        ["gpu-tracker", "sub-track", name] for name in ("combine", "analyze", "compare")]


def test_help_lists_the_options(sub_track):
    for arguments in (["-h"], ["analyze", "--help"], ["--he"]):
        text = succeeded(sub_track(*arguments))
        assert text.startswith("Usage:\n    gpu-tracker sub-track combine --stf=<sub-track-file> ")
        for option in ("--output", "--format", "--tf", "--stf", "-p", "--cconfig", "-m", "--stat"):
            assert option in text


@pytest.mark.parametrize("command", [
    ["analyze", "--tf", GOLDEN / "tracking.csv", "--stf", GOLDEN / "phases.csv"],
    ["compare", "-m", f"A={GOLDEN / 'analyze.json'}"]], ids=["analyze", "compare"])
def test_invalid_formats_and_outputs_are_refused(sub_track, tmp_path, command):
    refused(sub_track(*command, "-f", "xml"),
            '"xml" is not a valid format. Valid values are "json" or "text".')
    done = sub_track(*command, "-f", "pickle", "-o", "r.pkl")
    assert done.returncode == 1 and "json" in done.stderr and not (tmp_path / "r.pkl").exists()
    refused(sub_track(*command, "-o", "no/such/file"),
            "The output file no/such/file cannot be written: No such file or directory")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = sub_track(*command, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and "No space left" in done.stderr


TRACKING = (GOLDEN / "tracking.csv").read_text(encoding="utf-8").replace("\r", "")
PHASES = (GOLDEN / "phases.csv").read_text(encoding="utf-8").replace("\r", "")
BAD_PHASES = {
    "empty": "", "only newlines": "\n\n\n", "no header": PHASES.split("\n", 1)[1],
    "short row": PHASES + "7,b,0\n", "long row": PHASES + "7,b,0,1.0,9\n",
    "no process": PHASES + "x,b,0,1.0\n", "position": PHASES + "7,b,2,1.0\n",
    "no position": PHASES + "7,b,,1.0\n", "no time": PHASES + "7,b,0,soon\n",
    "not a number": PHASES + "7,b,0,nan\n", "infinite": PHASES + "7,b,0,1e999\n",
    "hexadecimal": PHASES + "7,b,0,0x10\n", "huge process": PHASES + f"{'9' * 30},b,0,1\n",
    "open quote": PHASES + '7,"b,0,1.0\n', "NUL": PHASES + "7,b\0,0,1.0\n",
    "other columns": "a,b\n1,2\n", "no lines": "x" * 100_000, "too long": "x," * 2_000_000,
}
BAD_TRACKING = {
    "empty": "", "facts only": "\n".join(TRACKING.split("\n")[:2]),
    "no facts": "\n".join(TRACKING.split("\n")[2:]), "header only": TRACKING.split("\n")[0],
    "short row": TRACKING + "1.0,2.0\n", "no number": TRACKING.replace("0.731631616", "much"),
    "empty cell": TRACKING.replace("0.731631616", ""),
    "column missing": TRACKING.replace("timestamp", "time"),
    "capacity": TRACKING.replace("67.254165504", "large"),
}


@pytest.mark.parametrize("option, name", [("--stf", name) for name in BAD_PHASES] +
                         [("--tf", name) for name in BAD_TRACKING])
def test_malformed_csv_is_refused(sub_track, tmp_path, option, name):
    text = (BAD_PHASES if option == "--stf" else BAD_TRACKING)[name]
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
    check_malformed(sub_track, option, "bad.csv")


def check_malformed(sub_track, option, path):
    files = {"--tf": GOLDEN / "tracking.csv", "--stf": GOLDEN / "phases.csv", option: path}
    done = sub_track("analyze", *[f"{key}={value}" for key, value in files.items()])
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"ERROR:root:File {path}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--tf", "--stf"])
def test_malformed_sqlite_is_refused(sub_track, tmp_path, option):
    (tmp_path / "text.sqlite").write_text("not a database, whatever its name says" * 100)
    (tmp_path / "empty.sqlite").write_text("")
    cut = write_events(tmp_path / "cut.sqlite", [(7, "a", 0, 1.5)])
    os.truncate(cut, 5000)
    words = write_events(tmp_path / "words.sqlite", [("seven", "b", "start", "now")])
    for path in ("text.sqlite", "empty.sqlite", cut.name, words.name):
        check_malformed(sub_track, option, path)


@pytest.mark.parametrize("option", ["--tf", "--stf"])
@pytest.mark.parametrize("kind", ["csv", "sqlite"])
def test_unreadable_files_are_refused(sub_track, tmp_path, option, kind):
    (tmp_path / f"folder.{kind}").mkdir()
    (tmp_path / f"secret.{kind}").touch(mode=0)
    check_malformed(sub_track, option, f"none.{kind}")
    check_malformed(sub_track, option, f"folder.{kind}")
    check_malformed(sub_track, option, f"secret.{kind}")
    files = {"--tf": "t.csv", "--stf": "s.csv", option: "x.txt"}
    refused(sub_track("analyze", *[f"{key}={value}" for key, value in files.items()]
                      ) if option == "--tf" else
            sub_track("analyze", f"--tf={GOLDEN / 'tracking.csv'}", "--stf=x.txt"),
            'Invalid file name: "x.txt". Valid file extensions are ".csv" and ".sqlite".')
