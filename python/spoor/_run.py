# SPDX-License-Identifier: Apache-2.0
"""The `spoor run` that this program is part of, if any: it is told of phases.

src/run/phase_socket.h describes how: a tracker listens on an abstract socket that is named after its
pid and its pid namespace, and is an ancestor of this process.
"""
from __future__ import annotations

import os
import sys

from ._error import EndedError, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

_ANCESTORS_MAX = 1024
_ANSWER_SECONDS = 1.0

_runs: list[int] = []  # trackers of this process, by pid
_owner = 0             # the process that has looked for them


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _connect(pid: int) -> socket | None:
    """A socket to the tracker with this pid. Others may take the name of a socket, not the pid."""
    import _socket

    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    connection.settimeout(_ANSWER_SECONDS)
    try:
        connection.connect(f"\0spoor-phases/{namespace}/{pid}")
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(peer[:4], sys.byteorder) == pid:
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _find() -> list[int]:
    """Those that were there when this process looked first: a run is older than its job."""
    global _owner

    if _owner != os.getpid():
        found = []
        pid = os.getppid()
        for _ in range(_ANCESTORS_MAX):
            if pid <= 0:
                break
            connection = _connect(pid)
            if connection is not None:
                connection.close()
                found.append(pid)
            pid = _parent(pid)
        _runs[:], _owner = found, os.getpid()
    return _runs


def _tell(connection: socket, mark: str) -> None:
    from _socket import MSG_NOSIGNAL

    connection.send(mark.encode(), MSG_NOSIGNAL)
    answer = connection.recv(1024)
    if answer not in (b"", b"done"):
        raise Error(answer.decode(errors="replace"))


def tell_runs(word: str, name: str) -> None:
    """Has every `spoor run` around this process "start" or "stop" a phase."""
    if "\0" in name and _find():
        raise Error("a phase name must not contain NUL")
    for pid in list(_find()):
        connection = _connect(pid)
        if connection is None:
            _runs.remove(pid)  # it was killed
            continue
        try:
            _tell(connection, f"{word} {name}")
        except OSError as error:
            if isinstance(error, ConnectionError):
                continue
            _runs.remove(pid)
            raise EndedError("the tracker does not respond") from None
        finally:
            connection.close()
