# SPDX-License-Identifier: Apache-2.0
"""resource_tracker: uploads to fake Sentinel and S3 services on loopback."""
import enum
import os
import pathlib
import threading
import warnings

import pytest

from conftest import DEADLINE_SECONDS, eventually
from fake_sentinel import PREFIX, TOKEN, FakeSentinel, spools
from resource_tracker import ResourceTracker

pytestmark = pytest.mark.any_user

NEVER = 3600
PATIENCE = 60


@pytest.fixture
def sentinel(tmp_path, monkeypatch):
    """Starts the services, without issuing a token yet. Fails if they recorded a forbidden
    request."""
    service = FakeSentinel()
    for name, value in service.environment(tmp_path).items():
        if name != "SENTINEL_API_TOKEN":
            monkeypatch.setenv(name, value)
    yield service
    service.close()
    assert service.problems == []


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv("SENTINEL_API_TOKEN", TOKEN)


def cells(line):
    return [float(cell) if cell not in ("", '""') else None for cell in line.split(",")]


def metrics(tracker):
    frame = tracker.get_combined_metrics()
    return [f'"{name}"' for name in frame.columns], [list(row.values()) for row in frame]


def test_uploaded_rows_equal_the_measured_rows(sentinel, tmp_path):
    metadata = {"team": "blue", "pid": 7, "tags": {"a": "b"}, "env": None, "command": "run 'a b'"}
    with ResourceTracker(interval=0.05, sentinel_token=TOKEN, upload_interval=0.2,
                         streaming_metadata=metadata) as tracker:
        eventually(lambda: len(sentinel.puts) >= 2, "two batches")
        assert tracker.sentinel_result is None
    assert tracker.sentinel_result == {"run_id": "run-0", "stats": {"rows": 1}}
    (run_id, end), = sentinel.finishes
    assert (run_id, end["exit_code"], end["run_status"]) == ("run-0", 0, "finished")
    assert end["data_uris"] == sentinel.puts == [
        f"{PREFIX}/{number:04}.csv.gz" for number in range(len(sentinel.puts))]
    header, *rows = sentinel.received()
    columns, expected = metrics(tracker)
    assert header.split(",") == columns and [cells(row) for row in rows] == expected
    run = sentinel.runs["run-0"]
    assert (run["team"], run["pid"], run["tags"]) == ("blue", 7, {"a": "b"})
    assert run["command"] == '["run", "a b"]' and "env" not in run
    assert run["host_vcpus"] == os.cpu_count() and run["cloud_vendor_id"] is None
    assert spools(tmp_path) == []


def test_failed_upload_raises_no_exception_even_if_warnings_are_errors(monkeypatch):
    monkeypatch.setenv("TRACKER_UPLOAD_WAIT", "0.1")
    with pytest.warns(RuntimeWarning) as shown:
        warnings.simplefilter("error")
        with ResourceTracker(interval=0.05, sentinel_token=TOKEN) as tracker:
            pass
        assert ResourceTracker(sentinel_token=TOKEN, upload_interval="x").stop() is None
    assert tracker.stop_time is not None and len(tracker.process_metrics) > 0
    first, second = shown
    assert first.filename == __file__ and str(first.message).startswith("the upload is not complete: ")
    assert str(second.message).startswith("nothing is uploaded: ")


def test_finish_request_of_a_short_run_contains_its_rows(sentinel, token):
    with pytest.raises(KeyError):
        with ResourceTracker(interval=NEVER) as tracker:
            raise KeyError("x")
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"], end["data_source"]) == (1, "failed", "inline")
    assert [cells(row) for row in sentinel.received()[1:]] == metrics(tracker)[1]
    assert len(tracker.get_combined_metrics()) == 1


class RunStatus(str, enum.Enum):
    """Programs written for the predecessor pass an enumerator of this class."""
    failed = "failed"


@pytest.mark.parametrize("status", ["failed", RunStatus.failed])
def test_exit_code_and_status_come_from_stop(sentinel, token, status):
    tracker = ResourceTracker(interval=NEVER)
    with pytest.raises(ValueError, match="invalid run_status 'done'"):
        tracker.stop(0, "done")
    assert tracker.running
    tracker.stop(exit_code=7, run_status=status)
    tracker.stop(exit_code=8)
    (_, end), = sentinel.finishes
    assert (end["exit_code"], end["run_status"]) == (7, "failed")


@pytest.mark.parametrize("options", [{"track_processes": False}, {"track_system": False}])
def test_single_tracker_can_be_uploaded(sentinel, token, options):
    with ResourceTracker(interval=NEVER, **options) as tracker:
        pass
    header, row = sentinel.received()
    assert len(cells(row)) == len(header.split(",")) == 32 and tracker.n_samples == 1
    assert cells(row)[0] == tracker.get_combined_metrics()["timestamp"][0]


def test_slow_service_does_not_delay_start_or_stop(sentinel, token):
    """Bug W20 of the predecessor: start() waited for 30 s."""
    may_answer = threading.Event()

    def answer(handler):
        assert may_answer.wait(DEADLINE_SECONDS)
        handler.register()

    sentinel.script["register"] = [answer]
    tracker = ResourceTracker(interval=0.02)
    tracker.wait_for_samples(2, timeout=PATIENCE)
    assert sentinel.runs == {}
    may_answer.set()
    tracker.stop()
    assert tracker.sentinel_result["run_id"] == "run-0"


def test_tracker_registers_only_one_run(sentinel, token):
    """Only one run is registered even if the tracker was started automatically."""
    tracker = ResourceTracker(interval=NEVER)
    first = tracker.start_time
    with tracker:
        assert tracker.start_time == first
        with pytest.raises(RuntimeError, match="already running"):
            tracker.start()
    assert len(sentinel.runs) == len(sentinel.finishes) == 1
    tracker = ResourceTracker(interval=NEVER)
    tracker.start()
    tracker.cleanup()
    assert len(sentinel.runs) == len(sentinel.finishes) == 2


def test_without_a_token_nothing_is_sent(sentinel, script):
    out = script("""
        import sys
        from resource_tracker import ResourceTracker

        with ResourceTracker(interval=3600) as tracker:
            pass
        assert tracker.sentinel_result is None
        print(*(name for name in sys.modules if name.startswith("resource_tracker.")))
    """)
    assert sentinel.asked == []
    assert not {"keeper", "server_info"} & {
        name.partition(".")[2] for name in out.split()}


def test_unsent_rows_are_kept_for_the_next_run(sentinel, token, tmp_path):
    sentinel.go_away()
    with pytest.warns(RuntimeWarning) as caught:
        with ResourceTracker(interval=NEVER) as tracker:
            pass
    folder, = spools(tmp_path)
    message, = (str(warning.message) for warning in caught)
    assert message.startswith("the upload is not complete: ") and caught[0].filename == __file__
    assert message.endswith(f"; 1 rows are kept in {folder} and will be sent by the next run that uploads")
    assert tracker.sentinel_result is None and tracker.n_samples == 1
    sentinel.come_back()
    with ResourceTracker(interval=NEVER):
        eventually(lambda: len(sentinel.finishes) == 1, "the end of the first run")
    eventually(lambda: spools(tmp_path) == [], "nothing that waits")
    assert len(sentinel.finishes) == 2 and len(sentinel.runs) == 2


@pytest.mark.parametrize("options, message", [
    ({"sentinel_token": "a\nb"}, "nothing is uploaded: SENTINEL_API_TOKEN is not a token"),
    ({"upload_interval": -1}, "nothing is uploaded: invalid upload interval"),
    ({"streaming_metadata": {"team": {1}}}, "nothing is uploaded: Object of type set"),
])
def test_a_refused_upload_does_not_prevent_tracking(sentinel, token, options, message):
    with pytest.warns(RuntimeWarning, match=message):
        tracker = ResourceTracker(interval=NEVER, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.stop()
    assert tracker.n_samples == 1 and tracker.sentinel_result is None and sentinel.asked == []
    with pytest.raises(ProcessLookupError):
        ResourceTracker(pid=4194303)


def test_the_token_is_not_visible(sentinel, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with ResourceTracker(interval=NEVER, sentinel_token=TOKEN) as tracker:
        agent = tracker._tracking.agent.ready["pid"]
        children = pathlib.Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
        for pid in (agent, *children):
            assert TOKEN.encode() not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        assert list(tmp_path.glob("resource_tracker-*")) == []
        assert TOKEN not in tracker.dumps()


def test_killed_agent_causes_a_warning(sentinel, token):
    tracker = ResourceTracker(interval=NEVER)
    os.kill(tracker._tracking.agent.ready["pid"], 9)
    with pytest.warns(RuntimeWarning, match="tracking has stopped") as caught:
        tracker.stop()
    assert len(caught) == 1 and not tracker.running and tracker.sentinel_result is None


def test_interrupted_stop_of_an_upload_can_be_repeated(sentinel, token, monkeypatch):
    tracker = ResourceTracker(interval=NEVER)
    agent = tracker._tracking.agent
    ask = agent.ask

    def interrupt(op, *arguments):
        if op == "finish":
            monkeypatch.setattr(agent, "ask", ask)
            raise KeyboardInterrupt
        return ask(op, *arguments)

    monkeypatch.setattr(agent, "ask", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tracker.stop()
    assert not tracker.running and tracker.sentinel_result is None and sentinel.finishes == []
    stop_time = tracker.stop_time
    tracker.stop(exit_code=2)
    assert tracker.stop_time == stop_time and tracker.sentinel_result["run_id"] == "run-0"
    assert sentinel.finishes[0][1]["exit_code"] == 2
