# SPDX-License-Identifier: Apache-2.0
"""Facts about this machine."""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def get_server_info() -> dict[str, Any]:
    """{"os": "Linux", "vcpus": N, "memory_mib": N}."""
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {"os": os.uname().sysname, "vcpus": os.cpu_count(),
            "memory_mib": round(pages * page_bytes / 1024 ** 2, 2)}
