# SPDX-License-Identifier: Apache-2.0
"""The agent: a `spoor agent` process that tracks this one from outside.

libspoor starts it (spoor_agent_start) such that it is not our child: the program around us never
meets it in os.wait() or through SIGCHLD. It ends when our end of its input pipe is closed, which
the kernel does however we end.
"""
from __future__ import annotations

import json
import os
from _thread import allocate_lock

from ._error import Error, make_error

# Here and in the other modules: importing typing or dataclasses would take 10 to 20 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

_HERE = os.path.dirname(os.path.abspath(__file__))
_open: set[Agent] = set()


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


def _pipe() -> list[int]:
    """A pipe that does not take descriptors 0 to 2, even if this process has closed them."""
    fds = list(os.pipe())
    for i, fd in enumerate(fds):
        if fd <= 2:
            import fcntl

            fds[i] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
            os.close(fd)
    return fds


def read_answer(line: bytes) -> dict[str, Any]:
    """A line of the program as a dict. Raises the error that it reports."""
    if not line:
        raise Error("the tracker ended unexpectedly")
    answer: dict[str, Any] = json.loads(line.decode(errors="replace"))
    if answer["event"] == "error":
        raise make_error(answer["code"], answer["message"])
    return answer


class Agent:
    """An agent, from its start to its end. Any thread may use it."""

    def __init__(self, *arguments: str, name: str = "spoor") -> None:
        """`name` is the program whose agent it is: spoor or gpu-tracker."""
        from . import _library

        program = find_program()
        self._lock = allocate_lock()
        self._rest = b""
        read_fd, self._input = _pipe()
        self._output, write_fd = _pipe()
        _open.add(self)
        try:
            try:
                _library.start_agent(program, [name, "agent", *arguments], read_fd, write_fd)
            finally:
                os.close(read_fd)
                os.close(write_fd)
            self.ready = self._answer()
        except BaseException:
            self.close()
            raise

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            data = os.read(self._output, 65536)
            if not data:
                self._rest = b"\n"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return read_answer(line)

    def ask(self, line: str) -> dict[str, Any]:
        """Sends a line and returns the answer to it."""
        with self._lock:
            if self._input < 0:
                raise Error("the tracker has ended, or belongs to the process that started it")
            try:
                os.write(self._input, os.fsencode(line) + b"\n")
            except BrokenPipeError:
                raise Error("the tracker ended unexpectedly") from None
            return self._answer()

    def stop(self) -> dict[str, Any]:
        """Stops the tracking, waits for the agent to end and returns the result."""
        try:
            answer = self.ask("stop")
            while os.read(self._output, 65536):
                pass
            return answer
        finally:
            self.close()

    def close(self) -> None:
        """Closes the pipes, upon which the agent ends. May be called twice."""
        _open.discard(self)
        fds, self._input, self._output = (self._input, self._output), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)


def _forget() -> None:
    """In a forked child: the agents are the parent's, and must see when it closes their pipes."""
    for agent in list(_open):
        agent._lock = allocate_lock()
        agent.close()


os.register_at_fork(after_in_child=_forget)


def option_list(options: Mapping[str, str | os.PathLike[str] | bool | None]) -> list[str]:
    """{"interval": "0.5", "append": True, "name": None} as ["--interval=0.5", "--append"]."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words.append(f"--{name}={os.fspath(value)}")
    return words
