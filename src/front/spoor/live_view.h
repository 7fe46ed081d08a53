/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_view.h - a run in progress as a few lines of text: the latest figures and their curves. Pure.
 *
 * A curve has columns of equal time, the newest last. A column of a level shows its highest value,
 * a column of a rate the mean over the column.
 */
#ifndef FRONT_SPOOR_LIVE_VIEW_H
#define FRONT_SPOOR_LIVE_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "spoor/spoor.h"
#include "text/buffer.h"

enum { LIVE_CURVE_COLUMNS = 120, LIVE_ROWS_MAX = 12 };

enum live_scope { LIVE_JOB, LIVE_HOST, LIVE_SCOPE_COUNT };

struct live_curve {
    size_t metric; /* of the sample; its count: there is no such metric */
    double now;    /* NaN: unknown */
    double max;
    double columns[LIVE_CURVE_COLUMNS]; /* NaN: unknown */
    /* of a counter: its latest value, and when; its growth in the newest column, and in what time */
    double total, total_seconds, growth, growth_seconds;
};

struct live_view {
    enum live_scope scope;
    double elapsed_seconds;
    double column_seconds; /* that a column stands for */
    double column_start;   /* of the newest column */
    double rate_seconds;   /* a rate is of this long at least */
    struct live_curve curves[LIVE_ROWS_MAX];
};

struct live_style {
    size_t columns, lines; /* room for the text; the last column stays empty */
    bool has_color;
    bool has_unicode;
    const char *hint; /* last line, such as how to end; NULL: none */
};

void live_view_init(struct live_view *view, enum live_scope scope, double interval_seconds);

void live_view_add(struct live_view *view, const struct spoor_sample *sample);

/* Writes the lines to an empty buffer, without an end of line after the last. Returns their number,
 * at most style->lines. `title` must be safe for a terminal. */
size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out);

#endif
