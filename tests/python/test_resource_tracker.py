# SPDX-License-Identifier: Apache-2.0
"""resource_tracker.ResourceTracker: its states, rows while it runs, and failures."""
import gc
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

import pytest

from conftest import burn, eventually, is_alive
from resource_tracker import ResourceTracker
from resource_tracker.column_maps import NEWEST, OLDEST, README
from resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame

NEVER = 3600  # an interval so long that all rows are partial
PATIENCE = 60


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Creates the folder for the trackers' files in this test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return lambda: list(tmp_path.glob("resource_tracker-*"))


def children_of(pid):
    return [int(child) for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir())
            for child in (task / "children").read_text().split()]


def agent_of(tracker):
    return tracker._tracking.agent.ready["pid"]


# ---- states ----


def test_wrong_order_of_calls_is_an_error():
    tracker = ResourceTracker(interval=NEVER, autostart=False)
    assert not tracker.running and tracker.n_samples == 0 and tracker.start_time is None
    tracker.stop()  # there is nothing to stop
    assert len(tracker.process_metrics) == len(tracker.system_metrics) == 0
    tracker.start()
    assert tracker.running and tracker.stop_time is None
    with pytest.raises(RuntimeError) as error:
        tracker.start()
    assert str(error.value) == "Resource tracker already running, cannot start again."
    tracker.stop()
    assert not tracker.running and tracker.start_time <= tracker.stop_time
    tracker.stop(1)
    with pytest.raises(RuntimeError) as error:
        tracker.start()
    assert str(error.value) == ("Resource tracker already stopped. Create a new instance instead "
                                "of trying to restart it.")


def test_tracker_starts_automatically_and_start_restarts_it():
    tracker = ResourceTracker(interval=0.02)
    assert tracker.running and tracker.autostart
    tracker.wait_for_samples(2, timeout=PATIENCE)
    first = tracker.start_time
    tracker.start()
    assert tracker.start_time > first and tracker.running
    tracker.stop()
    assert tracker.process_metrics["timestamp"][0] >= round(tracker.start_time, 3)
    with ResourceTracker(interval=NEVER, autostart=True) as explicit:
        with pytest.raises(RuntimeError, match="already running"):
            explicit.start()


def test_with_block_starts_and_stops():
    with ResourceTracker(interval=NEVER) as tracker:
        assert tracker.running
    assert not tracker.running and tracker.n_samples == 1
    with pytest.raises(KeyError):
        with ResourceTracker(interval=NEVER) as tracker:
            raise KeyError("x")
    assert not tracker.running and tracker.n_samples == 1


@pytest.mark.parametrize("dialect", [NEWEST, README, OLDEST])
def test_every_row_is_long_enough_for_a_cpu_usage(dialect):
    for _ in range(3):
        with ResourceTracker(interval=NEVER, dialect=dialect) as tracker:
            pass
        usage = tracker.process_metrics["cpu_usage"] + tracker.system_metrics["cpu_usage"]
        assert len(usage) == 2 and None not in usage


def test_constructor_arguments_are_available_as_attributes():
    tracker = ResourceTracker(autostart=False, method="spawn", interval=0.5, children=False,
                              discover_cloud=False, upload_interval=5, streaming_metadata={"a": 1})
    assert (tracker.pid, tracker.interval, tracker.method) == (os.getpid(), 0.5, "spawn")
    assert not tracker.autostart and not tracker.children and not tracker.discover_cloud
    assert tracker.trackers == ["process_tracker", "system_tracker"]
    assert tracker.mpc.get_start_method() == "spawn"
    assert ResourceTracker(autostart=False).method == "fork"
    assert tracker.process_tracker_process is tracker.system_tracker_process is None
    assert tracker.error_queue.empty()
    with pytest.raises(ValueError, match="cannot find context for 'x'"):
        ResourceTracker(method="x")
    with pytest.raises(ValueError, match="unknown dialect 'x'"):
        ResourceTracker(dialect="x")
    for interval in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="must be positive"):
            ResourceTracker(interval=interval)


def test_invalid_options_are_refused(temporary):
    with pytest.raises(ValueError, match="^interval: '5000' is out of range"):
        ResourceTracker(interval=5000)
    with pytest.raises(ValueError, match="^pid: invalid process ID '-5'"):
        ResourceTracker(pid=-5)
    assert temporary() == []


def test_missing_process_is_an_error(temporary):
    with pytest.raises(ProcessLookupError):
        ResourceTracker(pid=4194303)
    tracker = ResourceTracker(pid=4194303, autostart=False)
    with pytest.raises(RuntimeError):
        tracker.start()
    assert not tracker.running and temporary() == []


# ---- rows ----


def test_rows_can_be_read_during_the_run():
    with ResourceTracker(interval=0.02) as tracker:
        tracker.wait_for_samples(3, timeout=PATIENCE)
        process, system = tracker.process_metrics, tracker.system_metrics
        assert len(process) >= 3 and len(system) >= 3 and tracker.stats()
        tracker.wait_for_samples(len(process) + 2, timeout=PATIENCE)
        assert tracker.process_metrics["timestamp"][:len(process)] == process["timestamp"]
    count = tracker.n_samples
    frame = tracker.get_combined_metrics()
    assert len(frame) == count and len(frame.columns) == 32
    times = frame["timestamp"]
    assert times == sorted(times) and tracker.start_time <= times[0] + 0.001
    assert times[-1] <= tracker.stop_time + 0.001
    assert set(frame["process_pid"]) == {os.getpid()}
    assert min(frame["process_memory_mib"]) > 1 and min(frame["system_memory_used_mib"]) > 1
    assert max(frame["system_processes"]) > 1
    assert tracker.process_metrics["timestamp"] == tracker.system_metrics["timestamp"]


def test_the_first_and_the_last_partial_interval_are_kept():
    """Bug W14 of the predecessor: a short run had no rows."""
    with ResourceTracker(interval=NEVER) as tracker:
        burn(0.2)
    assert tracker.n_samples == len(tracker.process_metrics) == len(tracker.system_metrics) == 1
    used = tracker.process_metrics[0]["utime"] + tracker.process_metrics[0]["stime"]
    assert 0.15 < used < 0.5
    duration = tracker.stats()["timestamp"]["duration"]
    assert abs(duration - (tracker.stop_time - tracker.start_time)) < 1


def test_run_totals_agree_with_the_rows():
    with ResourceTracker(interval=0.05) as tracker:
        burn(0.3)
        tracker.wait_for_samples(1, timeout=PATIENCE)
        while_it_runs = tracker.stats()["run_totals"]["cpu.total_seconds"]
    totals = tracker.run_totals
    assert 0 < while_it_runs <= totals["cpu.total_seconds"]["value"]
    assert 0.25 < totals["cpu.total_seconds"]["value"] < 1
    rows = sum(tracker.process_metrics["utime"]) + sum(tracker.process_metrics["stime"])
    assert rows == pytest.approx(totals["cpu.total_seconds"]["value"], rel=0.1, abs=0.03)
    peak = totals["memory.combined.total_rss_bytes"]
    assert peak["value"] > 1 << 20 and {"source", "exact", "low", "high"} <= set(peak)
    assert "run_totals" not in tracker.stats([StatSpec("process_pid", max)])


@pytest.mark.parametrize("switches", [{}, {"track_processes": False}, {"track_system": False}])
def test_stats_can_be_formatted_in_a_loop(switches):
    """Programs written for the predecessor do this."""
    with ResourceTracker(interval=0.05, **switches) as tracker:
        tracker.wait_for_samples(1, timeout=PATIENCE)
    stats = tracker.stats()
    lines = [f"{column} {name} {value:.2f}" for column, values in stats.items() for name, value in values.items()]
    assert len(lines) >= 3 and ("run_totals" in stats) == tracker.track_processes


def test_waiting_for_samples_times_out():
    with ResourceTracker(interval=NEVER) as tracker:
        with pytest.raises(RuntimeError) as error:
            tracker.wait_for_samples(2, timeout=0.05)
    assert str(error.value) == "Timed out waiting for resource tracker to collect 2 samples"


def test_timeout_starts_when_wait_for_samples_is_called():
    """Bug W17 of the predecessor: the timeout counted from the start of the tracker."""
    with ResourceTracker(interval=0.02) as tracker:
        tracker.start_time -= 1000
        tracker.wait_for_samples(tracker.n_samples + 1, timeout=PATIENCE)


def test_either_tracker_works_alone():
    """Bug W15 of the predecessor: neither tracker worked without the other."""
    with ResourceTracker(interval=0.02, track_system=False) as tracker:
        tracker.wait_for_samples(2, timeout=PATIENCE)
    assert len(tracker.system_metrics) == 0 and tracker.stats()["process_memory_mib"]["max"] > 1
    assert len(tracker.get_combined_metrics().columns) == 12
    with ResourceTracker(interval=0.02, track_processes=False) as tracker:
        tracker.wait_for_samples(2, timeout=PATIENCE)
    assert len(tracker.process_metrics) == 0 and "run_totals" not in tracker.stats()
    assert len(tracker.get_combined_metrics().columns) == 21
    with ResourceTracker(track_processes=False, track_system=False) as tracker:
        assert tracker.n_samples == 0
    assert tracker.snapshot()["process_metrics"] == []


@pytest.mark.parametrize("dialect, memory, unit", [
    (NEWEST, "memory_mib", 1 << 20), (README, "memory", 1024), (OLDEST, "pss", 1024)])
def test_each_dialect_has_its_own_units(dialect, memory, unit):
    with ResourceTracker(interval=0.05, dialect=dialect) as tracker:
        burn(0.2)
        held = tracker._tracking.agent.ask("process-stats", str(os.getpid()), "true")
        tracker.wait_for_samples(2, timeout=PATIENCE)
    frame = tracker.process_metrics
    assert memory in frame.columns
    assert frame[memory][-1] * unit == pytest.approx(held["stats"]["memory_mib"] * (1 << 20), rel=0.5)
    ticks = 1 if dialect == NEWEST else os.sysconf("SC_CLK_TCK")
    assert 0.1 < (sum(frame["utime"]) + sum(frame["stime"])) / ticks < 1
    name = {NEWEST: "memory_active_mib", README: "memory_active", OLDEST: "memory_active_anon"}
    assert name[dialect] in tracker.system_metrics.columns
    assert tracker.stats()[f"process_{memory}"]["max"] == pytest.approx(max(frame[memory]), abs=0.01)


def test_run_can_be_dumped_and_loaded(tmp_path):
    with ResourceTracker(interval=0.02) as tracker:
        tracker.wait_for_samples(2, timeout=PATIENCE)
        assert ResourceTracker.loads(tracker.dumps()).n_samples >= 2  # possible during the run, too
    tracker.dump(tmp_path / "run.gz")
    again = ResourceTracker.load(tmp_path / "run.gz")
    assert again.stats() == tracker.stats() and again.pid == os.getpid()
    assert again.server_info == tracker.server_info


# ---- processes ----


def test_default_pid_after_a_fork_is_the_childs():
    """Bug W16 of the predecessor: after a fork, the default was the parent's PID."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, str(ResourceTracker(autostart=False).pid == os.getpid()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 10) == b"True"
    os.close(reader)
    os.close(writer)


def test_forked_child_does_not_stop_the_tracker(script):
    out = script("""
        import os, sys
        from resource_tracker import ResourceTracker

        with ResourceTracker(interval=0.02) as tracker:
            tracker.wait_for_samples(1, timeout=60)
            pid = os.fork()
            if pid == 0:
                assert tracker.n_samples >= 1 and len(tracker.process_metrics) >= 1
                try:
                    tracker.stop()
                except RuntimeError as error:
                    print(error, flush=True)
                sys.exit()  # leaves the block and the program
            assert os.waitpid(pid, 0)[1] == 0
            count = tracker.n_samples
            tracker.wait_for_samples(count + 2, timeout=60)
        print(tracker.n_samples > count)
    """)
    assert out.splitlines() == ["the tracker belongs to the process that started it", "True"]


def test_a_process_may_end_before_the_stop():
    program = "import time\ninput()\nend = time.process_time() + 0.2\n" \
        "while time.process_time() < end: pass"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as child:
        with ResourceTracker(pid=child.pid, interval=0.02) as tracker:
            tracker.wait_for_samples(1, timeout=PATIENCE)
            child.stdin.write(b"\n")
            child.stdin.close()  # not communicate(): the clock of a process ends when it is waited for
            eventually(lambda: len(children_of(agent_of(tracker))) == 1, "the end of the writer of the process")
            count, rows = len(tracker.process_metrics), len(tracker.system_metrics)
            eventually(lambda: len(tracker.system_metrics) > rows + 2, "rows of the system alone")
        assert len(tracker.process_metrics) == count
        assert tracker.stats()["run_totals"]["cpu.total_seconds"] > 0.15


@pytest.mark.parametrize("stopped", ["at the end of the process", "after it"])
def test_rows_of_the_system_go_on_after_a_process_whose_end_was_missed(stopped):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        with ResourceTracker(pid=child.pid, interval=0.02) as tracker:
            tracker.wait_for_samples(1, timeout=PATIENCE)
            agent = agent_of(tracker)
            if stopped == "after it":
                child.stdin.close()
                eventually(lambda: len(children_of(agent)) == 1, "the end of the writer of the process")
            os.kill(agent, signal.SIGSTOP)
            child.stdin.close()
            time.sleep(0.3)  # the next sample is late
            os.kill(agent, signal.SIGCONT)
            rows = len(tracker.system_metrics)
            eventually(lambda: len(tracker.system_metrics) > rows + 2, "rows of the system alone")


def test_the_last_row_of_the_system_counts_to_the_stop_after_the_end_of_the_process():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        with ResourceTracker(pid=child.pid, interval=NEVER) as tracker:
            child.stdin.close()
            eventually(lambda: len(tracker.system_metrics) == 1, "the row at the end of the process")
            time.sleep(0.3)
            stopped_at = time.time()
    first, last = tracker.system_metrics["timestamp"]
    assert first <= stopped_at - 0.3 and last >= stopped_at - 0.01


# ---- files and failures ----


def test_no_file_can_be_left_behind(temporary):
    """However the program exits, no file is left, because files are deleted while in use."""
    tracker = ResourceTracker(interval=0.02)
    assert temporary() == []
    tracker.wait_for_samples(2, timeout=PATIENCE)
    assert agent_of(tracker) > 0 and len(tracker.system_metrics) >= 2
    tracker.start()
    tracker.stop()
    assert tracker.n_samples >= 1 and temporary() == []
    tracker.cleanup()
    assert tracker.n_samples == 0
    tracker.cleanup()
    tracker = ResourceTracker(interval=NEVER)
    agent = agent_of(tracker)
    del tracker
    gc.collect()
    eventually(lambda: not is_alive(agent), "the end of the agent")


def test_killed_program_leaves_no_files_or_agents(script, temporary):
    process = script.start("""
        import time
        from resource_tracker import ResourceTracker
        tracker = ResourceTracker(interval=0.02)
        tracker.wait_for_samples(1, timeout=60)
        print(tracker.process_tracker_filepath, tracker._tracking.agent.ready["pid"], flush=True)
        time.sleep(1000)
    """)
    agent = int(process.stdout.readline().split()[1])
    process.kill()
    process.communicate()
    eventually(lambda: not is_alive(agent), "the end of the agent")
    assert temporary() == []


def test_rows_are_available_as_csv_files():
    tracker = ResourceTracker(interval=NEVER, autostart=False)
    for path in (tracker.process_tracker_filepath, tracker.system_tracker_filepath):
        assert pathlib.Path(path).read_bytes() == b""
    tracker.start()
    assert pathlib.Path(tracker.process_tracker_filepath).read_text().count("\n") == 1
    tracker.stop()
    for path, frame in ((tracker.process_tracker_filepath, tracker.process_metrics),
                        (tracker.system_tracker_filepath, tracker.system_metrics)):
        text = pathlib.Path(path).read_bytes().decode()
        assert text.startswith('"timestamp",') and text.count("\n") == 2 and "\r" not in text
        read = TinyDataFrame(csv_file_path=path)
        assert read.columns == frame.columns
        assert [value or None for value in read[0].values()] == \
            [value or None for value in frame[0].values()]  # None is read from an empty text
    path = tracker.system_tracker_filepath
    tracker.cleanup()
    assert not os.path.exists(path)
    alone = ResourceTracker(autostart=False, track_system=False)
    assert alone.system_tracker_filepath is None


@pytest.mark.parametrize("killed", ["process", "system"])
def test_lost_rows_cause_a_warning(killed):
    with pytest.warns(RuntimeWarning) as caught:
        with ResourceTracker(interval=NEVER) as tracker:
            system, process = children_of(agent_of(tracker))  # processes that write the rows
            os.kill({"process": process, "system": system}[killed], signal.SIGKILL)
    assert [str(warning.message) for warning in caught] == [
        f"rows are missing: could not write 1 row of the {killed} table: its writer process was "
        "killed"]
    assert caught[0].filename == __file__ and not tracker.running and tracker.n_samples == 0
    assert len(tracker.process_metrics) + len(tracker.system_metrics) == 1
    assert len(tracker.get_combined_metrics()) == 0
    tracker.stop()


def test_unusable_temporary_folder_is_harmless(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with ResourceTracker(interval=NEVER) as tracker:
        pass
    assert tracker.n_samples == 1
    tracker.cleanup()
    assert glob.glob("/nowhere*") == []


def test_killed_agent_causes_a_warning():
    tracker = ResourceTracker(interval=0.02)
    tracker.wait_for_samples(2, timeout=PATIENCE)
    agent = agent_of(tracker)
    os.kill(agent, signal.SIGKILL)
    eventually(lambda: not is_alive(agent), "the end of the agent")
    with pytest.warns(RuntimeWarning, match="tracking has stopped") as caught:
        stats = tracker.stats()
        tracker.stop()
    assert len(caught) == 1 and caught[0].filename == __file__
    assert stats["process_memory_mib"]["max"] > 1 and "run_totals" not in stats
    assert not tracker.running and tracker.n_samples >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tracker.stats() == stats and tracker.dumps()


def test_stop_prints_nothing(script):
    """Bug W2 of the predecessor: every stop made the trackers fail."""
    process = script.start("""
        from resource_tracker import ResourceTracker
        for _ in range(3):
            with ResourceTracker(interval=0.02) as tracker:
                tracker.wait_for_samples(1, timeout=60)
    """, stderr=subprocess.STDOUT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and out == ""


def test_many_trackers_may_run_at_once():
    trackers = [ResourceTracker(interval=0.05) for _ in range(4)]
    for tracker in trackers:
        tracker.wait_for_samples(1, timeout=PATIENCE)
    for tracker in trackers:
        tracker.stop()
    fds = len(os.listdir("/proc/self/fd"))
    for tracker in trackers:
        tracker.cleanup()
    assert len(os.listdir("/proc/self/fd")) < fds


def test_no_descriptor_is_left_open():
    ResourceTracker(interval=NEVER).cleanup()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with ResourceTracker(interval=NEVER) as tracker:
            pass
        del tracker
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_package_has_type_information():
    import resource_tracker

    assert (pathlib.Path(resource_tracker.__file__).parent / "py.typed").exists()
