# SPDX-License-Identifier: Apache-2.0
"""A program that answers one question and ends.

Like the agent it is not a child of this process. It works while we do something else; result() reads
its answer, a JSON object.
"""
from __future__ import annotations

import json
from _thread import allocate_lock

from ._agent import _open, _socket_pair, find_program
from ._error import EndedError, Error, make_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping


class Call:
    """The program of this name with these arguments, and a request on its standard input."""

    def __init__(self, name: str, *arguments: str, request: Mapping[str, Any] | None = None) -> None:
        from . import _library

        program = find_program()
        self._lock = allocate_lock()
        self._data = b""
        self._answer: dict[str, Any] | None = None
        self._socket, theirs = _socket_pair()
        _open.add(self)
        try:
            try:
                _library.start_agent(program, [name, *arguments], theirs.fileno(), theirs.fileno())
            finally:
                theirs.close()
            self._send(b"" if request is None else json.dumps(request).encode())
        except BaseException:
            self.close()
            raise

    def _send(self, request: bytes) -> None:
        from _socket import MSG_NOSIGNAL, SHUT_WR

        try:
            self._socket.sendall(request, MSG_NOSIGNAL)
            self._socket.shutdown(SHUT_WR)
        except ConnectionError:
            pass  # it was killed: there is no answer

    def _read(self) -> dict[str, Any]:
        if self._socket.fileno() < 0:
            raise Error("the answer belongs to the process that asked for it")
        try:
            data = self._socket.recv(65536)
            while data:
                self._data += data
                data = self._socket.recv(65536)
            answer = json.loads(self._data.decode(errors="replace"))
        except (ConnectionError, ValueError):
            raise EndedError("the program 'spoor' ended unexpectedly") from None
        return dict(answer)

    def result(self) -> dict[str, Any]:
        """Waits for the answer. It may be asked for again, also after an interrupt."""
        with self._lock:
            if self._answer is None:
                self._answer = self._read()
                self.close()
        if self._answer.get("event") == "error":
            raise make_error(self._answer["code"], self._answer["message"])
        return self._answer

    def close(self) -> None:
        """Gives up the answer, unless it was read. May be called twice."""
        _open.discard(self)
        self._socket.close()

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()
