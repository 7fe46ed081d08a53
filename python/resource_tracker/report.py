# SPDX-License-Identifier: Apache-2.0
"""The report as an HTML page."""
from __future__ import annotations

import os

from spoor._error import Error
from spoor._page import Page, make_page

from ._recommend import is_long_enough
from ._report import build_report
from ._report_context import build_context, describe_cloud
from ._snapshot import get_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from ._resource_tracker import ResourceTracker

_INTEGRATIONS = ("standalone", "Metaflow", "R")


class Report(Page):
    """The text of the page. save() writes it to a file, browse() opens it in a web browser, and a
    notebook shows it."""


def _find_servers(needs: Mapping[str, Any] | None, count: int,
                  catalog: str | os.PathLike[str] | None) -> tuple[list[dict[str, Any]], str | None]:
    """Servers for the next run, or why there are none."""
    from .keeper import get_recommended_cloud_servers

    if needs is None or count == 0:
        return [], None
    try:
        servers = get_recommended_cloud_servers(**needs, n=count, catalog=catalog)
    except Error as error:
        return [], str(error)
    return servers, None if servers else "no server is large enough"


def _find_price(cloud: Mapping[str, Any] | None,
                catalog: str | os.PathLike[str] | None) -> float | None:
    """What this server costs per hour, in US dollars."""
    from .keeper import get_instance_price

    words = [(cloud or {}).get(key, "unknown") for key in ("vendor", "region", "instance_type")]
    return None if "unknown" in words else get_instance_price(*words, catalog=catalog)


def make_report(tracker: ResourceTracker, integration: str, history: Sequence[Mapping[str, Any]],
                status_failed: bool, integration_version: str | None, name: str | None,
                server_count: int, catalog: str | os.PathLike[str] | None) -> Report:
    """See ResourceTracker.report()."""
    if integration not in _INTEGRATIONS:
        raise ValueError(f"invalid integration {integration!r}: expected 'standalone', 'Metaflow' or "
                         "'R'")
    if tracker.running:
        tracker.wait_for_samples(1, timeout=max(5, 5 * tracker.interval))
    import spoor

    current, server, cloud = tracker.stats(), tracker.server_info, tracker.cloud_info
    has_needs = tracker.track_processes and is_long_enough([current, *history])
    needs = tracker.recommend_resources(history) if has_needs else None
    servers, reason = _find_servers(needs, server_count, catalog)
    context = build_context(integration, status_failed, history, current, needs, servers, reason,
                            _find_price(cloud, catalog) if server_count else None,
                            (server or {}).get("allocation"))
    context.update(integration_version=integration_version, cloud=describe_cloud(cloud))
    frame = tracker.get_combined_metrics(bytes=True)
    exit_code = int(status_failed) if integration == "Metaflow" else None  # that of the task
    facts = {**get_metadata(tracker), "name": name, "exit_code": exit_code,
             "spoor_version": spoor.__version__}
    return Report(make_page(build_report(facts, {column: frame[column] for column in frame.columns},
                                         server, cloud, tracker.run_totals, context)))
