# SPDX-License-Identifier: Apache-2.0
"""Processes of the program spoor that work for this process: an agent, which tracks this process from outside, and a
call, which is an agent for a single request.

libspoor starts them (spoor_agent_start) so that they are not children of this process: os.wait() and SIGCHLD never
report them. They exit when this end of their socket is closed; the kernel closes it, however this process exits.
src/front/agent.h describes the protocol of the agent.

A process that adopts orphans (PID 1 of a container without an init, or a subreaper) becomes their parent
nevertheless. Such a process reaps them by PID as soon as they have exited, so that a later os.wait() finds none.

This module imports others, which takes some 10 ms, so it is imported when a process is started.
"""
from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import weakref
from typing import Any

from . import _library
from ._program import EndedError, Error, find_program, make_error
from ._run import parent, stat_fields

_PROTOCOL = 2
# Time limits for an agent that is stopped (SIGSTOP), and for one that is only slow.
_STOPPED_SECONDS = 1.0
_SLOW_SECONDS = 30.0
_REAP_SECONDS = 1.0  # time limit for the exit of an adopted process; only a stopped one needs longer
_open: weakref.WeakSet[_Program] = weakref.WeakSet()
_unreaped: list[int] = []


def _socket_pair() -> list[socket.socket]:
    """Creates sockets with descriptors above 2, even if this process has closed 0 to 2. Unlike a
    pipe, a socket can be written to without SIGPIPE."""
    ends = []
    for end in socket.socketpair():
        if end.fileno() <= 2:
            fd = fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
            end.close()
            end = socket.socket(fileno=fd)
        end.settimeout(None)  # the user's program may have set a default timeout
        ends.append(end)
    return ends


def _is_stopped(pid: int) -> bool:
    """Returns whether a process is stopped, by SIGSTOP or a debugger."""
    try:
        return stat_fields(pid)[0] in b"Tt"
    except (OSError, IndexError):
        return False


def _reap(pid: int) -> bool:
    """Reaps a child that has exited. Returns True if it is no longer a child of this process."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


class _Program:
    """A process of the program, and this end of the socket that is the process's standard input
    and output."""

    adopted = 0  # the PID, if the process is a child of this process

    def __init__(self, name: str, *arguments: str) -> None:
        """`name` is the name under which the program runs: spoor, gpu-tracker or
        resource-tracker."""
        program = find_program()
        self._lock = threading.Lock()
        self._socket, theirs = _socket_pair()
        _open.add(self)
        _unreaped[:] = [pid for pid in _unreaped if not _reap(pid)]
        try:
            pid = _library.start_agent(program, [name, *arguments], theirs.fileno(), theirs.fileno())
            self.adopted = pid if parent(pid) == os.getpid() else 0
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    def close(self) -> None:
        """Closes the socket, which makes the process exit. May be called again."""
        _open.discard(self)
        self._socket.close()
        self._await_end()

    def _await_end(self) -> None:
        deadline = time.monotonic() + _REAP_SECONDS
        while self.adopted and not _reap(self.adopted):
            if time.monotonic() > deadline:
                _unreaped.append(self.adopted)
                break
            time.sleep(0.001)
        self.adopted = 0

    def __del__(self) -> None:
        try:
            self._socket.close()
            self._await_end()
        except (AttributeError, TypeError):  # not started, or the interpreter is shutting down
            pass


class Call(_Program):
    """An agent for a single request. It runs in the background; result() reads the response."""

    def __init__(self, name: str, op: str, *arguments: str) -> None:
        self._data = b""
        self._answer: dict[str, Any] | None = None
        super().__init__(name, "agent")
        try:
            self._send(f"{json.dumps({'id': 1, 'op': op, 'arguments': arguments})}\n".encode())
        except BaseException:
            self.close()
            raise

    def _send(self, request: bytes) -> None:
        try:
            self._socket.sendall(request, socket.MSG_NOSIGNAL)
        except ConnectionError:
            pass  # the agent was killed: there is no response

    def end_input(self) -> None:
        """Lets the agent exit after its answer, even if the answer is never read. The agent then
        does not wait for a slow reader, so the answer must fit into the buffer of the socket."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the agent was killed

    def _read(self) -> dict[str, Any]:
        """Reads up to the answer, which follows the line "ready". As long as its own input is
        open, the agent waits for a slow reader."""
        if self._socket.fileno() < 0:
            raise Error("the answer belongs to the process that asked for it")
        data = b"\n"
        try:
            while data:
                if self._data.endswith(b"\n"):
                    answer = dict(json.loads(self._data.decode(errors="replace").rstrip().rpartition("\n")[2]))
                    if answer["event"] != "ready":
                        return answer
                data = self._socket.recv(65536)
                self._data += data
        except (ConnectionError, ValueError):
            pass
        raise EndedError("the program 'spoor' ended unexpectedly")

    def result(self) -> dict[str, Any]:
        """Waits for the response. May be called again, even after an interrupt."""
        with self._lock:
            if self._answer is None:
                self._answer = self._read()
                self.close()
        if self._answer["event"] == "error":
            raise make_error(self._answer["code"], self._answer["message"])
        return self._answer


class Agent(_Program):
    """An agent during its whole lifetime. Any thread may use it.

    An exception raised by a signal handler, such as KeyboardInterrupt, may end any method at any
    moment. The answer to an interrupted request is recognized by its id and skipped, and stop()
    may be called again. The same applies if the agent is stopped for a second: the request
    raises an EndedError.
    """

    def __init__(self, *arguments: str, name: str = "spoor") -> None:
        self._rest = b""
        self._last_id = 0
        self._is_asking = False
        self._was_stopped = False
        self._result: dict[str, Any] | None = None
        super().__init__(name, "agent", *arguments)
        try:
            self._socket.settimeout(_STOPPED_SECONDS)
            self.ready = self._read_ready()
            if self.ready.get("protocol") != _PROTOCOL:
                raise Error(f"{find_program()!r} and the Python package are of different versions: "
                            "install the same version of both")
        except BaseException:
            self.close()
            raise

    def _read_ready(self) -> dict[str, Any]:
        """Returns the first message of the agent. If the agent has been killed already, the
        first request will fail, as for an agent that is killed later."""
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
        """Returns the next bytes from the agent; none if it has exited."""
        waited = 0.0
        while True:
            try:
                return self._socket.recv(65536)
            except socket.timeout:
                self._check_stopped()
                waited += _STOPPED_SECONDS
                if most_seconds is not None and waited >= most_seconds:
                    raise EndedError("the tracker does not respond") from None
            except ConnectionError:
                return b""

    def _line(self, most_seconds: float | None) -> bytes:
        """Returns the next line from the agent; raises EndedError if there is none."""
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
                continue  # an interrupted request has read the start of this line
            answer_id = answer.get("id")
            if answer_id == request_id or (answer_id is None and not is_after_interrupt):
                break
        self._is_asking = False
        if answer["event"] == "error":
            raise make_error(answer["code"], answer["message"])
        return answer

    def ask(self, op: str, *arguments: str, is_quick: bool = False) -> dict[str, Any]:
        """Sends a request and returns the response. `is_quick`: the agent needs little time for
        the request."""
        with self._lock:
            if self._socket.fileno() < 0:
                raise Error("the tracker has ended, or belongs to the process that started it")
            is_after_interrupt, self._is_asking = self._is_asking, True
            if self._was_stopped:
                self._check_stopped()  # the previous request has already waited for the agent
            self._last_id += 1
            request = {"id": self._last_id, "op": op, "arguments": arguments}
            try:
                # The newline in front ends an earlier request that was sent only in part.
                self._socket.sendall(f"\n{json.dumps(request)}\n".encode(), socket.MSG_NOSIGNAL)
            except socket.timeout:  # the agent has not read earlier requests
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
        """Waits until the agent exits."""
        if self._socket.fileno() >= 0:
            try:
                self._socket.shutdown(socket.SHUT_WR)
                while self._receive(None):
                    pass
            except (OSError, EndedError):
                pass  # the agent has exited, or will once it continues
        self.close()


def _forget() -> None:
    """Closes the sockets in a forked child: the agents belong to the parent, and must notice
    when the parent closes its sockets."""
    for program in list(_open):
        program._lock = threading.Lock()
        program.adopted = 0
        program.close()
    _unreaped.clear()


os.register_at_fork(after_in_child=_forget)
