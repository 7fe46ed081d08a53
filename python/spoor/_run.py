# SPDX-License-Identifier: Apache-2.0
"""The trackers of this process and of its ancestors, and their sockets.

A tracker listens on an abstract Unix socket whose name contains a PID and the PID namespace. A `spoor run` receives
phases on a socket named after its own PID: see src/run/job_socket.h. gpu_tracker requests rows on a socket named
after the tracked process: see gpu_tracker/sub_tracker.py.
"""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Iterator

from ._program import EndedError, Error

if TYPE_CHECKING:
    from socket import socket

_ANCESTORS_MAX = 1024
_ANSWER_SECONDS = 1.0

_runs: list[int] = []  # PIDs of the `spoor run` processes that track this process
_owner = 0             # PID of the process that searched for them


# ---- ancestors and sockets ----

def stat_fields(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat after the name, which may contain anything: the state first."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def parent(pid: int) -> int:
    """Returns the PID of the parent of a process; 0 if there is none."""
    try:
        return int(stat_fields(pid)[1])
    except (OSError, ValueError, IndexError):
        return 0


def ancestors() -> Iterator[int]:
    """Returns the PIDs of the ancestors of this process, its parent first."""
    pid = os.getppid()
    for _ in range(_ANCESTORS_MAX):
        if pid <= 0:
            return
        yield pid
        pid = parent(pid)


def connect(kind: str, pid: int, seconds: float) -> tuple[socket, int, int]:
    """Connects to the socket of this kind and PID. Returns the connection, with the PID and UID
    of the peer, which the caller must check: any process can use the name. Raises OSError if
    there is no such socket."""
    import socket

    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(seconds)
        connection.connect(f"\0{kind}/{namespace}/{pid}")
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    except BaseException:
        connection.close()
        raise
    return (connection, int.from_bytes(peer[:4], sys.byteorder),
            int.from_bytes(peer[4:8], sys.byteorder))


# ---- phases of a run ----

def _connect_run(pid: int) -> socket | None:
    try:
        connection, peer_pid, _ = connect("spoor-phases", pid, _ANSWER_SECONDS)
    except OSError:
        return None
    if peer_pid == pid:
        return connection
    connection.close()
    return None


def _find_runs() -> list[int]:
    """Returns the runs that track this process. One search is enough, because a run is older
    than its job."""
    global _owner

    if _owner != os.getpid():
        found = []
        for pid in ancestors():
            connection = _connect_run(pid)
            if connection is not None:
                connection.close()
                found.append(pid)
        _runs[:], _owner = found, os.getpid()
    return _runs


def _send(connection: socket, mark: str) -> None:
    from socket import MSG_NOSIGNAL

    connection.send(mark.encode(), MSG_NOSIGNAL)
    answer = connection.recv(1024)
    if answer not in (b"", b"done"):
        raise Error(answer.decode(errors="replace"))


def tell_runs(word: str, name: str = "") -> None:
    """Makes every `spoor run` that tracks this process "start" or "stop" a phase, or take a
    "sample"."""
    if "\0" in name and _find_runs():
        raise Error("a phase name must not contain NUL")
    for pid in list(_find_runs()):
        connection = _connect_run(pid)
        if connection is None:
            _runs.remove(pid)  # the run was killed
            continue
        try:
            _send(connection, word if word == "sample" else f"{word} {name}")
        except OSError as error:
            if isinstance(error, ConnectionError):
                continue
            _runs.remove(pid)
            raise EndedError("the tracker does not respond") from None
        finally:
            connection.close()
