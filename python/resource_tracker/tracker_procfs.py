# SPDX-License-Identifier: Apache-2.0
"""get_process_stats and get_system_stats. There is one implementation, that of spoor."""
from __future__ import annotations

from ._readings import get_process_stats, get_system_stats

__all__ = ["get_process_stats", "get_system_stats"]
