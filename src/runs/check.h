/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - checks a run against limits: values, or the usual range of earlier runs. Does no
 * I/O.
 *
 * A run may always use less. A limit on an unknown figure counts as broken, because it cannot
 * be checked.
 */
#ifndef RUNS_CHECK_H
#define RUNS_CHECK_H

#include "record/run_figure.h"
#include "runs/run_set.h"

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

#endif
