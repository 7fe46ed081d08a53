# SPDX-License-Identifier: Apache-2.0
"""The package spoor."""
import asyncio
import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import spoor
from conftest import BINARY, PACKAGES, TOP, agents, burn, eventually, is_alive
from spoor import _library, _tracker
from spoor._program import make_error


def test_block_is_measured():
    burn(0.2)
    with spoor.Tracker(interval=0.02, name="n", tags={"a": "b"}) as tracker:
        assert tracker.is_running and tracker.result is None
        burn(0.05)
    result = tracker.result
    assert not tracker.is_running
    assert result.run.name == "n" and result.run.tags == {"a": "b"}
    assert result.run.pid == os.getpid() and result["run"]["pid"] == os.getpid()
    assert 0.04 < result.cpu.total_seconds.value < 0.2
    assert result.memory.main.total_rss_bytes.value > 1e6
    assert result.schema == "spoor/1" and result.to_dict()["schema"] == "spoor/1"
    assert "CPU time" in str(result) and str(os.getpid()) in repr(result)


def test_measures_contain_their_source_and_bounds():
    with spoor.Tracker() as tracker:
        pass
    measure = tracker.result.memory.main.total_rss_bytes
    assert isinstance(measure, spoor.Measure) and measure.source.startswith("procfs.")
    assert measure.exact is False and measure.low <= measure.value and measure.reason is None
    missing = tracker.result.energy.cpu_joules
    assert missing.value is None and missing.reason
    assert isinstance(tracker.result.data, spoor.Report)
    with pytest.raises(AttributeError):
        tracker.result.no_such_section


def test_every_key_of_the_report_has_a_field():
    with spoor.Tracker() as tracker:
        with tracker.phase("p"):
            pass

    def check(data, fields, path):
        for key, value in data.items():
            if key in ("tags", "cloud") or path + key in extra:
                continue
            assert hasattr(fields, key), path + key
            inner = getattr(fields, key)
            if isinstance(value, dict):
                check(value, inner, f"{path}{key}.")
            elif isinstance(value, list) and value and isinstance(value[0], dict) \
                    and not isinstance(inner[0], dict):
                check(value[0], inner[0], f"{path}{key}.")

    extra = ("limits.cpus_source", "limits.memory_source", "curve.columns")
    check(tracker.result.to_dict(), tracker.result.data, "")


def test_start_and_stop_may_be_repeated():
    tracker = spoor.Tracker()
    for _ in range(2):
        tracker.start()
        assert tracker.stop() is tracker.result


@pytest.mark.parametrize("misuse, message", [
    (lambda tracker: tracker.stop(), "the tracker is not running"),
    (lambda tracker: tracker.sample(), "the tracker is not running"),
    (lambda tracker: tracker.start().start(), "the tracker is already running"),
    (lambda tracker: tracker.start()._ask("phase-stop", "x"), "phase 'x' is not open"),
])
def test_misuse_is_an_error(misuse, message):
    with pytest.raises(spoor.Error, match=message):
        misuse(spoor.Tracker())


@pytest.mark.parametrize("options, kind, message", [
    ({"pid": 2 ** 22 + 1}, ProcessLookupError, "no such process"),
    ({"interval": 0}, ValueError, "^interval: '0' is out of range"),
    ({"interval": -0.5}, ValueError, "^interval: '-0.5' is out of range"),
    ({"interval": float("nan")}, ValueError, "^interval: "),
    ({"pid": -5}, ValueError, "^pid: invalid process ID '-5'$"),
    ({"pid": 0}, ValueError, "^pid: invalid process ID '0'$"),
    ({"pid": True}, ValueError, "^pid: invalid process ID 'True'$"),
    ({"interval": "soon"}, ValueError, "invalid time 'soon'"),
    ({"output": "nowhere/r.json"}, FileNotFoundError, "^output 'nowhere/r.json': directory "
                                                      "'nowhere' does not exist"),
    ({"output": "a\0b.json"}, ValueError, "^embedded null byte in an argument$"),
    ({"output": __file__, "no_clobber": True}, FileExistsError, "exists"),
    ({"samples": "s.txt"}, ValueError, "must end in .csv or .jsonl"),
    ({"format": "xml"}, ValueError, "^format: invalid value 'xml'"),
    ({"detail": "sometimes"}, ValueError, "^detail: "),
    ({"tags": {"": "x"}}, ValueError, "^tags: invalid name ''"),
    ({"tags": {"a=b": "x"}}, ValueError, "^tags: invalid name 'a=b'"),
    ({"append": True, "no_clobber": True}, ValueError,
     "^append and no_clobber cannot be combined$"),
    ({"samples": "--append --x.txt"}, ValueError, "^samples '--append --x.txt': the name must end in"),
])
def test_invalid_options_raise(options, kind, message):
    before = agents()
    with pytest.raises(spoor.Error, match=message) as error:
        spoor.Tracker(**options).start()
    assert isinstance(error.value, kind)
    eventually(lambda: agents() <= before, "the end of the agent")


def test_error_code_selects_the_exception_class():
    for code, kind in (("EINVAL", ValueError), ("EBADMSG", ValueError),
                       ("ENOENT", FileNotFoundError), ("EEXIST", FileExistsError),
                       ("EACCES", PermissionError), ("EPERM", PermissionError),
                       ("ESRCH", ProcessLookupError), ("ENODEV", RuntimeError),
                       ("not yet known", RuntimeError)):
        error = make_error(code, "what happened")
        assert isinstance(error, spoor.Error) and isinstance(error, kind)
        assert (error.code, str(error)) == (code, "what happened")
        copy = pickle.loads(pickle.dumps(error))  # as multiprocessing passes an exception to the parent
        assert (type(copy), copy.code, str(copy)) == (type(error), code, "what happened")


def test_unwritable_folder_is_an_error():
    os.mkdir("closed", 0o500)
    if os.access("closed", os.W_OK):
        pytest.skip("root may write everywhere")
    with pytest.raises(PermissionError):
        spoor.Tracker(output="closed/r.json").start()


def test_files_are_written():
    with spoor.Tracker(output="r.json", samples="s.csv", interval="20ms") as tracker:
        tracker.sample()
    with open("r.json", encoding="utf-8") as file:
        assert json.load(file)["run"]["id"] == tracker.result.run.id
    with open("s.csv", encoding="utf-8") as file:
        assert len(file.readlines()) >= 4


def test_paths_may_be_bytes():
    name = b"r\xff.json"
    with spoor.Tracker(output=name, samples=pathlib.Path("s.csv")):
        pass
    assert sorted(os.listdir(b".")) == [name, b"s.csv"]


def test_interval_none_selects_the_default():
    with spoor.Tracker(interval=None) as tracker:
        pass
    assert tracker.result["run"]["interval_seconds"] == 1
    with pytest.raises(TypeError, match="^interval: expected seconds, not \\[\\]$"):
        spoor.Tracker(interval=[])


def test_snapshot_of_process_0_is_refused():
    with pytest.raises(ValueError, match="invalid process ID '0'"):
        spoor.snapshot(0)


def test_report_that_cannot_be_written_causes_a_warning():
    os.mkdir("folder")
    tracker = spoor.Tracker(output="folder/r.json").start()
    os.rmdir("folder")
    with pytest.warns(RuntimeWarning, match="cannot write '"):
        tracker.stop()


def test_phases_have_their_own_figures():
    with spoor.Tracker() as outer, spoor.Tracker() as inner:
        with spoor.phase("newest"):
            burn(0.03)
        with outer.phase("outer"), outer.phase("nested"):
            pass

        @spoor.phase("decorated")
        def work():
            return 7
        assert work() == 7
    assert [phase.name for phase in inner.result.phases] == ["newest", "decorated"]
    assert [phase.name for phase in outer.result.phases] == ["outer", "nested"]
    assert inner.result.phases[0].cpu.total_seconds.value >= 0.03


def test_phase_without_a_tracker_does_nothing():
    with spoor.phase("nobody"):
        pass
    with pytest.raises(ValueError, match="one line"):
        spoor.phase("a\nb")


def test_decorator_tracks_each_call():
    tracker = spoor.Tracker(name="f")

    @tracker
    def work(x, *, y):
        """Documented."""
        return x + y

    assert work(1, y=2) == 3 and work.__doc__ == "Documented."
    first = tracker.result
    assert work(3, y=4) == 7 and tracker.result is not first

    @tracker
    def fails():
        raise KeyError("x")
    with pytest.raises(KeyError):
        fails()
    assert tracker.result.run.name == "f"


def test_coroutines_and_running_loops_can_be_tracked():
    tracker = spoor.Tracker()

    @tracker
    async def work():
        with spoor.Tracker() as inner:
            await asyncio.sleep(0)
        return inner.result.run.pid

    assert asyncio.run(work()) == os.getpid()
    assert tracker.result.run.pid == os.getpid()


def test_processes_of_a_run_are_listed():
    with spoor.Tracker() as tracker:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
            tracker.snapshot()
            with spoor.phase("sampled"):
                pass
            process.stdin.close()
    processes = {p.pid: p for p in tracker.result.processes.largest}
    assert processes[os.getpid()].started_seconds < 0
    assert processes[os.getpid()].ended_seconds is None
    child = processes[process.pid]
    assert child.name == "cat" and child.parent_pid == os.getpid()
    assert 0 <= child.cpu_seconds < 1
    assert tracker.result.phases[0].processes.largest is None


def test_snapshot_reads_this_or_another_process():
    held = bytearray(50 << 20)
    own = spoor.snapshot()
    assert own.pid == os.getpid() and own.private_bytes > len(held)
    assert own.processes == 1 and own.threads >= 1 and own.cpu_seconds > 0
    assert own["job_rss_bytes"] == own.rss_bytes == own.to_dict()["job_rss_bytes"]
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        assert 0 < spoor.snapshot(process.pid).rss_bytes < 20e6
        process.stdin.close()
    with pytest.raises(spoor.Error, match="no such process"):
        spoor.snapshot(2 ** 22 + 1)
    with spoor.Tracker() as tracker:
        assert tracker.snapshot().rss_bytes > len(held)


def test_missing_program_is_an_error(monkeypatch):
    monkeypatch.setenv("SPOOR_BIN", "/nowhere/spoor")
    with pytest.raises(spoor.Error, match="SPOOR_BIN: '/nowhere/spoor' is not a program"):
        spoor.Tracker().start()
    monkeypatch.delenv("SPOOR_BIN")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(spoor.Error, match="the program 'spoor' is not installed"):
        spoor.find_program()
    monkeypatch.setenv("PATH", str(BINARY.parent))
    assert spoor.find_program() == str(BINARY)


def test_missing_library_is_an_error(monkeypatch):
    _library._load.cache_clear()
    monkeypatch.setattr(_library, "_find", lambda: "/nowhere/libspoor.so")
    with pytest.raises(spoor.Error, match="cannot load the spoor library: /nowhere/libspoor.so"):
        spoor.Tracker().start()


def test_slow_modules_are_not_imported():
    """Each of these modules would delay every importing program by 1 to 10 ms."""
    code = ("import sys, spoor, gpu_tracker; "
            "print(*{'json', 'socket', 'threading', 'dataclasses', 'inspect', 'subprocess', 'ctypes', "
            "'logging', 'sqlite3', 'csv'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-S", "-c", code], check=True, text=True,
                          stdout=subprocess.PIPE)
    assert done.stdout == "\n"


def test_version_equals_the_version_of_the_program():
    import gpu_tracker

    shown = subprocess.run([BINARY, "--version"], check=True, text=True, stdout=subprocess.PIPE)
    assert shown.stdout == f"spoor {spoor.__version__}\n"
    assert gpu_tracker.__version__ == f"5.0.1+spoor.{spoor.__version__}"
    assert (PACKAGES / "spoor/py.typed").exists() and (TOP / "python/gpu_tracker/py.typed").exists()


def test_agent_ends_when_the_tracker_is_garbage_collected():
    tracker = spoor.Tracker().start()
    pid = tracker._agent.ready["pid"]
    _tracker._running.clear()
    del tracker
    eventually(lambda: not is_alive(pid), "the end of the agent")


def test_phases_beyond_the_limit_are_accepted(recwarn):
    """Only a limited number of phases is kept individually, but the program gets no error."""
    with spoor.Tracker(interval=3600) as tracker:
        for epoch in range(300):
            with spoor.phase("epoch"):
                pass
        for epoch in range(5):
            with spoor.phase(f"other {epoch}"):
                burn(0.01)
    assert not recwarn.list
    assert [phase.name for phase in tracker.result.phases] == ["epoch"] * 255 + ["(others)"]
    assert 0.05 <= tracker.result.phases[-1].cpu.total_seconds.value <= \
        tracker.result.cpu.total_seconds.value
    assert "phases" in {warning.code for warning in tracker.result.warnings}


@pytest.mark.parametrize("name", ["", "x" * 1000, "a\0b"])
def test_phase_that_cannot_be_recorded_causes_a_warning(name):
    with spoor.Tracker() as tracker:
        with pytest.warns(RuntimeWarning):
            with spoor.phase(name):
                pass
    assert tracker.result.phases == []


def test_text_states_that_a_process_still_runs():
    with spoor.Tracker() as tracker:
        pass
    assert "\nstill running, tracked from" in str(tracker.result)
    assert tracker.result.run.still_running is True and tracker.result.run.exit_code is None
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with spoor.Tracker(process.pid) as tracker:
        process.stdin.close()
        process.wait()
    assert "still running" not in str(tracker.result)
    assert tracker.result.run.still_running is None
