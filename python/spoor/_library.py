# SPDX-License-Identifier: Apache-2.0
"""The functions of libspoor that Python calls. Loading ctypes takes 5 ms, so this module is imported on first use."""
from __future__ import annotations

import ctypes
import errno
import functools
import os

from ._program import PACKAGE, Error, find_program, make_error


class _SpoorError(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 240)]


def _find() -> str:
    """Returns the path of the library: in this package, or else where it was built or installed
    with the program."""
    folder = os.path.dirname(os.path.realpath(find_program()))
    names = [os.path.join(PACKAGE, "lib", "libspoor.so"), os.path.join(folder, "libspoor.so")]
    for library in ("lib", "lib64", os.path.join("lib", os.uname().machine + "-linux-gnu")):
        names.append(os.path.join(os.path.dirname(folder), library, "libspoor.so.0"))
    return next((name for name in names if os.path.exists(name)), "libspoor.so.0")


@functools.lru_cache(None)
def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(_find())
    except OSError as error:
        raise Error(f"cannot load the spoor library: {error}") from None
    library.spoor_version.restype = ctypes.c_char_p
    library.spoor_may_have_gpus.restype = ctypes.c_bool
    return library


def version() -> str:
    text: bytes = _load().spoor_version()
    return text.decode()


def may_have_gpus() -> bool:
    """Returns False if this machine certainly has no GPU."""
    found: bool = _load().spoor_may_have_gpus(None)
    return found


def start_agent(program: str, words: list[str], input_fd: int, output_fd: int) -> int:
    """Starts a process and returns its PID."""
    if any("\0" in word for word in words):  # C would end the word at the NUL
        raise make_error("EINVAL", "embedded null byte in an argument")
    error = _SpoorError()
    arguments = (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words), None)
    pid: int = _load().spoor_agent_start(os.fsencode(program), arguments, input_fd, output_fd,
                                         ctypes.byref(error))
    if pid < 0:
        raise make_error(errno.errorcode.get(error.code, "EIO"),
                         error.message.decode(errors="replace"))
    return pid
