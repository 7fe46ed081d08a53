# SPDX-License-Identifier: Apache-2.0
"""The agent: a `spoor agent` process that tracks this one from outside.

libspoor starts it (spoor_agent_start) such that it is not our child: the program around us never
meets it in os.wait() or through SIGCHLD. It ends when our end of its socket is closed, which the
kernel does however we end. src/front/agent.h describes the protocol.
"""
from __future__ import annotations

import json
import os
from _thread import allocate_lock

from _weakrefset import WeakSet

from ._error import EndedError, Error, make_error

# Here and in the other modules: importing typing or dataclasses would take 10 to 20 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, Mapping

    from ._call import Call

_PROTOCOL = 1
# How long an agent that is stopped (SIGSTOP) is waited for, and one that is only slow.
_STOPPED_SECONDS = 1.0
_SLOW_SECONDS = 30.0
_HERE = os.path.dirname(os.path.abspath(__file__))
_open: WeakSet[Agent | Call] = WeakSet()


def find_program() -> str:
    """The path of the program spoor: the one in this package, else SPOOR_BIN, else from PATH."""
    own = os.path.join(_HERE, "bin", "spoor")
    if os.access(own, os.X_OK):
        return own
    named = os.environ.get("SPOOR_BIN")
    if named:
        if os.access(named, os.X_OK):
            return os.path.abspath(named)
        raise make_error("ENOENT", f"SPOOR_BIN: {named!r} is not a program")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "spoor")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.abspath(path)
    raise make_error("ENOENT", "the program 'spoor' is not installed: install the spoor wheel, set "
                     "SPOOR_BIN, or add it to PATH")


def _socket_pair() -> list[socket]:
    """Sockets that do not take descriptors 0 to 2, even if this process has closed them. Unlike
    a pipe, a socket can be written to without SIGPIPE."""
    import _socket

    ends = []
    for end in _socket.socketpair():
        end.settimeout(None)  # the program may have set a default
        if end.fileno() <= 2:
            import fcntl

            fd = fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
            end.close()
            end = _socket.socket(fileno=fd)
        ends.append(end)
    return ends


def _is_stopped(pid: int) -> bool:
    """By SIGSTOP, or by a debugger."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in b"Tt"
    except (OSError, IndexError):
        return False


class Agent:
    """An agent, from its start to its end. Any thread may use it.

    An exception that is raised by a signal handler, such as KeyboardInterrupt, may end any method
    at any moment. The answer to an interrupted request is skipped by its id, and stop() may be
    called again. So it is if the agent is stopped for a second: the request raises an EndedError.
    """

    def __init__(self, *arguments: str, name: str = "spoor") -> None:
        """`name` is the program whose agent it is: spoor or gpu-tracker."""
        from . import _library

        program = find_program()
        self._lock = allocate_lock()
        self._rest = b""
        self._last_id = 0
        self._is_asking = False
        self._was_stopped = False
        self._result: dict[str, Any] | None = None
        self._socket, theirs = _socket_pair()
        self._socket.settimeout(_STOPPED_SECONDS)
        _open.add(self)
        try:
            try:
                _library.start_agent(program, [name, "agent", *arguments], theirs.fileno(),
                                     theirs.fileno())
            finally:
                theirs.close()
            self.ready = self._read_ready()
        except BaseException:
            self.close()
            raise
        if self.ready.get("protocol") != _PROTOCOL:
            self.close()
            raise Error(f"{program!r} and the Python package are of different versions: install "
                        "the same version of both")

    def _read_ready(self) -> dict[str, Any]:
        """What the agent says first. One that was killed before that is as one that is killed later:
        whoever asks it for something is told."""
        try:
            return self._answer(None)
        except EndedError:
            return {"protocol": _PROTOCOL, "pid": 0, "warnings": []}

    def _check_stopped(self) -> None:
        pid: int = self.ready["pid"] if hasattr(self, "ready") else 0
        self._was_stopped = pid != 0 and _is_stopped(pid)
        if self._was_stopped:
            raise EndedError(f"the tracker, process {pid}, is stopped (SIGSTOP)")

    def _receive(self, most_seconds: float | None) -> bytes:
        """What the agent sends next; nothing if it has ended."""
        from _socket import timeout

        waited = 0.0
        while True:
            try:
                return self._socket.recv(65536)
            except timeout:
                self._check_stopped()
                waited += _STOPPED_SECONDS
                if most_seconds is not None and waited >= most_seconds:
                    raise EndedError("the tracker does not respond") from None
            except ConnectionError:
                return b""

    def _line(self, most_seconds: float | None) -> bytes:
        """The next line of the agent; raises EndedError if there is none."""
        while b"\n" not in self._rest:
            data = self._receive(most_seconds)
            if not data:
                raise EndedError("the tracker ended unexpectedly")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _answer(self, request_id: int | None, is_after_interrupt: bool = False,
                most_seconds: float | None = None) -> dict[str, Any]:
        while True:
            try:
                answer: dict[str, Any] = json.loads(
                    self._line(most_seconds).decode(errors="replace"))
            except ValueError:
                continue  # its beginning was read by a request that was interrupted
            answer_id = answer.get("id")
            if answer_id == request_id or (answer_id is None and not is_after_interrupt):
                break
        self._is_asking = False
        if answer["event"] == "error":
            raise make_error(answer["code"], answer["message"])
        return answer

    def ask(self, op: str, *arguments: str, is_quick: bool = False) -> dict[str, Any]:
        """Sends a request and returns the answer to it. `is_quick`: it does not take long."""
        from _socket import MSG_NOSIGNAL, timeout

        with self._lock:
            if self._socket.fileno() < 0:
                raise Error("the tracker has ended, or belongs to the process that started it")
            is_after_interrupt, self._is_asking = self._is_asking, True
            if self._was_stopped:
                self._check_stopped()  # still: it was waited for
            self._last_id += 1
            request = {"id": self._last_id, "op": op, "arguments": arguments}
            try:
                # The newline in front ends a request of which only a part was sent.
                self._socket.sendall(f"\n{json.dumps(request)}\n".encode(), MSG_NOSIGNAL)
            except timeout:  # it has not read those before
                raise EndedError("the tracker does not respond") from None
            except ConnectionError:
                raise EndedError("the tracker ended unexpectedly") from None
            return self._answer(self._last_id, is_after_interrupt,
                                _SLOW_SECONDS if is_quick else None)

    def stop(self) -> dict[str, Any]:
        """Stops the tracking, waits for the agent to end and returns the result."""
        if self._result is None:
            self._result = self.ask("stop")
        self._end()
        return self._result

    def _end(self) -> None:
        """Waits for the agent to end."""
        from _socket import SHUT_WR

        if self._socket.fileno() >= 0:
            try:
                self._socket.shutdown(SHUT_WR)
                while self._receive(None):
                    pass
            except (OSError, EndedError):
                pass  # it has ended, or will when it goes on
        self.close()

    def close(self) -> None:
        """Closes the socket, upon which the agent ends. May be called twice."""
        _open.discard(self)
        self._socket.close()

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()


def _forget() -> None:
    """In a forked child: the agents are the parent's, and must see when it closes their sockets."""
    for agent in list(_open):
        agent._lock = allocate_lock()
        agent.close()


os.register_at_fork(after_in_child=_forget)


def option_list(options: Mapping[str, str | bytes | os.PathLike[Any] | bool | None]) -> list[str]:
    """{"interval": "0.5", "append": True, "name": None} as ["--interval=0.5", "--append"]."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words.append(f"--{name}={os.fsdecode(value)}")
    return words
