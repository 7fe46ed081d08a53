/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.h - the results of several sessions side by side.
 *
 * Blocks are matched in the order of their names; line numbers after the last colon are
 * compared as numbers.
 */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_COMPARISON_H
#define COMPAT_GPU_TRACKER_SUBTRACK_COMPARISON_H

#include <stdbool.h>

#include "compat/gpu_tracker/report.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "spoor/spoor.h"

struct compared {
    const char *name;       /* of the session; borrowed */
    const char *path;       /* of its results; borrowed */
    struct results results; /* owned */
};

/* A message for the user: a warning, or why the sessions cannot be compared. It names blocks
 * and sessions, so it may be longer than a struct spoor_error. */
typedef void comparison_say(void *data, bool is_error, const char *message);

/* Sorts the blocks of each session and matches them. 0; or -EINVAL after `say` was given the
 * reason. Names that differ in the line number cause a warning. There is at least one session. */
int comparison_match(struct compared *sessions, size_t count, comparison_say *say, void *data);

/* -EINVAL: no statistic has that name. */
int comparison_statistic(const char *name, enum statistic *ret, struct spoor_error *err);

/* Writes sessions that match, those with smaller figures first. 0 or -ENOMEM. Nothing follows the last
 * line of JSON. */
int comparison_write(const struct compared *sessions, size_t count, enum statistic statistic,
                     enum gpu_tracker_format format, struct buffer *out);

#endif
