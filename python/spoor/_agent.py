# SPDX-License-Identifier: Apache-2.0
"""The agent: a `spoor agent` beside this process, which tracks it from outside.

It is nobody's child (spoor_agent_start of libspoor), so that the program around us never
meets it in os.wait() or by SIGCHLD. It ends when our end of its input is closed, which the
kernel does whatever becomes of us.
"""
from __future__ import annotations

import json
import os
from _thread import allocate_lock

# Here and in the other modules: importing typing or dataclasses would cost 10 to 20 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set

_HERE = os.path.dirname(os.path.abspath(__file__))
_open: Set[Agent] = set()
_start: Any = None  # the function of the library, once it is loaded


class Error(RuntimeError):
    """What the tracker could not do, in its own words."""


def find_program() -> str:
    """The path of the program spoor: of this package, else of SPOOR_BIN, else of PATH."""
    own = os.path.join(_HERE, "bin", "spoor")
    if os.access(own, os.X_OK):
        return own
    named = os.environ.get("SPOOR_BIN")
    if named:
        if os.access(named, os.X_OK):
            return os.path.abspath(named)
        raise Error(f"SPOOR_BIN: there is no program {named!r}")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", "spoor")
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.abspath(path)
    raise Error("the program 'spoor' is not installed: it is neither beside this package, "
                "nor named by SPOOR_BIN, nor in PATH")


def _library_names(program: str) -> List[str]:
    """Where the library may be: of this package, of the program's build or installation."""
    folder = os.path.dirname(os.path.realpath(program))
    names = [os.path.join(_HERE, "lib", "libspoor.so"), os.path.join(folder, "libspoor.so")]
    for library in ("lib", "lib64", os.path.join("lib", os.uname().machine + "-linux-gnu")):
        names.append(os.path.join(os.path.dirname(folder), library, "libspoor.so.0"))
    return [name for name in names if os.path.exists(name)] + ["libspoor.so.0"]


def _load(program: str) -> Any:
    global _start
    if _start is None:
        import ctypes

        class SpoorError(ctypes.Structure):
            _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 240)]

        try:
            library = ctypes.CDLL(_library_names(program)[0])
        except OSError as error:
            raise Error(f"the library of spoor cannot be loaded: {error}") from None

        def start(path: bytes, arguments: List[bytes], input_fd: int, output_fd: int) -> None:
            error = SpoorError()
            array = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
            if library.spoor_agent_start(path, array, input_fd, output_fd,
                                         ctypes.byref(error)) < 0:
                raise Error(error.message.decode(errors="replace"))

        _start = start
    return _start


def _pipe() -> List[int]:
    """A pipe whose descriptors are no standard ones, which this process may have closed."""
    fds = list(os.pipe())
    for i, fd in enumerate(fds):
        if fd <= 2:
            import fcntl

            fds[i] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
            os.close(fd)
    return fds


class Agent:
    """One agent, from its start to its end. Any thread may ask it."""

    def __init__(self, *arguments: str, name: str = "spoor") -> None:
        """`name` is that of the program whose agent it is: spoor, or gpu-tracker."""
        program = find_program()
        start = _load(program)
        self._lock = allocate_lock()
        self._rest = b""
        read_fd, self._input = _pipe()
        self._output, write_fd = _pipe()
        _open.add(self)
        try:
            start(os.fsencode(program), [os.fsencode(word) for word in (name, "agent", *arguments)],
                  read_fd, write_fd)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(read_fd)
            os.close(write_fd)
        try:
            self.ready = self._answer()
        except BaseException:
            self.close()
            raise

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            data = os.read(self._output, 65536)
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _answer(self) -> Dict[str, Any]:
        line = self._line()
        if not line:
            raise Error("the tracker has ended unexpectedly")
        answer: Dict[str, Any] = json.loads(line.decode(errors="replace"))
        if answer["event"] == "error":
            raise Error(answer["message"])
        return answer

    def ask(self, line: str) -> Dict[str, Any]:
        """Sends a line and returns the answer to it."""
        with self._lock:
            if self._input < 0:
                raise Error("the tracker has ended, or belongs to the process that started it")
            try:
                os.write(self._input, os.fsencode(line) + b"\n")
            except BrokenPipeError:
                raise Error("the tracker has ended unexpectedly") from None
            return self._answer()

    def stop(self) -> Dict[str, Any]:
        """Ends the tracking and returns the result. The agent has ended then."""
        try:
            answer = self.ask("stop")
            while os.read(self._output, 65536):
                pass
            return answer
        finally:
            self.close()

    def close(self) -> None:
        """Lets the agent go: it ends by itself. May be called twice."""
        _open.discard(self)
        fds, self._input, self._output = (self._input, self._output), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)


def _forget() -> None:
    """In a forked child: agents are the parent's, and must see the end of its pipe."""
    for agent in list(_open):
        agent._lock = allocate_lock()
        agent.close()


os.register_at_fork(after_in_child=_forget)


def option_list(options: Dict[str, Optional[Any]]) -> List[str]:
    """{"interval": 0.5, "quiet": True, "name": None} as words of a command line."""
    words: List[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name if value is True else f"--{name}={os.fspath(value)}")
    return words
