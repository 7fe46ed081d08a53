# SPDX-License-Identifier: Apache-2.0
"""resource_tracker: measures the usage of a process and the machine over time, with the API of resource-tracker 0.5.

    from resource_tracker import ResourceTracker

    with ResourceTracker(interval=0.5) as tracker:
        work()
    print(tracker.process_metrics)
    print(tracker.stats())

spoor does the tracking, in a separate process.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .tracker import ProcessTracker, ResourceTracker, SystemTracker

if TYPE_CHECKING:
    from .cloud_info import get_cloud_info
    from .server_info import get_server_info

__all__ = ["ProcessTracker", "ResourceTracker", "SystemTracker", "get_cloud_info",
           "get_server_info"]


if "logging" in sys.modules:  # otherwise, the first message imports it, which takes 14 ms
    from .helpers import logger

    logger()


def __getattr__(name: str) -> object:
    """Imports rarely needed functions on first use."""
    if name in ("get_cloud_info", "get_server_info"):
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{name[4:]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
