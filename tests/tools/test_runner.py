# SPDX-License-Identifier: Apache-2.0
"""The scripts that install packages and count tests."""
import importlib.machinery
import importlib.util
import pathlib
import resource
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"


@pytest.fixture
def runner():
    loader = importlib.machinery.SourceFileLoader("run_tests", str(TOOLS / "run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def tally(runner, monkeypatch):
    monkeypatch.setenv("CI", "true")
    tally = runner.Tally()
    tally.expected = [["user", "test_root_*", "needs root"]]
    return tally


def test_counts_are_summed(tally, capsys):
    tally.add("one", 3, [], [], "any", "0 s")
    tally.add("two", 4, [], [("test_root_only", "why")], "user", "0 s")
    assert tally.close() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "7 passed, 0 failed, 1 skipped"


def test_failure_fails_and_is_shown_at_the_end(tally, capsys):
    tally.add("one", 3, [("test_a", "text")], [], "any", "0 s")
    tally.add("two", 4, [], [], "any", "0 s")
    assert tally.close() == 1
    assert [line.split()[0] for line in capsys.readouterr().out.split("\n") if line] == \
        ["one", "two", "FAILED", "text", "7"]


def test_time_of_a_part_is_the_time_of_its_commands(runner):
    clock, before = runner.Clock(), resource.getrusage(resource.RUSAGE_CHILDREN)
    output, status = clock.run(["sh", "-c", "echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3"])
    assert (output, status) == ("out\nerr\n", 3)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The kernel rounds the times of one process and of all to microseconds.
    assert used_seconds > 0 and clock.cpu_seconds == pytest.approx(used_seconds, abs=1e-5)
    assert clock.run(["sleep", "1000"], timeout=0.01)[1] == -9


def test_failed_build_is_a_failure_and_its_tests_do_not_run(runner, tally, monkeypatch, tmp_path):
    monkeypatch.setitem(runner.BUILDS, "plain", (tmp_path / "build", ["-Dno-such-option=1"]))
    builds = runner.Builds(tally, ["plain"])
    jobs = [("plain", "user", "")]
    runner.computing_tests(tally, builds, ["plain", "web"], None, jobs)
    runner.waiting_tests(tally, builds, ["functional"], None, jobs)
    runner.lone_tests(tally, builds, ["truth"], None, [], False)
    assert [part for part, _, _ in tally.failures] == ["build"] and tally.passed == 0


@pytest.mark.parametrize("name, who", [("test_other", "user"), ("test_root_only", "root")])
def test_unexpected_skip_fails_under_ci_only(tally, monkeypatch, name, who):
    tally.add("one", 3, [], [(name, "why")], who, "0 s")
    assert tally.close() == 1
    monkeypatch.delenv("CI")
    assert tally.close() == 0


def test_test_functions_of_a_program_are_counted(runner, tmp_path):
    program = tmp_path / "test"
    program.write_text("#!/bin/sh\necho 'ok 1 - a'\necho 'not ok 2 - b'\n"
                       "echo 'not ok 3 # SKIP c'\nexit 1\n")
    program.chmod(0o755)
    passed, failures, skips = runner.run_program(runner.Clock(), ("t", [], [str(program)], {}, None), [])
    assert (passed, [name for name, _ in failures], [name for name, _ in skips]) == \
        (1, ["t.b"], ["t.c"])


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("is_root", [False, True])
def test_functional_tests_run_with_every_build_and_as_every_user(runner, is_root, is_full):
    jobs = runner.functional_jobs(is_root, is_full)
    assert {kind for kind, _, _ in jobs} == set(runner.BUILDS)
    assert {who for _, who, _ in jobs} == ({"root", "user"} if is_root else {"user"})
    assert all((marks == "threads") == (kind == "tsan") for kind, _, marks in jobs)
    # Every test runs with ASan; only root omits some tests as another user.
    assert any(kind == "asan" and not marks for kind, _, marks in jobs)
    assert any("any_user" in marks for _, _, marks in jobs) == (is_root and not is_full)
    both = {(kind, who) for kind in ("plain", "asan") for who in ("root", "user")}
    assert not (is_root and is_full) or both < {(kind, who) for kind, who, _ in jobs}


@pytest.mark.parametrize("parts, builds", [
    (["tools"], []), (["python"], ["plain"]), (["truth", "tsan"], ["plain", "tsan"]),
    (["valgrind"], ["plain"]), (["functional"], ["plain", "asan", "tsan"])])
def test_only_required_files_are_built(runner, parts, builds):
    assert runner.needed_builds(parts) == builds


def test_unknown_part_is_refused():
    done = subprocess.run([TOOLS / "run-tests", "functionl"], stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 2 and "unknown part: functionl" in done.stderr


def test_output_of_the_emulated_machine_is_counted(runner):
    passed, failures, skips = runner.read_vm(
        "machine                            3 passed   0 failed\n"
        "root: sharing                     17 passed   1 failed\n"
        "  FAILED shared_bytes keeps the rules: why\n"
        "root: huge pages                 skipped: none there\n"
        "Linux 6.1, 100 s in the machine\n20 passed, 1 failed, 1 skipped\n")
    assert (passed, skips) == (20, [("root: huge pages", "none there")])
    assert failures == [("root: sharing", "FAILED shared_bytes keeps the rules: why")]


@pytest.mark.parametrize("output", ["", "no kernel\n", "  FAILED a\n2 passed, 2 failed, 0 skipped\n"])
def test_emulated_machine_without_output_is_a_failure(runner, output):
    assert runner.read_vm(output)[1][-1][0] == "vm"


def test_descriptor_left_open_is_found(runner):
    text = ("==7== FILE DESCRIPTORS: 3 open (2 std) at exit.\n"
            "==7== Open file descriptor 5: /tmp/x\n==7==    at 0x1: open\n==7== \n"
            "==7== Open file descriptor 3: /tmp/y\n==7==    <inherited from parent>\n")
    assert runner.open_descriptors(text) == ["Open file descriptor 5: /tmp/x"]


def deps(folder, packages, *arguments):
    shutil.copy(TOOLS / "deps", folder)
    (folder / "packages").write_text(packages)
    return subprocess.run([folder / "deps", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def test_deps_is_quiet_when_nothing_is_missing(tmp_path):
    done = deps(tmp_path, "build sh sh -c true\ntest no-such false\n", "build")
    assert (done.returncode, done.stdout) == (0, "")


def test_deps_names_missing_packages(tmp_path):
    done = deps(tmp_path, "build no-such-one false\nbuild sh true\nlint no-such-two false\n",
                "--check", "build", "lint")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith("no-such-one no-such-two")
