# SPDX-License-Identifier: Apache-2.0
"""The command resource-tracker, and python -m resource_tracker: this process becomes the program."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from spoor import find_program


def become_program() -> NoReturn:
    """Replaces this process by the program, so that Python frees its memory and signals reach the program."""
    os.execv(find_program(), ["resource-tracker", *sys.argv[1:]])


if __name__ == "__main__":
    become_program()
