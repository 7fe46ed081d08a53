# SPDX-License-Identifier: Apache-2.0
"""Provides the functions of tracker_procfs under the predecessor's other name: spoor reads /proc, and psutil is not
used."""
from __future__ import annotations

from .tracker_procfs import get_process_stats, get_system_stats

__all__ = ["get_process_stats", "get_system_stats"]
