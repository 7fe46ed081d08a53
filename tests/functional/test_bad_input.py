# SPDX-License-Identifier: Apache-2.0
"""Invalid input is refused: a message, exit code 125, and nothing is started."""
import os
import re
import subprocess
import threading

import pytest

pytestmark = pytest.mark.any_user


def refused(done, *words):
    """Checks for one error message of spoor, possibly followed by a hint."""
    assert done.returncode == 125, done
    lines = done.stderr.splitlines()
    assert lines and lines[0].startswith("spoor: ") and len(lines) <= 2, done.stderr
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr!r}"
    assert done.stdout == ""
    return True


@pytest.fixture
def marker(tmp_path):
    path = tmp_path / "started"
    yield path
    assert not path.exists(), "the command was started"


OPTIONS = {
    "unknown option": (["--intervall", "1"], ["--intervall", "--interval"]),
    "unknown option, far from any": (["--xyzzy"], ["--xyzzy"]),
    "unknown letter": (["-Z"], ["-Z"]),
    "value missing": (["--interval"], []),
    "flag neither on nor off": (["--quiet=perhaps"], ["--quiet", "perhaps"]),
    "interval 0": (["-i", "0"], ["0"]),
    "interval negative": (["-i", "-1"], ["-1"]),
    "interval nan": (["-i", "nan"], ["nan"]),
    "interval inf": (["-i", "inf"], ["inf"]),
    "interval word": (["-i", "often"], ["often"]),
    "interval empty": (["-i", ""], []),
    "interval with rest": (["-i", "1x"], ["1x"]),
    "interval too short": (["-i", "10us"], ["10us"]),
    "interval too long": (["-i", "2h"], ["2h"]),
    "interval absurd": (["-i", "1e300"], ["1e300"]),
    "format unknown": (["-f", "xml"], ["xml", "json"]),
    "format of later": (["-f", "parquet"], ["parquet"]),
    "detail unknown": (["--detail", "often"], ["often", "auto"]),
    "color unknown": (["--color", "blue"], ["blue", "auto"]),
    "wait unknown": (["--wait", "some"], ["some", "main"]),
    "tag without value": (["--tag", "novalue"], ["novalue", "="]),
    "tag without key": (["--tag", "=value"], ["=value"]),
    "samples of no kind": (["--samples", "s.parquet"], ["s.parquet", ".csv", ".jsonl"]),
    "output folder missing": (["-o", "/no/such/folder/r.json"], ["/no/such/folder"]),
    "output is a folder": (["-o", "/tmp"], ["/tmp"]),
    "samples folder missing": (["--samples", "/no/such/folder/s.csv"], ["/no/such/folder"]),
    "descriptor not open": (["-o", "/dev/fd/777"], ["777"]),
    "config missing": (["--config", "/no/such/config.json"], ["/no/such/config.json"]),
    "append and no-clobber": (["--append", "--no-clobber"], ["--append", "--no-clobber"]),
}


@pytest.mark.parametrize("arguments, words", OPTIONS.values(), ids=OPTIONS)
def test_invalid_option_is_refused(spoor, marker, arguments, words):
    if arguments == ["--interval"]:
        assert refused(spoor("run", "--interval"), "--interval")
    else:
        assert refused(spoor("run", *arguments, "--", "touch", marker), *words)


@pytest.mark.parametrize("arguments", [["run"], ["run", "--"], ["run", "-q"], ["run", "--", ""]],
                         ids=str)
def test_empty_command_is_refused(spoor, arguments):
    assert refused(spoor(*arguments), "command")


def test_error_for_an_unknown_command_suggests_the_nearest_one(spoor):
    assert refused(spoor("atach", "1"), "atach", "attach")


def test_missing_command_shows_the_usage(spoor):
    done = spoor()
    assert done.returncode == 125 and "spoor run" in done.stdout + done.stderr


CONFIGS = {
    "broken JSON": ('{\n  "interval": 1,\n  oops\n}\n', [r"\b3\b"]),
    "cut JSON": ('{"interval": ', [r"\b1\b"]),
    "no object": ("[1, 2]", []),
    "empty": ("", []),
    "unknown key": ('{"intervall": 1}', ["intervall", "interval"]),
    "bad value": ('{"interval": "often"}', ["interval", "often"]),
    "wrong type": ('{"interval": [1]}', ["interval"]),
    "bytes that are no text": ('{"name": "\udcff"}', []),
}


@pytest.mark.parametrize("content, patterns", CONFIGS.values(), ids=CONFIGS)
def test_invalid_config_is_refused(spoor, tmp_path, marker, content, patterns):
    path = tmp_path / "config.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    done = spoor("run", "--config", path, "--", "touch", marker)
    assert refused(done, str(path))
    for pattern in patterns:
        assert re.search(pattern, done.stderr.replace(str(path), "")), done.stderr


def test_broken_config_is_located_by_line_and_column(spoor, tmp_path, marker):
    path = tmp_path / "config.json"
    path.write_text('{\n  "interval": 1,\n  oops\n}\n')
    done = spoor("run", "--config", path, "--", "touch", marker)
    assert refused(done)
    place = re.search(r":(\d+):(\d+)|line (\d+),? column (\d+)", done.stderr)
    assert place and "3" in place.groups(), done.stderr


@pytest.mark.parametrize("name, text", [("SPOOR_INTERVAL", "never"), ("SPOOR_FORMAT", "xml"),
                                        ("SPOOR_DETAIL", "maybe")])
def test_error_names_the_invalid_variable(spoor, marker, clean_environment, name, text):
    done = spoor("run", "--", "touch", marker, env={**clean_environment, name: text})
    assert refused(done, name, text)


@pytest.mark.parametrize("pid", ["0", "-1", "abc", "", "99999999999999999999", "1.5", "12x"])
def test_invalid_pid_is_refused(spoor, pid):
    assert refused(spoor("attach", "-p", pid))


def test_pid_without_a_process_is_refused(spoor):
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert refused(spoor("attach", str(ended.pid)), str(ended.pid))


def test_pid_of_a_thread_is_refused(spoor):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert refused(spoor("attach", str(thread.native_id)), "thread", str(os.getpid()))
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("arguments", [[], ["1", "2"], ["--duration", "0", "1"],
                                       ["--duration", "nan", "1"], ["--duration", "-3", "1"]],
                         ids=str)
def test_invalid_arguments_of_attach_are_refused(spoor, arguments):
    assert refused(spoor("attach", *arguments))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["attach", "-h"], ["help"],
                                       ["doctor", "--help"], ["--version"], ["-V"]], ids=str)
def test_help_goes_to_stdout(spoor, arguments):
    done = spoor(*arguments)
    assert done.returncode == 0 and done.stderr == "" and "spoor" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


@pytest.mark.parametrize("arguments, message", [
    (["help", "foo"], "unknown command 'foo'; see 'spoor --help'"),
    (["help", "rn"], "unknown command 'rn'; did you mean 'run'?"),
    (["help", "--foo"], "unknown command '--foo'; see 'spoor --help'"),
    (["help", "run", "x"], "unexpected argument 'x'"),
    (["foo"], "unknown command 'foo'; to track it: spoor run -- foo"),
    (["foo", "-j8", "a b"], "unknown command 'foo'; to track it: spoor run -- foo -j8 'a b'"),
], ids=str)
def test_help_for_an_unknown_command_does_not_suggest_running_it(spoor, arguments, message):
    done = spoor(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (125, "", f"spoor: {message}\n")
