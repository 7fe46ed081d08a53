/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - decides whether two sets of runs differ in a figure. Does no I/O.
 *
 * Two single runs differ if their bounds do not overlap. One run differs from many if it is
 * outside their usual range. Two sets of many runs differ if a rank test finds a difference at
 * the 5 % level.
 */
#ifndef RUNS_COMPARE_H
#define RUNS_COMPARE_H

#include "record/run_figure.h"
#include "runs/run_set.h"
#include "runs/statistics.h"
#include "text/buffer.h"

enum verdict {
    VERDICT_UNKNOWN, /* the figure is unknown, or there are too few runs */
    VERDICT_SAME,    /* no difference was found */
    VERDICT_DIFFERS,
};

/* A figure of one set. */
struct set_figure {
    struct statistics statistics;
    /* Bounds of the figure in the median run; NaN: unknown in all runs. */
    double low, high;
    bool is_exact;      /* all values are exact */
    const char *reason; /* why the figure is unknown; NULL: it is known */
};

struct figure_change {
    struct set_figure a, b;
    enum verdict verdict;
    bool is_range;                       /* the verdict is based on the usual range */
    double ratio, ratio_low, ratio_high; /* b / a; NaN: unknown */
    double p;                            /* p-value of the rank test; NaN: not tested */
    /* How the verdict was reached, or why there is none: a phrase; never NULL. */
    const char *note;
};

/* The minimum number of runs for a usual range. */
enum { COMPARE_RANGE_MIN = 6 };

/* Compares a figure between two groups. Fails with -ENOMEM. */
int runs_compare(const struct run_group *a, const struct run_group *b,
                 const struct run_figure *figure, struct figure_change *ret);

/* Writes "different machines: X, Y" if the runs were made on different kinds of machines.
 * Otherwise writes nothing. */
void runs_describe_machines(const struct run_groups *groups, struct buffer *out);

#endif
