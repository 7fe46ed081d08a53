# SPDX-License-Identifier: Apache-2.0
"""A tracker whose agent was killed or stopped: the program continues, with one warning."""
import os
import signal
import warnings

import pytest

import gpu_tracker as gput
import spoor
from conftest import eventually, is_alive
from spoor import _library
from spoor._agent import _is_stopped


def kill_agent(tracker):
    pid = tracker._agent.ready["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid), "the end of the agent")


@pytest.fixture
def seen():
    """Collects the warnings of a test."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_program_continues_with_one_warning(seen):
    with spoor.Tracker() as tracker:
        with spoor.phase("killed in it"):
            kill_agent(tracker)
        with spoor.phase("after it"):
            pass
        tracker.sample()
    assert [(w.category, str(w.message)) for w in seen] == \
        [(RuntimeWarning, "tracking has stopped: the tracker ended unexpectedly")]
    assert seen[0].filename == __file__
    assert not tracker.is_running


def test_missing_result_has_a_reason(seen):
    tracker = spoor.Tracker().start()
    kill_agent(tracker)
    assert tracker.stop() is tracker.result
    assert not tracker.result and tracker.result.reason == "the tracker ended unexpectedly"
    assert str(tracker.result) == "no result: the tracker ended unexpectedly"
    assert repr(tracker.result) == "<spoor.Result: the tracker ended unexpectedly>"
    for use in (lambda: tracker.result.cpu, lambda: tracker.result["cpu"],
                lambda: tracker.result.to_dict()):
        with pytest.raises(spoor.Error, match="^no result: the tracker ended unexpectedly$"):
            use()
    assert len(seen) == 1
    with spoor.Tracker() as tracker:
        pass
    assert tracker.result and tracker.result.reason is None


def test_exception_of_the_program_is_not_replaced(seen):
    with pytest.raises(KeyError, match="own") as error:
        with spoor.Tracker() as tracker, spoor.phase("p"):
            kill_agent(tracker)
            raise KeyError("own")
    assert error.value.__context__ is None
    with pytest.raises(KeyError, match="own") as error:
        with gput.Tracker(disable_logs=True) as tracker:
            kill_agent(tracker)
            raise KeyError("own")
    assert error.value.__context__ is None


def test_decorated_function_returns_its_value(seen):
    tracker = spoor.Tracker()

    @tracker
    def work():
        kill_agent(spoor._tracker._running[-1])
        return 7

    assert work() == 7 and not tracker.result


def test_snapshot_raises_if_the_agent_is_dead(seen):
    with spoor.Tracker() as tracker:
        kill_agent(tracker)
        with pytest.raises(spoor.Error, match="the tracker ended unexpectedly"):
            tracker.snapshot()


def test_program_survives_a_dead_agent_with_default_sigpipe(script):
    assert script("""
        import os, signal, warnings
        import gpu_tracker, spoor
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        with spoor.Tracker() as own, gpu_tracker.Tracker(disable_logs=True) as other:
            for tracker in own, other:
                pid = tracker._agent.ready["pid"]
                os.kill(pid, signal.SIGKILL)
                while os.path.exists(f"/proc/{pid}") and \\
                        open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] not in "ZX":
                    pass
            with spoor.phase("p"):
                pass
        print("fine")
    """) == "fine\n"


def test_gpu_tracker_continues_and_logs_why_usage_is_missing(caplog):
    with gput.Tracker() as tracker:
        kill_agent(tracker)
    assert [record.message for record in caplog.records][-1:] == \
        ["Tracking has stopped: the tracker ended unexpectedly"]
    assert tracker.state is gput.State.STOPPED and tracker.resource_usage is None
    for use in (str, lambda tracker: tracker.to_json()):
        with pytest.raises(RuntimeError, match="the tracker ended unexpectedly"):
            use(tracker)


def stop_agent(tracker):
    pid = tracker._agent.ready["pid"]
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: _is_stopped(pid), "the stop of the agent")
    return pid


def test_stopped_agent_does_not_block_the_program(seen):
    with spoor.Tracker() as tracker:
        pid = stop_agent(tracker)
        for _ in range(100):  # only the first request waits
            with tracker.phase("p"):
                tracker.sample()
        with pytest.raises(spoor.Error, match="is stopped"):
            tracker.snapshot()
    message = f"the tracker, process {pid}, is stopped (SIGSTOP)"
    assert [str(w.message) for w in seen] == [f"tracking has stopped: {message}"]
    assert not tracker.result and tracker.result.reason == message
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: not is_alive(pid), "the end of the agent")


def test_continued_agent_is_used_again(seen):
    with spoor.Tracker() as tracker:
        pid = stop_agent(tracker)
        with tracker.phase("stopped"):
            pass
        os.kill(pid, signal.SIGCONT)
        with tracker.phase("continued"):
            pass
    assert len(seen) == 1
    assert [phase.name for phase in tracker.result.phases] == ["stopped", "continued"]


def test_stopped_agent_does_not_block_gpu_tracker(caplog):
    with gput.Tracker() as tracker:
        pid = stop_agent(tracker)
    os.kill(pid, signal.SIGCONT)
    assert caplog.records[-1].message == \
        f"Tracking has stopped: the tracker, process {pid}, is stopped (SIGSTOP)"


def test_program_can_be_tracked_again_after_a_failure(seen):
    tracker = spoor.Tracker().start()
    kill_agent(tracker)
    tracker.stop()
    with tracker:
        pass
    assert tracker.result.run.pid == os.getpid()


def test_program_continues_if_the_agent_is_killed_at_once(seen, monkeypatch):
    """The program continues, just as when the agent is killed later."""
    start = _library.start_agent
    monkeypatch.setattr(_library, "start_agent",
                        lambda program, words, *fds: start("/bin/false", words, *fds))
    with pytest.raises(KeyError, match="own"):
        with spoor.Tracker() as tracker, gput.Tracker(disable_logs=True) as other:
            with spoor.phase("p"):
                raise KeyError("own")
    assert [str(w.message) for w in seen] == \
        ["tracking has stopped: the tracker ended unexpectedly"]
    assert not tracker.result and other.resource_usage is None
    with pytest.raises(spoor.Error, match="the tracker ended unexpectedly"):
        spoor.snapshot()
