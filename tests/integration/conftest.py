# SPDX-License-Identifier: Apache-2.0
"""Tests with real components, as far as they are installed (the group integration of tools/packages). A test whose
component is missing is skipped, with the reason.
"""
import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = TOP / "python"
BINARY = pathlib.Path(os.environ.get("SPOOR_BINARY", TOP / "build/spoor")).absolute()
DEADLINE_SECONDS = 300  # these components are large, and the machine may be busy
sys.path.insert(0, str(PACKAGES))
os.environ["PYTHONPATH"] = str(PACKAGES)
os.environ["SPOOR_BIN"] = str(BINARY)
