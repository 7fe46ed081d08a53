# SPDX-License-Identifier: Apache-2.0
"""Asks the trackers of this process for a row of their tracking files, now.

A tracker with a tracking file answers on the abstract Unix socket gpu-tracker-rows/NAMESPACE/PID,
where PID is the process that it tracks: this one or an ancestor. Whether a Tracker in this program, one in the
program that forked it, or the command gpu-tracker, makes no difference.
"""
from __future__ import annotations

import os
import sys
import time

_TIMEOUT_SECONDS = 2.0      # for an answer; without one the tracker is left alone for a while
_LOOK_AGAIN_SECONDS = 1.0   # after which trackers that have started since are found
_LEAVE_ALONE_SECONDS = 30.0
_SHARE = 0.1                # of the time at most may be spent waiting for rows ...
_ALLOWANCE_SECONDS = 0.5    # ... apart from this
_ANCESTORS_MAX = 100


class _Trackers:
    """The trackers of one process."""

    def __init__(self) -> None:
        self.process_id = os.getpid()
        self.tracked: list[int] = []
        self.look_at = 0.0  # monotonic seconds, as those below
        self.began = time.monotonic()
        self.waited = 0.0


_trackers = _Trackers()


def forget_trackers() -> None:
    """Looks for trackers at the next request: one has started."""
    _trackers.look_at = 0.0


def _parent(process_id: int) -> int:
    try:
        with open(f"/proc/{process_id}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _lineage() -> list[int]:
    found = [os.getpid(), os.getppid()]
    while found[-1] > 1 and len(found) < _ANCESTORS_MAX:
        found.append(_parent(found[-1]))
    return [process_id for process_id in found if process_id > 0]


def _ask(process_id: int, later_than: float) -> float | None:
    """The time of the row; None if there is no tracker. TimeoutError: it does not answer."""
    import _socket  # socket would take 10 ms

    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    except OSError:  # no descriptor is left
        return None
    try:
        connection.settimeout(_TIMEOUT_SECONDS)
        namespace = os.readlink("/proc/self/ns/pid")
        connection.connect(f"\0gpu-tracker-rows/{namespace}/{process_id}")
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # pid, uid, gid
        if int.from_bytes(peer[4:8], sys.byteorder) not in (0, os.geteuid()):
            return None
        connection.sendall(repr(later_than).encode())
        return float(connection.recv(64))
    except _socket.timeout:
        raise TimeoutError from None
    except (OSError, ValueError):
        return None
    finally:
        connection.close()


def request_row(later_than: float) -> float:
    """Has every tracker of this process write a row, if it has none that is later than that and
    less than a millisecond old. Returns the time of the latest row; 0.0: there is none."""
    global _trackers

    if _trackers.process_id != os.getpid():
        _trackers = _Trackers()
    trackers = _trackers
    start = time.monotonic()
    is_look = start >= trackers.look_at
    if not trackers.tracked and not is_look:
        return 0.0
    if trackers.waited > _ALLOWANCE_SECONDS + _SHARE * (start - trackers.began):
        return 0.0
    if is_look:
        trackers.look_at = start + _LOOK_AGAIN_SECONDS
    answers = {}
    try:
        for process_id in _lineage() if is_look else trackers.tracked:
            answer = _ask(process_id, later_than)
            if answer is not None:
                answers[process_id] = answer
    except TimeoutError:
        answers.clear()
        trackers.look_at = start + _LEAVE_ALONE_SECONDS
    trackers.tracked = list(answers)
    trackers.waited += time.monotonic() - start
    return max(answers.values(), default=0.0)
