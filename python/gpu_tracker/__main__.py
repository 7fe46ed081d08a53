# SPDX-License-Identifier: Apache-2.0
"""The command gpu-tracker, also run by python -m gpu_tracker: replaces this process by the program."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from spoor import find_program


def main() -> NoReturn:
    """Runs the program with the arguments in sys.argv, then exits with its code."""
    import subprocess

    sys.exit(subprocess.call(["gpu-tracker", *sys.argv[1:]], executable=find_program()))


def become_program() -> NoReturn:
    """Replaces this process by the program, so that Python's memory is freed and signals reach
    the program."""
    os.execv(find_program(), ["gpu-tracker", *sys.argv[1:]])


if __name__ == "__main__":
    become_program()
