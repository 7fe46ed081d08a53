# SPDX-License-Identifier: Apache-2.0
"""What a tracking or sub-tracking file must be."""
from __future__ import annotations

import errno
import os


def check_extension(path: str) -> None:
    if not path.endswith((".csv", ".sqlite")):
        raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and '
                         '".sqlite".')


def check_absent(path: str) -> None:
    if os.path.isfile(path):
        raise FileExistsError(f"File {path} already exists. Set overwrite to True to overwrite "
                              "the existing file.")


def check_present(path: str) -> None:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def check_folder(path: str) -> None:
    """Can a file of that name be created? It is not created yet."""
    folder = os.path.dirname(path) or "."
    code = errno.EISDIR if os.path.isdir(path) else \
        errno.ENOENT if not os.path.exists(folder) else \
        errno.ENOTDIR if not os.path.isdir(folder) else \
        errno.EACCES if not os.access(folder, os.W_OK | os.X_OK) else 0
    if code:
        raise OSError(code, os.strerror(code), path)
