# SPDX-License-Identifier: Apache-2.0
"""The command gpu-tracker, and python -m gpu_tracker: this process becomes the program."""
from __future__ import annotations

import os
import sys

from spoor import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    os.execv(find_program(), ["gpu-tracker", *sys.argv[1:]])


if __name__ == "__main__":
    main()
