# SPDX-License-Identifier: Apache-2.0
"""The card of a step with @track_resources."""
from metaflow.cards import MetaflowCard


class TrackedResourcesCard(MetaflowCard):
    """Shows the usage of a task, as the page of resource_tracker."""

    type = "tracked_resources"

    def __init__(self, options=None, **_):
        self._options = {"artifact_name": "resource_tracker_data", "servers": 0, **(options or {})}

    def render(self, task):
        from resource_tracker._metaflow import make_card

        return make_card(task[self._options["artifact_name"]].data, task.pathspec,
                         int(self._options["servers"]))


CARDS = [TrackedResourcesCard]
