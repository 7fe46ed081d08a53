# SPDX-License-Identifier: Apache-2.0
"""The magic %%spoor for IPython and notebooks."""
from __future__ import annotations

import shlex
from typing import Any

from ._tracker import Tracker


def _track_cell(shell: Any, line: str, cell: str) -> Any:
    """Tracks a cell and shows its result: %%spoor [-i INTERVAL] [NAME].

    NAME is a variable for the result; without it, the result is shown. INTERVAL is in seconds (default: 0.1).
    """
    words = shlex.split(line)
    interval: Any = 0.1
    if words[:1] == ["-i"]:
        interval, words = words[1], words[2:]
    if len(words) > 1 or any(not word.isidentifier() for word in words):
        raise ValueError("usage: %%spoor [-i INTERVAL] [NAME]")
    with Tracker(interval=interval) as tracker:
        outcome = shell.run_cell(cell)
    outcome.raise_error()
    if not words:
        return tracker.result
    shell.user_ns[words[0]] = tracker.result
    return None


def register(shell: Any) -> None:
    shell.register_magic_function(lambda line, cell: _track_cell(shell, line, cell), "cell", "spoor")
