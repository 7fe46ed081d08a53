# SPDX-License-Identifier: Apache-2.0
"""Registers the step decorator @track_resources with Metaflow."""

STEP_DECORATORS_DESC = [
    ("track_resources", ".track_resources_decorator.TrackResourcesDecorator"),
]
