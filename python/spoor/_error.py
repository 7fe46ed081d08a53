# SPDX-License-Identifier: Apache-2.0
"""Exceptions. The program answers a failure with an errno name, which decides the class."""
from __future__ import annotations


class Error(RuntimeError):
    """The tracker could not do what it was asked for; str(error) says why.

    Failures that Python has a class for are of that class as well: a file that must not be
    replaced is an Error and a FileExistsError.
    """
    code: str | None = None  # the errno name, such as "EEXIST", if the program gave one


class InvalidError(Error, ValueError):
    """An argument, or the contents of a file, is not valid."""


class ExistsError(Error, FileExistsError):
    """A file exists that must not be replaced."""


class MissingError(Error, FileNotFoundError):
    """A file or directory does not exist."""


class AccessError(Error, PermissionError):
    """Permission was denied."""


class NoProcessError(Error, ProcessLookupError):
    """The process does not exist, or has ended."""


class EndedError(Error):
    """The agent exited unexpectedly, or does not respond."""


_CLASSES = {
    "EINVAL": InvalidError, "EBADMSG": InvalidError, "EEXIST": ExistsError,
    "ENOENT": MissingError, "EACCES": AccessError, "EPERM": AccessError, "ESRCH": NoProcessError}


def make_error(code: str | None, message: str) -> Error:
    error = _CLASSES.get(code or "", Error)(message)
    error.code = code
    return error
