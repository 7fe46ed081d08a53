# SPDX-License-Identifier: Apache-2.0
"""pytest --spoor: measures each test, and enforces limits."""
import json
import os
import re
import sys
import textwrap
import tomllib
import xml.etree.ElementTree

import pytest

from conftest import BINARY, TOP, agents, eventually

pytest_plugins = "pytester"

MB = 10 ** 6
HEADER = """
    import os, signal, subprocess, sys, unittest
    import pytest

    MB = 10 ** 6

    def tracker():
        import spoor._tracker
        return spoor._tracker._running[-1]

    def agent_pid():
        return tracker()._agent.ready["pid"]

    def start_child(*prefix):
        # It has 300 MB while the tracker takes a sample.
        program = "x = bytearray(300 * 10 ** 6); print(); input()"
        with subprocess.Popen([*prefix, sys.executable, "-S", "-c", program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            tracker().sample()
            process.communicate(b"\\n")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """run(text, *options) returns the result of pytest --spoor on a file test_it.py with this
    text."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(text, *options, plugin=("-p", "pytest_spoor", "--spoor")):
        (pytester.path / "test_it.py").write_text(textwrap.dedent(HEADER) + textwrap.dedent(text))
        return pytester.runpytest_subprocess(*plugin, "-p", "no:cacheprovider", *options)
    return run


def rows(result):
    """Returns the table of the summary, in order: {test: [memory, growth, CPU, time]}, in bytes
    and seconds."""
    table = {}
    for line in result.outlines:
        found = re.fullmatch(r" *([\d.]+) MB +([+\d.]+) MB +([\d.]+) s +([\d.]+) s  test_it.py::(.*)", line)
        if found:
            memory, growth, cpu, seconds = map(float, found.groups()[:4])
            table[found[5]] = [memory * MB, growth * MB, cpu, seconds]
    return table


def test_summary_lists_the_ten_largest_tests(run):
    result = run("""
        @pytest.mark.parametrize("size", range(12))
        def test_size(size):
            bytearray(size * 20 * MB)
    """)
    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["*= spoor: largest peak memory, 10 of 12 tests =*",
                                 "* memory * growth * CPU * time  test"])
    table = rows(result)
    assert list(table) == [f"test_size[{size}]" for size in range(11, 1, -1)]
    for size, (memory, growth, *_) in zip(range(11, 1, -1), table.values()):
        assert size * 20 * MB - MB <= growth <= size * 20 * MB + 10 * MB and memory > growth


@pytest.mark.any_user
@pytest.mark.parametrize("sort, first", [("cpu", "test_busy"), ("time", "test_busy"), ("growth", "test_large")])
def test_summary_can_be_sorted_by_other_figures(run, sort, first):
    result = run("""
        import time
        def test_large():
            bytearray(100 * MB)
        def test_busy(request):
            large = dict(request.session.items[0].user_properties)["spoor_time_seconds"]
            end, until = time.process_time() + 0.2, time.perf_counter() + large + 0.1
            while time.process_time() < end or time.perf_counter() < until:
                pass
    """, "--spoor-sort", sort)
    table = rows(result)
    assert next(iter(table)) == first
    assert 0.2 <= table["test_busy"][2] <= table["test_busy"][3] + 0.02


WAYS = {"itself": "bytearray(300 * MB)", "child": "start_child()",
        "grandchild": "start_child('sh', '-c', '\"$@\"; true', 'sh')"}


@pytest.mark.parametrize("way", WAYS)
def test_exceeded_memory_limit_fails_the_test(run, way):
    result = run(f"""
        @pytest.mark.spoor(max_memory="200MB")
        def test_it():
            {WAYS[way]}
        @pytest.mark.spoor(max_memory=2 * 10 ** 9, max_growth="1.5 GiB")
        def test_below():
            {WAYS[way]}
    """)
    result.assert_outcomes(failed=1, passed=1)
    message, = (line for line in result.outlines if "max_memory=" in line)
    found = re.fullmatch(r"spoor: the peak memory of the test is ([\d.]+) MB, more than max_memory='200MB'", message)
    assert 300 <= float(found[1]) < 400


def test_exceeded_cpu_time_and_growth_limits_fail_the_test(run):
    result = run("""
        import time
        @pytest.mark.spoor(max_cpu=0.1)
        def test_cpu():
            subprocess.run([sys.executable, "-S", "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
        @pytest.mark.spoor(max_time="20ms")
        def test_time():
            time.sleep(0.05)
        @pytest.mark.spoor(max_growth="50MiB")
        def test_growth():
            bytearray(100 * MB)
        @pytest.mark.spoor(max_growth="50MiB")
        class TestClass:
            def test_from_the_class(self):
                bytearray(100 * MB)
            @pytest.mark.spoor(max_growth="1GB")
            def test_own_limit_decides(self):
                bytearray(100 * MB)
    """)
    result.assert_outcomes(failed=4, passed=1)
    text = "\n".join(result.outlines)
    assert re.search(r"CPU time of the test is \d+\.\d+ s, more than max_cpu=0\.1$", text, re.M)
    assert re.search(r"the time of the test is \d+\.\d+ s, more than max_time='20ms'$", text, re.M)
    grown = re.findall(r"memory growth of the test is (?:99|10\d)\.\d MB, more than max_growth='50MiB'$", text, re.M)
    assert len(grown) == 2


def test_peak_between_two_samples_after_a_larger_test_is_measured(run):
    """The tracker is stopped during the peak, so only the kernel's high-water mark contains it."""
    result = run("""
        def test_larger():
            bytearray(400 * MB)
        def test_it():
            os.kill(agent_pid(), signal.SIGSTOP)
            bytearray(200 * MB)
            os.kill(agent_pid(), signal.SIGCONT)
    """)
    result.assert_outcomes(passed=2)
    assert 199 * MB <= rows(result)["test_it"][1] <= 210 * MB


def test_short_lived_child_is_measured(run):
    """No sample contains the child, because the tracker is stopped while the child runs."""
    result = run("""
        def test_it():
            os.kill(agent_pid(), signal.SIGSTOP)
            subprocess.run([sys.executable, "-S", "-c", "import time; x = bytearray(200 * 10 ** 6)"])
            os.kill(agent_pid(), signal.SIGCONT)
    """)
    result.assert_outcomes(passed=1)
    assert 200 * MB <= rows(result)["test_it"][0] <= 300 * MB


def test_child_of_a_fixture_is_not_attributed_to_the_test(run):
    """The child reached its peak before the test, and exits during the test."""
    result = run("""
        @pytest.fixture
        def child():
            program = "import time; bytearray(300 * 10 ** 6)\\nwhile time.process_time() < 1: pass\\nprint(); input()"
            with subprocess.Popen([sys.executable, "-S", "-c", program], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                yield process
        @pytest.mark.spoor(max_memory="200MB", max_cpu=0.9)
        def test_it(child):
            child.communicate(b"\\n")
    """)
    result.assert_outcomes(passed=1)


def test_enclosing_run_reports_the_peak_of_the_tests(run, pytester, monkeypatch):
    """The enclosing run reads the high-water mark before it is reset. The run is stopped during
    the peak, so no sample contains it."""
    monkeypatch.setattr(pytester, "_getpytestargs",
                        lambda: (BINARY, "run", "-q", "-o", "out.json", "--", sys.executable, "-m", "pytest"))
    result = run("""
        from spoor import _run
        _run._ANSWER_SECONDS = 60  # a busy machine may answer late
        def test_large():
            os.kill(os.getppid(), signal.SIGSTOP)
            bytearray(300 * MB)
            os.kill(os.getppid(), signal.SIGCONT)
        def test_small():
            pass
    """)
    result.assert_outcomes(passed=2)
    peak = json.loads((pytester.path / "out.json").read_text("utf-8"))["memory"]["main"]["total_rss_bytes"]
    assert abs(peak["value"] - rows(result)["test_large"][0]) < MB


def test_setup_and_teardown_are_not_counted(run):
    result = run("""
        @pytest.fixture
        def large():
            bytearray(300 * MB)
            yield
            bytearray(300 * MB)
        @pytest.mark.spoor(max_memory="200MB")
        def test_it(large):
            pass
    """)
    result.assert_outcomes(passed=1)


@pytest.mark.any_user
def test_invalid_marks_fail_their_tests(run):
    messages = {
        "max_memory='200 apples'": "limit max_memory='200 apples': expected a number of bytes, or one with a unit: B",
        "max_time='1MB'": "limit max_time='1MB': expected a number of seconds, or one with a unit: s, ms, min",
        "max_cpu=None": "limit max_cpu=None: expected a number of seconds",
        "max_memory=True": "limit max_memory=True: expected a number of bytes",
        "max_rss=1": "argument max_rss of the mark: expected max_memory, max_growth, max_cpu, max_time",
        "'200MB'": "argument '200MB' of the mark: expected max_memory, "}
    result = run("".join(f"@pytest.mark.spoor({limits})\ndef test_{number}(): pass\n" for number, limits in enumerate(messages)))
    result.assert_outcomes(failed=len(messages))
    for message in messages.values():
        assert sum(line.startswith(f"spoor: invalid {message}") for line in result.outlines) == 1, message


@pytest.mark.any_user
def test_plugin_does_not_change_outcomes(run):
    """A test that fails for another reason shows its own error; xfail also covers a limit."""
    result = run("""
        @pytest.mark.spoor(max_memory=1)
        def test_fails():
            assert 1 == 2
        @pytest.mark.spoor(max_memory=1)
        def test_skips():
            pytest.skip("not here")
        @pytest.mark.xfail(strict=True)
        @pytest.mark.spoor(max_memory=1)
        def test_expected():
            pass
        class TestUnit(unittest.TestCase):
            @pytest.mark.spoor(max_memory=1)
            def test_unit(self):
                pass
            def test_fails_too(self):
                self.assertEqual(1, 2)
    """)
    result.assert_outcomes(failed=3, skipped=1, xfailed=1)
    text = "\n".join(result.outlines)
    assert "assert 1 == 2" in text and "AssertionError: 1 != 2" in text
    assert text.count("more than max_memory=1") == 1  # the limit of the unittest


def test_forked_child_that_leaves_the_test_does_not_end_the_measurement(run, pytester):
    pytester.makeconftest("""
        import os
        OWNER = os.getpid()
        def pytest_runtest_makereport(item, call):
            if os.getpid() != OWNER:
                os._exit(0 if call.excinfo.type is KeyError else 1)
    """)
    result = run("""
        def test_it():
            pid = os.fork()
            if pid == 0:
                raise KeyError
            assert os.waitpid(pid, 0) == (pid, 0)
            bytearray(100 * MB)
    """)
    result.assert_outcomes(passed=1)
    assert rows(result)["test_it"][1] >= 99 * MB
    eventually(lambda: not agents(), "the end of the agent")


@pytest.mark.any_user
def test_summary_explains_unknown_figures(run):
    result = run("""
        @pytest.mark.spoor(max_memory=1, max_time=100)
        def test_it():
            os.kill(agent_pid(), signal.SIGKILL)
        def test_next():
            pass
    """)
    result.assert_outcomes(passed=2, warnings=2)  # the other warning comes from the tracker
    text = "\n".join(result.outlines)
    assert "PytestWarning: spoor: max_memory=1 was not checked: the peak memory of test_it.py::test_it is unknown: " \
           "the tracker ended unexpectedly" in text
    assert "unknown: test_it.py::test_it: the tracker ended unexpectedly" in text
    assert list(rows(result)) == ["test_next"]


@pytest.mark.any_user
def test_summary_reports_a_missing_program(run, monkeypatch):
    monkeypatch.setenv("SPOOR_BIN", "/nonexistent/spoor")
    result = run("""
        @pytest.mark.spoor(max_memory=1)
        @pytest.mark.parametrize("number", range(3))
        def test_it(number):
            pass
    """)
    result.assert_outcomes(passed=3, warnings=3)
    result.stdout.fnmatch_lines(["unknown: test_it.py::test_it[[]0] and 2 more: SPOOR_BIN: '/nonexistent/spoor' is *"])


def test_workers_of_xdist_measure_their_own_tests(run):
    result = run("""
        @pytest.mark.parametrize("number", range(6))
        def test_it(number):
            bytearray(number * 20 * MB)
        @pytest.mark.spoor(max_growth="50MB")
        def test_large():
            bytearray(100 * MB)
    """, "-n", "2")
    result.assert_outcomes(passed=6, failed=1)
    table = rows(result)
    assert len(table) == 7
    for number in range(6):
        growth = table[f"test_it[{number}]"][1]
        assert number * 20 * MB - MB <= growth <= number * 20 * MB + 10 * MB


@pytest.mark.any_user
def test_junit_file_contains_the_figures(run, pytester):
    run("""
        def test_it():
            bytearray(100 * MB)
    """, "--junitxml=junit.xml")
    case = xml.etree.ElementTree.parse(pytester.path / "junit.xml").find(".//testcase")
    figures = {each.get("name"): float(each.get("value")) for each in case.iter("property")}
    assert set(figures) == {f"spoor_{name}" for name in ("memory_bytes", "growth_bytes", "cpu_seconds", "time_seconds")}
    assert figures["spoor_memory_bytes"] > figures["spoor_growth_bytes"] >= 99 * MB


@pytest.mark.any_user
def test_plugin_imports_nothing_without_the_option(run):
    result = run("""
        @pytest.mark.spoor(max_memory=1)
        def test_it():
            assert "pytest_spoor" in sys.modules and "spoor" not in sys.modules
    """, "--strict-markers", plugin=("-p", "pytest_spoor"))
    result.assert_outcomes(passed=1)
    assert "spoor: largest" not in "\n".join(result.outlines)


@pytest.mark.any_user
def test_documented_example_works(run):
    section = (TOP / "docs/PYTHON.md").read_text("utf-8").partition("\n## pytest\n")[2].partition("\n## ")[0]
    example, shown = re.findall(r"^```(?:python)?\n(.*?)^```$", section, re.M | re.S)
    result = run(example)
    result.assert_outcomes(passed=2, failed=1)
    assert list(rows(result)) == re.findall(r"test_sort.py::(\w+)$", shown, re.M)
    assert re.search(r"^spoor: the peak memory of the test is 3\d\d\.\d MB, more than max_memory='200MB'$",
                     "\n".join(result.outlines), re.M)


@pytest.mark.any_user
def test_entry_point_registers_the_plugin(run, tmp_path, monkeypatch):
    point, = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"].items()
    folder = tmp_path / "site/spoor-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: spoor\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[pytest11]\n{point[0]} = {point[1]}\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder.parent), os.environ["PYTHONPATH"]]))
    for plugin in (["--spoor"], ["--spoor", "-p", "pytest_spoor"]):
        result = run("def test_it(): pass", plugin=plugin)
        result.assert_outcomes(passed=1)
        assert list(rows(result)) == ["test_it"]


