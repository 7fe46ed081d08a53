/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - merges the records of the ranks of a job into one. Does no I/O; the order of the
 * records does not matter.
 *
 * CPU time, I/O and the like add up; the rule of each figure is in the column `merge` of the
 * table of figures (series/figure.h). The memory of a job is the memory of its largest node,
 * since limits apply per node: at least the largest sum over its ranks at one moment, at most
 * the sum of their peaks. A figure of the machine counts once per node, a GPU once per UUID.
 *
 * If a rank ran more than once, its last attempt counts. If a folder has several jobs, the job
 * that began last counts.
 */
#pragma once

#include "record/group.h"

struct group_rank;

/* The data of the ranks that merging needs. Initialize with group_init(): a zeroed struct is
 * not valid. */
struct group {
    struct record store;      /* owns the memory of begins and notes */
    struct group_rank *ranks; /* begins and ends, in the order of their lines */
    size_t count, room;
    struct record_warning notes[16]; /* lines that were skipped */
    size_t note_count, skipped;
};

void group_init(struct group *group);
void group_done(struct group *group);

/* Adds the begin of a rank (a record without figures) or its report, and takes ownership of
 * the record, even on failure. -EBADMSG: the record cannot be part of a group. */
int group_add(struct group *group, struct record *record, struct spoor_error *err);

/* Records a line that is skipped, for a warning in the report. */
void group_skip(struct group *group, const char *file, size_t line, const char *reason);

/* Merges all records. -ENODATA: there are none. On success the caller calls record_done(). */
int group_merge(struct group *group, struct record *ret, struct spoor_error *err);
