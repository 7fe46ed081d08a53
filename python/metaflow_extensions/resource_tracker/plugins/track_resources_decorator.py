# SPDX-License-Identifier: Apache-2.0
"""The step decorator @track_resources.

Nothing here may fail a step: errors are stored in the artifact and printed.
"""
import importlib.util
import os
import sys

from metaflow.decorators import StepDecorator
from metaflow.exception import MetaflowException
from metaflow.plugins.cards.card_decorator import CardDecorator

_CARD_TYPE = "tracked_resources"
_PACKAGES = ("resource_tracker", "spoor")


class _Card(CardDecorator):
    """A card that is created even if the step has failed."""

    def task_finished(self, step_name, flow, graph, is_task_ok, *rest):
        super().task_finished(step_name, flow, graph, True, *rest)


def _is_true(value):
    """Converts a text to a bool, because --with track_resources:create_card=false passes a text."""
    return str(value).lower() not in ("false", "0", "no", "none", "")


def _allow_merge(flow, artifact_name):
    """Makes merge_artifacts() in a join skip the artifact, unless `include` names it: its values
    differ between the branches, so the merge would fail."""
    merge = flow.merge_artifacts

    def merge_artifacts(inputs, exclude=None, include=None):
        names = exclude if include else [*(exclude or ()), artifact_name]
        return merge(inputs, exclude=names, include=include)

    flow.merge_artifacts = merge_artifacts


def _files_of(package):
    """Yields (path, path in the archive) for the files of an installed package."""
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        for folder, _, names in os.walk(place):
            for name in names:
                path = os.path.join(folder, name)
                if not name.endswith(".pyc"):
                    yield path, os.path.join(package, os.path.relpath(path, place))


class TrackResourcesDecorator(StepDecorator):
    """
    Tracks the usage of each task of the step, stores it as an artifact and shows it in a card.

    Parameters
    ----------
    interval : float, default 1.0
        Seconds between two rows.
    artifact_name : str, default 'resource_tracker_data'
        Name of the artifact.
    create_card : bool, default True
        Create a card, with the id `resource_tracker_STEP`.
    dialect : str, default 'resource-tracker'
        The generation of the column names: 'resource-tracker' (0.5), 'resource-tracker-0.3' or
        'resource-tracker-0.1'.
    servers : int, default 0
        Number of servers that the card recommends. They come from the Spare Cores keeper.
    """

    name = "track_resources"
    defaults = {"interval": 1.0, "artifact_name": "resource_tracker_data", "create_card": True,
                "dialect": "resource-tracker", "servers": 0}

    _tracker = None
    _failure = None  # the reason why there is no tracker
    _run_id = None

    def step_init(self, flow, graph, step_name, decorators, environment, flow_datastore, logger):
        self._check_attributes()
        _allow_merge(flow, self.attributes["artifact_name"])
        if _is_true(self.attributes["create_card"]):
            self._add_card(step_name, decorators)

    def _check_attributes(self):
        interval, name = self.attributes["interval"], self.attributes["artifact_name"]
        try:
            self._interval = float(interval)
        except (TypeError, ValueError):
            self._interval = 0.0
        if not 0 < self._interval < float("inf"):
            raise MetaflowException(f"@track_resources: invalid interval {interval!r}: expected a "
                                    "positive number of seconds")
        if not (isinstance(name, str) and name.isidentifier()):
            raise MetaflowException(f"@track_resources: invalid artifact_name {name!r}: expected an "
                                    "identifier")

    def _add_card(self, step_name, decorators):
        if any(isinstance(card, CardDecorator) and card.attributes["type"] == _CARD_TYPE
               for card in decorators):
            return
        options = {name: self.attributes[name] for name in ("artifact_name", "servers")}
        # Add the card as if it were in the flow: otherwise Metaflow adds a plain card of this type
        # to tasks.
        card = _Card(attributes={"type": _CARD_TYPE, "id": f"resource_tracker_{step_name}",
                                 "options": options}, statically_defined=True)
        decorators.append(card)  # Metaflow initializes it after this decorator
        cards = [card for card in decorators if isinstance(card, CardDecorator)]
        CardDecorator._set_card_counts_per_step(step_name, len(cards))  # other decorators may have added cards before

    def add_to_package(self):
        """Adds the packages that a task needs on another machine."""
        for package in _PACKAGES:
            yield from _files_of(package)

    # ---- in the task ----

    def task_pre_step(self, step_name, task_datastore, metadata, run_id, task_id, flow, graph,
                      retry_count, max_user_code_retries, ubf_context, inputs):
        self._run_id = str(run_id)
        try:
            from resource_tracker import ResourceTracker

            self._tracker = ResourceTracker(interval=self._interval, autostart=True,
                                            dialect=self.attributes["dialect"])
        except Exception as error:
            self._failure = error

    def task_post_step(self, step_name, flow, graph, retry_count, max_user_code_retries):
        self._finish(step_name, flow, False)

    def task_exception(self, exception, step_name, flow, graph, retry_count, max_user_code_retries):
        self._finish(step_name, flow, True)

    def _finish(self, step_name, flow, step_failed):
        try:
            artifact = self._make_artifact(step_name, flow, step_failed)
        except Exception as error:
            artifact = self._describe(error)
        setattr(flow, self.attributes["artifact_name"], artifact)

    def _make_artifact(self, step_name, flow, step_failed):
        if self._failure is not None:
            raise self._failure
        from resource_tracker._metaflow import build_artifact

        self._tracker.stop(int(step_failed), "failed" if step_failed else "finished")
        return build_artifact(self._tracker, step_failed, self._read_history(step_name, flow))

    def _read_history(self, step_name, flow):
        from metaflow import Flow
        from resource_tracker._metaflow import collect_history

        try:
            return collect_history(Flow(flow.name), self._run_id, step_name,
                                   self.attributes["artifact_name"])
        except Exception as error:
            print(f"@track_resources: earlier runs cannot be read: {error}", file=sys.stderr)
            return []

    def _describe(self, error):
        print(f"@track_resources: the resources of this step are not known: {error}",
              file=sys.stderr)
        try:
            from resource_tracker._metaflow import build_error
        except ImportError:
            return {"error": {"error_type": type(error).__name__, "error_message": str(error),
                              "traceback": ""}}
        return build_error(error)
