# SPDX-License-Identifier: Apache-2.0
"""What a tracking or sub-tracking file must be."""
from __future__ import annotations

import os


def check_extension(path: str) -> None:
    if not path.endswith((".csv", ".sqlite")):
        raise ValueError(f'Invalid file name: "{path}". Valid file extensions are ".csv" and '
                         '".sqlite".')


def check_absent(path: str) -> None:
    if os.path.isfile(path):
        raise FileExistsError(f"File {path} already exists. Set overwrite to True to overwrite "
                              "the existing file.")
