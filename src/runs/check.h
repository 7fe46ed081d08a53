/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - limits that a run must keep: values, or the usual range of earlier runs (pure).
 *
 * Only an excess breaks a limit: a run may always use less. A limit on an unknown figure is
 * broken too: it could not be checked.
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

/* Calls broken(data, run, line) for each broken limit of a NULL-terminated list, such as with "memory: 2.5 GB is more
 * than 2.15 GB". `limits` may be NULL. -EINVAL: an entry is not a limit. */
int run_limits_check(const char *const *limits, const struct record *run,
                     void (*broken)(void *data, const struct record *run, const char *line),
                     void *data, struct spoor_error *err);

enum { BASELINE_RUNS = 20 };

/* Finds the last comparable runs of a set before `run`: successful runs on the same kind of machine. Their group has no
 * label; baseline_done() frees it. */
int baseline_find(const struct run_set *set, const struct record *run, struct run_group *ret);
void baseline_done(struct run_group *baseline);

/* Checks whether a figure of a run is above the usual range of the baseline, and by more
 * than `tolerance` of its median (0.1: 10 %). Returns 1 if it is, with a line in *out; 0 if
 * it is not, or is unknown; -ENODATA: the baseline has too few runs and there is no
 * tolerance, so nothing could be checked; -ENOMEM. */
int baseline_check(const struct run_group *baseline, const struct run_figure *figure,
                   const struct record *run, double tolerance, struct buffer *out);

#endif
