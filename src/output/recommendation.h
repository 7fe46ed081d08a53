/* SPDX-License-Identifier: Apache-2.0 */
/* recommendation.h - recommended requests for the next run, in reports and on their own. */
#pragma once

#include "output/format.h"
#include "output/text_layout.h"
#include "recommend/needs.h"
#include "text/json_writer.h"

/* Writes the row of a text report. */
void recommendation_row(const struct record *record, struct page *page);

enum recommendation_extra {
    RECOMMENDATION_PLAIN,
    RECOMMENDATION_SPREAD,   /* also the smallest and the largest usage of the runs */
    RECOMMENDATION_REQUESTS, /* the lines for each scheduler, for the report page */
};

/* Adds the object "recommendation". */
void recommendation_add_json(struct json_writer *json, const struct needs *needs,
                             enum recommendation_extra extra);

/* Writes one row per quantity, with its reason. */
void recommendation_write_text(const struct needs *needs, const struct format_style *style,
                               struct buffer *out);
