# SPDX-License-Identifier: Apache-2.0
"""Servers to rent and their prices, from the Spare Cores keeper (a web service) or from a catalogue: a CSV or
JSON file with the keys of the keeper.

SPOOR_KEEPER_URL replaces the URL of the service. The time limit is 2 seconds.
"""
from __future__ import annotations

import json
import os
from typing import Any, Iterable

from spoor._agent import Call
from spoor._program import Error, make_error

from .helpers import logger

_MIB = 1 << 20


def _ask(what: str, request: dict[str, Any], catalog: str | os.PathLike[str] | None) -> dict[str, Any]:
    if catalog is not None:
        request["catalog"] = os.path.abspath(os.fspath(catalog))
    try:
        return Call("resource-tracker", what, json.dumps(request)).result()
    except Error as error:  # names parameters instead of options
        message = str(error).replace("use --catalog FILE", "use catalog=FILE")
        raise make_error(error.code, message) from None


def get_instance_price(vendor: str, region: str, instance: str, *,
                       catalog: str | os.PathLike[str] | None = None) -> float | None:
    """Returns the on-demand price of a server with Linux, in US dollars per hour: in this
    region, or else in the first region listed. Returns None if the price is unknown, and logs
    the reason."""
    request = {"vendor": vendor, "region": region, "server": instance}
    try:
        price: float | None = _ask("price", request, catalog)["price"]
    except Error as error:
        logger().warning("the price of %s %s is not known: %s", vendor, instance, error)
        return None
    return price


def _in_mib(count: float | None) -> float | None:
    return None if count is None else count / _MIB


def _describe(server: dict[str, Any]) -> dict[str, Any]:
    """Returns the server with the keys of the keeper. A server from a CSV file has only some of them."""
    details: dict[str, Any] | None = server["details"]
    if details is not None:
        return details
    return {"vendor_id": server["vendor"], "server_id": server["name"], "name": server["name"],
            "api_reference": server["name"], "display_name": server["name"],
            "region_id": server["region"], "cpu_architecture": server["architecture"],
            "vcpus": server["vcpus"], "memory_amount": _in_mib(server["memory_bytes"]),
            "gpu_count": server["gpus"], "gpu_manufacturer": server["gpu_vendor"],
            "gpu_memory_total": _in_mib(server["vram_bytes"]),
            "min_price_ondemand": server["price_usd_per_hour"]}


def get_recommended_cloud_servers(cpu: float, memory: float, gpu: float | None = None,
                                  vram: float | None = None, n: int = 10, *,
                                  vendor_id: str | Iterable[str] | None = None,
                                  cpu_architecture: str | None = None,
                                  catalog: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
    """The cheapest servers with at least this many CPUs and GPUs, and this much memory and VRAM in MiB:
    n at most, each as a dict with the keys of the keeper, such as vendor_id, api_reference, vcpus,
    memory_amount (MiB) and min_price_ondemand (US dollars per hour).

    vendor_id is one vendor or several, such as "aws"; cpu_architecture is "x86_64" or "arm64". Without a
    catalogue, the Spare Cores keeper is queried; a RuntimeError is raised if that fails.
    """
    vendors = [vendor_id] if isinstance(vendor_id, str) else list(vendor_id or ())
    request = {"cpus": cpu, "memory_mib": memory, "gpus": gpu, "vram_mib": vram, "count": n,
               "vendors": vendors, "architecture": cpu_architecture}
    answer = _ask("servers", request, catalog)
    return [_describe(server) for server in answer["servers"]["fitting"]]
