# SPDX-License-Identifier: Apache-2.0
"""The version of the interface, which is that of resource-tracker, and the version of spoor."""
from __future__ import annotations

import spoor

_INTERFACE_VERSION = "0.5.0"

__version__ = f"{_INTERFACE_VERSION}+spoor.{spoor.__version__}"
