/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure.h - the one table of figures in the report of a run or phase.
 *
 * A figure is a number derived from a metric's tally, with its source, whether it is exact, and
 * the bounds of a sampled peak. Rows are in the order of the JSON report; a path such as
 * "memory.main.total_rss_bytes" is the place of a figure in it.
 */
#pragma once

#include <stddef.h>

#include "sample/metric.h"
#include "series/summary.h"
#include "spoor/spoor.h"

/* How to merge the figures of the ranks of a job into one (group/merge.c). */
enum figure_merge {
    FIGURE_ADD, /* the sum over ranks */
    /* The sum of the means, each weighted by the share of the time in which its rank ran. */
    FIGURE_MEAN,
    FIGURE_ALIGN,     /* a peak: the largest sum at one moment, at most the sum of all peaks */
    FIGURE_PER_NODE,  /* as FIGURE_ALIGN within each node; the largest node counts */
    FIGURE_HOST,      /* a figure of the machine: one rank per node, summed over nodes */
    FIGURE_HOST_PEAK, /* a figure of the machine: the largest value */
    FIGURE_GPUS,      /* a figure of GPUs: each GPU counts once, however many ranks used it */
    FIGURE_NO_MERGE,  /* a value of one moment of one rank */
};

size_t figure_count(void);
const char *figure_path(size_t index);

/* The metric of a figure (METRIC_NONE: not measured yet) and its derivation in a few words,
 * for the documentation. */
enum metric figure_metric(size_t index);
const char *figure_derivation(size_t index);
enum figure_merge figure_merge(size_t index);

/* Returns the figure of a row, from the tallies of a run or phase. */
struct spoor_figure figure_get(size_t index, const struct summary *summary);

/* Returns the mean increase of a counter per second over the run, as a figure. */
struct spoor_figure figure_mean_rate(enum metric metric, const struct summary *summary);

/* Returns the index of a path, or -ENOENT. */
ssize_t figure_index(const char *path);
