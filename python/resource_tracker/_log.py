# SPDX-License-Identifier: Apache-2.0
"""What the package says: messages of its logger, and warnings. Imported when first needed."""
from __future__ import annotations

import functools
import logging
import sys
import warnings


@functools.lru_cache(None)
def logger() -> logging.Logger:
    """The logger `resource_tracker`. It is silent unless the program gives it a handler."""
    found = logging.getLogger("resource_tracker")
    found.addHandler(logging.NullHandler())
    return found


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warns of the line of the program that has called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and \
            frame.f_globals.get("__name__", "").partition(".")[0] == "resource_tracker":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
