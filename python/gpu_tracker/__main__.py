# SPDX-License-Identifier: Apache-2.0
"""python -m gpu_tracker: becomes the program gpu-tracker."""
import os
import sys

from spoor import find_program

os.execv(find_program(), ["gpu-tracker", *sys.argv[1:]])
