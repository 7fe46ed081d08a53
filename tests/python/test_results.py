# SPDX-License-Identifier: Apache-2.0
"""Results of the package spoor: numbers with bounds, tables, stored runs, commands."""
import asyncio
import importlib
import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import typing

import gpu_tracker
import pytest
import resource_tracker

import spoor
from conftest import eventually, state_of


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Returns the result of a run of three processes, with samples."""
    samples = tmp_path_factory.mktemp("run") / "samples.csv"
    return spoor.run([sys.executable, "-c", "import subprocess; subprocess.run(['sh', '-c', 'sleep 0.3; exit 0'])"],
                     interval=0.05, samples=samples, name="three")


# ---- Measure ----

def test_measure_behaves_like_a_number():
    measure = spoor.Measure(1500000, "source", exact=True)
    assert float(measure) == 1.5e6 and int(measure) == 1500000 and round(measure / 1e6, 1) == 1.5
    assert measure > 1 and measure >= 1500000 and measure < 2e6 and measure <= 1500000 and measure == 1500000
    assert measure == spoor.Measure(1500000) and measure != 3 and hash(measure) == hash(1500000)
    assert measure + 1 == 1500001 and 1 + measure == 1500001 and measure - 1 == 1499999 and 2 - measure == -1499998
    assert measure * 2 == 3000000 and 2 * measure == 3000000 and 3e6 / measure == 2
    assert measure + measure == 3000000 and max(measure, spoor.Measure(7)) is measure
    assert f"{measure:,}" == "1,500,000" and f"{measure:.1e}" == "1.5e+06" and str(measure) == "1500000"
    assert repr(measure) == "Measure(1500000, exact)" and bool(measure) and not spoor.Measure(0)
    assert repr(spoor.Measure(5, low=4, high=6)) == "Measure(5, 4 to 6)"
    assert repr(spoor.Measure(5, low=4)) == "Measure(5, 4 to ?)" and repr(spoor.Measure(5)) == "Measure(5)"


@pytest.mark.parametrize("use", [float, int, round, lambda m: m + 1, lambda m: 1 / m, lambda m: m > 3,
                                 lambda m: 3 >= m, lambda m: spoor.Measure(1) < m])
def test_unknown_measure_cannot_be_used_as_a_number(use):
    measure = spoor.Measure(reason="there is no GPU")
    with pytest.raises(spoor.UnknownError, match="unknown: there is no GPU"):
        use(measure)


def test_unknown_measure_has_a_text_form():
    measure = spoor.Measure(reason="there is no GPU")
    assert not measure and measure == spoor.Measure() and measure != 0
    assert str(measure) == "unknown" and f"{measure:.2f}" == "unknown" and f"{measure:12.2f}" == "     unknown"
    assert f"{measure:>12,}" == "     unknown" and repr(measure) == "Measure(unknown: there is no GPU)"


def test_measures_can_be_pickled(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.cpu_seconds == result.cpu_seconds and again.cpu_seconds.source == result.cpu_seconds.source
    assert again.memory == result.memory and str(again) == str(result)


# ---- Result ----

def test_short_names_refer_to_figures_of_the_report(result):
    report = result.to_dict()
    assert result.elapsed_seconds == report["run"]["elapsed_seconds"] and result.exit_code == 0
    assert result.cpu_seconds == report["cpu"]["total_seconds"]["value"]
    assert result.mean_cores == report["cpu"]["mean_cores"]["value"]
    assert result.peak_memory_bytes == report["memory"]["combined"]["total_rss_bytes"]["value"]
    assert result.peak_gpu_memory_bytes.value is None and result.peak_gpu_memory_bytes.reason
    assert result.read_bytes == report["io"]["read_bytes"]["value"]
    assert result.written_bytes == report["io"]["written_bytes"]["value"]


def test_representations_are_short(result):
    assert len(repr(result)) < 150 and "peak_memory_bytes=" in repr(result)
    for value in vars(result).values():
        if isinstance(value, spoor._report.Section):
            assert len(repr(value)) < 800, repr(value)
    assert repr(result.processes).startswith("Processes(max_concurrent=")
    assert "rows" in repr(result.samples)


def test_notebook_shows_a_table(result):
    html = result._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == html.count("</tr>")
    assert ">Memory</th>" in html and "subprocess.run" in html
    failed = spoor._result.Result(None, reason="it was <killed>")
    assert failed._repr_html_() == "<p>no result: it was &lt;killed&gt;</p>"


def test_result_without_a_report_raises_its_reason():
    failed = spoor._result.Result(None, reason="it was killed")
    for use in (lambda: failed.cpu_seconds, lambda: failed.memory, lambda: failed.samples, failed.to_dict,
                lambda: failed.save("x.json")):
        with pytest.raises(spoor.Error, match="it was killed"):
            use()


@pytest.mark.parametrize("suffix, text", [("json", '"schema"'), ("csv", "elapsed"), ("html", "<html"),
                                          ("txt", "Elapsed")])
def test_file_suffix_selects_the_format_of_a_saved_result(result, tmp_path, suffix, text):
    path = tmp_path / f"report.{suffix}"
    assert result.save(path) is result
    assert text in path.read_text()


def test_saved_result_can_be_loaded(result, tmp_path):
    result.save(tmp_path / "report.json")
    again = spoor.load(tmp_path / "report.json")
    assert again.to_dict() == result.to_dict() and str(again) == str(result)


def test_load_refuses_missing_and_invalid_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="'nowhere.json' does not exist"):
        spoor.load("nowhere.json")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(spoor.Error, match="cannot load the run"):
        spoor.load("x.json")


# ---- tables ----

def test_curve_is_available_as_a_table(result):
    table = result.curve.to_table()
    assert table.columns[0] == "seconds" and len(table) == len(result.curve.seconds)
    assert max(value for value in table["job_rss_bytes"] if value) <= 1.001 * result.peak_memory_bytes  # 4 digits
    times = table["seconds"]
    cores = table["job_cpu_seconds"]
    total = sum(rate * (after - before) for rate, before, after in zip(cores[1:], times, times[1:]))
    assert total == pytest.approx(float(result.cpu_seconds), rel=0.02)


def test_processes_are_available_as_a_table(result):
    table = result.processes.to_table()
    assert sorted(table["name"]) == sorted(process.name for process in result.processes.largest)
    assert {"pid", "cpu_seconds", "exit_code"} <= set(table.columns)
    assert [row["pid"] for row in table] == table["pid"]


def test_samples_belong_to_the_run(result):
    samples = result.samples
    assert len(samples) == result.run.samples and "run_id" not in samples.columns
    assert samples["elapsed_seconds"] == sorted(samples["elapsed_seconds"])
    assert all(isinstance(value, (int, float)) for value in samples["job_cpu_seconds"])


def test_appended_samples_are_separated_by_run():
    runs = [spoor.run(["true"], samples="s.jsonl", append=True) for _ in range(2)]
    assert [len(run.samples) for run in runs] == [run.run.samples for run in runs]
    starts = [run.samples["timestamp"][0] for run in runs]
    assert starts[0] < starts[1]


def test_run_without_samples_explains_how_to_get_them():
    with spoor.Tracker() as tracker:
        pass
    with pytest.raises(spoor.Error, match="samples='samples.csv'"):
        tracker.result.samples


def test_interchange_protocol_is_supported():
    """Reads the buffers in the same way as another library."""
    import ctypes

    frame = spoor.Table({"i": [1, -2], "f": [0.5, None], "s": ["ä", None], "n": [None, 3]}).__dataframe__()
    assert frame.num_columns() == 4 and frame.num_rows() == 2 and frame.column_names() == ["i", "f", "s", "n"]
    kinds = {name: frame.get_column_by_name(name).dtype[:2] for name in frame.column_names()}
    assert kinds == {"i": (0, 64), "f": (2, 64), "s": (21, 8), "n": (2, 64)}
    data, _ = frame.get_column(0).get_buffers()["data"]
    assert list((ctypes.c_int64 * 2).from_address(data.ptr)) == [1, -2] and data.bufsize == 16
    text = frame.get_column(2).get_buffers()
    assert ctypes.string_at(text["data"][0].ptr, text["data"][0].bufsize) == "ä".encode()
    assert list((ctypes.c_int64 * 3).from_address(text["offsets"][0].ptr)) == [0, 2, 2]
    assert ctypes.string_at(text["validity"][0].ptr, 2) == b"\1\0"
    assert frame.select_columns([1, 0]).column_names() == ["f", "i"]


# ---- run ----

def test_run_measures_a_command():
    result = spoor.run(["sh", "-c", "exit 3"], name="n", tags={"a": "b"}, cwd="/")
    assert result.exit_code == 3 and result.run.command == ["sh", "-c", "exit 3"] and result.run.cwd == "/"
    assert result.run.name == "n" and result.run.tags == {"a": "b"}


def test_run_passes_environment_and_streams():
    read, write = os.pipe()
    with open("in", "w") as file:
        file.write("text")
    with open("in") as stdin:
        spoor.run(["sh", "-c", 'cat; echo $X'], env={**os.environ, "X": "y"}, stdin=stdin, stdout=write)
    os.close(write)
    assert os.read(read, 100) == b"texty\n"
    os.close(read)


def test_run_with_check_raises_if_the_command_fails():
    with pytest.raises(subprocess.CalledProcessError) as error:
        spoor.run(["sh", "-c", "exit 3"], check=True)
    assert error.value.returncode == 3 and error.value.result.exit_code == 3


def test_run_writes_relative_to_the_current_folder(tmp_path):
    result = spoor.run(["true"], cwd="/", samples="s.csv", output="r.json")
    assert (tmp_path / "s.csv").exists()
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["run"] == result["run"]
    with pytest.raises(spoor.Error):
        spoor.run(["true"], output="r.json", no_clobber=True)
    assert spoor.load("r.json").run.id == result.run.id


@pytest.mark.parametrize("command, kind, message", [
    (["/nowhere/program"], FileNotFoundError, "'/nowhere/program': command not found"),
    (["/etc/passwd"], PermissionError, "'/etc/passwd': cannot be executed"),
    ("ls", ValueError, "expected a list"),
    ([], ValueError, "expected a list"),
])
def test_command_that_cannot_run_is_an_error(command, kind, message):
    with pytest.raises(spoor.Error, match=message) as error:
        spoor.run(command)
    assert isinstance(error.value, kind)


def test_interrupted_run_ends_the_command(script):
    process = script.start("""
        import signal, spoor
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
        spoor.run(["sh", "-c", "echo started; exec sleep 1000"])
        """, start_new_session=True, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    # The command may print before Popen() has returned: an interrupt there loses its process, in any Python program.
    eventually(lambda: state_of(process.pid) == "S", "Python waits for the command")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err  # the pipe is closed, so the command has exited


# ---- blocks and decorators ----

def test_phase_decorator_supports_coroutines_and_generators():
    @spoor.phase("coroutine")
    async def coroutine():
        await asyncio.sleep(0.02)

    @spoor.phase("generator")
    def generator():
        received = yield 1
        return received

    @spoor.phase("async generator")
    async def async_generator():
        received = yield 1
        yield received

    async def main():
        await coroutine()
        values = async_generator()
        assert await values.asend(None) == 1 and await values.asend(5) == 5
        await values.aclose()

    with spoor.Tracker() as tracker:
        asyncio.run(main())
        values = generator()
        assert next(values) == 1
        with pytest.raises(StopIteration) as stop:
            values.send(7)
        assert stop.value.value == 7
    phases = {phase.name: phase for phase in tracker.result.phases}
    assert set(phases) == {"coroutine", "generator", "async generator"}
    assert phases["coroutine"].elapsed_seconds >= 0.02
    for function, is_such in ((coroutine, inspect.iscoroutinefunction), (generator, inspect.isgeneratorfunction),
                              (async_generator, inspect.isasyncgenfunction)):
        assert is_such(function)


def test_generators_can_be_tracked():
    tracker = spoor.Tracker()

    @tracker
    def values():
        yield from range(3)

    assert list(values()) == [0, 1, 2] and tracker.result.run.pid == os.getpid()


def test_async_blocks_can_be_tracked():
    async def main():
        async with spoor.Tracker() as tracker:
            async with spoor.phase("p"):
                await asyncio.sleep(0)
        return tracker.result

    assert [phase.name for phase in asyncio.run(main()).phases] == ["p"]


def test_phase_belongs_to_the_tracker_of_its_thread():
    trackers, barrier = {}, threading.Barrier(2)

    def work(name):
        barrier.wait()
        with spoor.Tracker() as trackers[name]:
            barrier.wait()  # both commands have started
            with spoor.phase(name):
                pass
            barrier.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: [phase.name for phase in tracker.result.phases] for name, tracker in trackers.items()} == \
        {"a": ["a"], "b": ["b"]}


def test_phase_belongs_to_the_tracker_of_its_task():
    async def work(name, turn):
        async with spoor.Tracker() as tracker:
            await turn.wait()
            with spoor.phase(name):
                pass
            turn.set()
        return [phase.name for phase in tracker.result.phases]

    async def main():
        turn = asyncio.Event()
        tasks = [asyncio.create_task(work(name, turn)) for name in ("a", "b")]
        await asyncio.sleep(0)
        turn.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [["a"], ["b"]]


def test_phase_in_a_thread_belongs_to_the_tracker_of_the_process():
    with spoor.Tracker() as tracker:
        def work():
            with spoor.phase("p"):
                pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [phase.name for phase in tracker.result.phases] == ["p"]


# ---- arguments and annotations ----

@pytest.mark.parametrize("options", [{"interval": 0}, {"interval": -1}, {"interval": float("nan")}, {"pid": 0},
                                     {"pid": "1"}, {"detail": "x"}, {"format": "xml"}, {"tags": {"": "x"}},
                                     {"append": True, "no_clobber": True}, {"output": "a\0b"}])
def test_arguments_are_checked_by_the_constructor(options):
    with pytest.raises(ValueError):
        spoor.Tracker(**options)


def public_functions(module, name):
    """Yields the public classes and functions of a module, and the members of the classes."""
    value = getattr(module, name)
    if inspect.isclass(value):
        yield name, value
        for key, member in vars(value).items():
            function = getattr(member, "__func__", member.fget if isinstance(member, property) else member)
            if inspect.isfunction(function) and (key == "__init__" or not key.startswith("_")):
                yield f"{name}.{key}", function
    elif inspect.isfunction(value):
        yield name, value


PUBLIC = [found for module in (spoor, gpu_tracker, resource_tracker) for name in module.__all__
          for found in public_functions(module, name)]
PUBLIC_MODULES = [("gpu_tracker.analysis", "CodeBlockResults SubTrackingResults ComparisonResults"),
                  ("resource_tracker.tiny_data_frame", "TinyDataFrame StatSpec"),
                  ("resource_tracker.report", "Report"),
                  ("resource_tracker.keeper", "get_instance_price get_recommended_cloud_servers"),
                  ("resource_tracker.tracker_procfs", "get_process_stats get_system_stats")]
PUBLIC += [found for module, names in PUBLIC_MODULES for name in names.split()
           for found in public_functions(importlib.import_module(module), name)]


@pytest.mark.parametrize("name, value", PUBLIC)
def test_annotations_can_be_evaluated(name, value):
    hints = typing.get_type_hints(value)
    if inspect.isfunction(value):
        assert set(value.__annotations__) == set(hints)
    if value.__module__.startswith("spoor") and not name.rpartition(".")[2].startswith("_"):
        assert value.__doc__ and value.__doc__.strip(), name


def test_report_and_samples_are_json(result):
    json.dumps(result.to_dict(), allow_nan=False)
    json.dumps(result.samples.to_dict(), allow_nan=False)
