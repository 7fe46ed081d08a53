# SPDX-License-Identifier: Apache-2.0
"""The program spoor: its path, its options, and its failures as exceptions. The program reports an errno name, which
determines the class of the exception."""
from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Mapping

PACKAGE = os.path.dirname(os.path.abspath(__file__))
_OUR_PACKAGES = ("spoor", "resource_tracker")


class Error(RuntimeError):
    """The tracker failed; str(error) is the reason.

    If Python has a class for a failure, the exception belongs to that class as well: a file that
    must not be replaced is an Error and a FileExistsError.
    """
    code: str | None = None  # the errno name, such as "EEXIST", if the program reported one


class InvalidError(Error, ValueError):
    """An argument, or the contents of a file, is not valid."""


class ExistsError(Error, FileExistsError):
    """A file exists that must not be replaced."""


class MissingError(Error, FileNotFoundError):
    """A file or directory does not exist."""


class AccessError(Error, PermissionError):
    """Permission was denied."""


class NoProcessError(Error, ProcessLookupError):
    """The process does not exist or has exited."""


class EndedError(Error):
    """The agent exited unexpectedly or does not respond."""


_CLASSES = {
    "EINVAL": InvalidError, "EBADMSG": InvalidError, "EEXIST": ExistsError,
    "ENOENT": MissingError, "EACCES": AccessError, "EPERM": AccessError, "ESRCH": NoProcessError}


def make_error(code: str | None, message: str) -> Error:
    error = _CLASSES.get(code or "", Error)(message)
    error.code = code
    return error


def find_program() -> str:
    """Returns the path of the program spoor: in this package, else in SPOOR_BIN, else in PATH."""
    own = os.path.join(PACKAGE, "bin", "spoor")
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


class LazyModule:
    """A module that is imported when an attribute is first read, even if typing.get_type_hints()
    reads it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self._name), name)


def option_list(options: Mapping[str, str | bytes | os.PathLike[Any] | bool | None]) -> list[str]:
    """Converts {"interval": "0.5", "append": True, "name": None} to ["--interval=0.5",
    "--append"]."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words.append(f"--{name}={os.fsdecode(value)}")
    return words


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Issues a warning for the line of the user's program that called one of spoor's packages. A
    RuntimeWarning, a failure of the tracker, never fails the program: under `python -W error` it
    is only printed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and \
            frame.f_globals.get("__name__", "").partition(".")[0] in _OUR_PACKAGES:
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(message, category, stacklevel=level)
    except RuntimeWarning:
        warnings.showwarning(message, category, frame.f_code.co_filename, frame.f_lineno)


def warn_of_failure(tracker: Any, error: Error) -> None:
    """Warns of a failure of the tracker, but only once that its agent has ended."""
    if not isinstance(error, EndedError):
        warn(str(error))
    elif not tracker._has_warned:
        tracker._has_warned = True
        warn(f"tracking has stopped: {error}")
