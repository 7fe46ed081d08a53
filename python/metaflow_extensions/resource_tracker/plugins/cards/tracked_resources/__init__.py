# SPDX-License-Identifier: Apache-2.0
"""The card of a step with @track_resources."""
from metaflow.cards import MetaflowCard


class TrackedResourcesCard(MetaflowCard):
    """The usage of a task: the page of resource_tracker."""

    type = "tracked_resources"

    def __init__(self, options=None, **_):
        self._artifact_name = (options or {}).get("artifact_name", "resource_tracker_data")

    def render(self, task):
        from resource_tracker._metaflow import make_card

        return make_card(task[self._artifact_name].data, task.pathspec)


CARDS = [TrackedResourcesCard]
