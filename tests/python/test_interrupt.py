# SPDX-License-Identifier: Apache-2.0
"""Requests that are interrupted before their answer is read."""
import contextlib
import os
import signal

import pytest

import gpu_tracker as gput
import spoor
from conftest import eventually, is_alive

pytestmark = pytest.mark.main_thread


class Alarmed:
    """A socket that sends a signal to the process that waits for data."""

    def __init__(self, socket):
        self._socket = socket

    def recv(self, size):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        return self._socket.recv(size)

    def __getattr__(self, name):
        return getattr(self._socket, name)


@contextlib.contextmanager
def interrupted(agent):
    """Runs a block while the agent cannot answer, and interrupts it like Ctrl-C."""
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    os.kill(agent.ready["pid"], signal.SIGSTOP)
    socket, agent._socket = agent._socket, Alarmed(agent._socket)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        agent._socket = socket
        os.kill(agent.ready["pid"], signal.SIGCONT)
        signal.signal(signal.SIGALRM, before)


def test_tracking_continues_after_an_interrupted_phase():
    with spoor.Tracker() as tracker:
        with interrupted(tracker._agent):
            with tracker.phase("interrupted"):
                pytest.fail("the agent has answered")
        with tracker.phase("next"):
            pass
    assert [phase.name for phase in tracker.result.phases] == ["interrupted", "next"]


def test_requests_after_an_interrupted_request_get_their_own_responses():
    with spoor.Tracker() as tracker:
        for _ in range(3):
            with interrupted(tracker._agent):
                tracker.sample()
        assert tracker.snapshot().rss_bytes > 0
        tracker.sample()


def test_interrupted_stop_can_be_repeated():
    tracker = spoor.Tracker().start()
    pid = tracker._agent.ready["pid"]
    with interrupted(tracker._agent):
        tracker.stop()
    assert tracker.is_running
    assert tracker.stop().run.pid == os.getpid()
    eventually(lambda: not is_alive(pid), "the end of the agent")


def test_interrupted_stop_of_gpu_tracker_can_be_repeated():
    tracker = gput.Tracker(disable_logs=True)
    tracker.start()
    with interrupted(tracker._agent):
        tracker.stop()
    tracker.stop()
    assert tracker.resource_usage.max_ram.main.total_rss > 0


def test_interrupted_start_leaves_no_agent(script):
    """The agent is stopped before it reports that it is ready, so the start can be interrupted
    at any point."""
    assert script("""
        import os, signal, sys
        import spoor
        from spoor import _library

        start_agent = _library.start_agent
        def start_and_interrupt(*arguments):
            start_agent(*arguments)
            raise KeyboardInterrupt
        _library.start_agent = start_and_interrupt
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            try:
                spoor.Tracker().start()
            except KeyboardInterrupt:
                pass
        print(len(os.listdir("/proc/self/fd")) - before)
    """) == "0\n"
