/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h - the curves of several ranks on one clock: their sums at every moment.
 *
 * The sums change where a point of a rank ends, so that ranks which ran one after the other never add up.
 */
#ifndef GROUP_SWEEP_H
#define GROUP_SWEEP_H

#include "record/group.h"

/* The curve of one rank. */
struct rank_curve {
    double start; /* since the start of the group */
    const struct record_curve *curve;
    const struct curve_column *columns[GROUP_COLUMNS]; /* NULL: unknown */
    struct curve_value now;                            /* for sweep_run() */
};

struct sweep_event;

struct sweep {
    struct rank_curve **curves; /* borrowed */
    struct sweep_event *events;
    size_t count;
};

/* -ENOMEM. End it with sweep_done(). */
int sweep_init(struct sweep *sweep, struct rank_curve **curves, size_t count);
void sweep_done(struct sweep *sweep);

/* The largest sums at one moment: of the highest values, and of the lowest. NaN: no rank has the column. */
struct curve_value sweep_peak(const struct sweep *sweep, size_t column);

/* The sums in `cells` parts of `seconds`, which have the same length. */
void sweep_fill(const struct sweep *sweep, size_t column, double seconds, size_t cells,
                struct curve_column *ret);

#endif
