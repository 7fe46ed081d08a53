# SPDX-License-Identifier: Apache-2.0
"""The command gpu-tracker, and python -m gpu_tracker: this process becomes the program."""
import os
import sys
from typing import NoReturn

from spoor import find_program


def main() -> NoReturn:
    os.execv(find_program(), ["gpu-tracker", *sys.argv[1:]])


if __name__ == "__main__":
    main()
