# SPDX-License-Identifier: Apache-2.0
"""What this distribution adds to Metaflow: the step decorator @track_resources."""

STEP_DECORATORS_DESC = [
    ("track_resources", ".track_resources_decorator.TrackResourcesDecorator"),
]
