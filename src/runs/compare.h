/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - decides whether two sets of runs differ in a figure. Does no I/O.
 *
 * Two single runs differ if their bounds do not overlap. One run differs from many if it is
 * outside their usual range. Two sets of many runs differ if a rank test finds a difference at
 * the 5 % level.
 */
#pragma once

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

/* ---- checks against limits: values, or the usual range of earlier runs (check.c) -----
 *
 * A run may always use less. A limit on an unknown figure counts as broken: it cannot be checked.
 */

struct run_limit {
    struct run_figure figure;
    double max;
};

/* Parses "memory=2GiB". -EINVAL with a message. */
int run_limit_parse(const char *text, struct run_limit *ret, struct spoor_error *err);

/* Calls broken(data, run, line) for each broken limit of a NULL-terminated list; a line is
 * "memory: 2.5 GB is more than 2.15 GB". `limits` may be NULL. -EINVAL: an entry is not a
 * limit. */
int run_limits_check(const char *const *limits, const struct record *run,
                     void (*broken)(void *data, const struct record *run, const char *line),
                     void *data, struct spoor_error *err);

enum { BASELINE_RUNS = 20 };

/* Finds the last runs of a set before `run` that are comparable: successful, and on the same
 * kind of machine. The group has no label; baseline_done() frees it. */
int baseline_find(const struct run_set *set, const struct record *run, struct run_group *ret);
void baseline_done(struct run_group *baseline);

/* Checks whether a figure of a run is above the usual range of the baseline, and above its
 * median by more than `tolerance` (0.1: 10 %). Returns 1 if it is, with a line in *out; 0 if
 * it is not, or if the figure is unknown in the run or the whole baseline; -ENODATA: the
 * baseline has too few runs and there is no tolerance, so the figure was not checked. */
int baseline_check(const struct run_group *baseline, const struct run_figure *figure,
                   const struct record *run, double tolerance, struct buffer *out);
