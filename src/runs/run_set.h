/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_set.h - a set of runs, loaded from any kind of storage, and its groups.
 *
 * All commands that read more than one run use this: report, recommend, bench, compare, check
 * and history.
 */
#pragma once

#include "record/load.h"
#include "record/record.h"
#include "record/run_figure.h"
#include "runs/statistics.h"

/* The runs of one selector. */
struct run_source {
    char *path;             /* owned; NULL: not a file */
    struct records records; /* owned */
    bool is_lossy; /* from samples or a tracking file, which contain more than the record */
};

/* A zeroed struct is empty. */
struct run_set {
    struct record *runs; /* the array is owned; its items belong to the sources */
    size_t count;
    struct run_source *sources; /* owned */
    size_t source_count;
};

/* Adds the runs of selectors:
 *
 *     FILE     reports (JSON, one after the other), samples, a tracking file of gpu-tracker, rows of a history, or a
 *              file of another program (history/import.h)
 *     FOLDER   all reports in it (*.json, *.jsonl), by name; not in folders below. The ranks of a group (group/folder.h)
 *              are one run
 *     -        standard input
 *     @FILTER  runs of the history (history/index.h): @last, @name=train,since=30d
 *     ID       a run of the history by the first digits of its ID, six at least
 *
 * A report and the samples of the same run become one run. Every message names the selector. */
int run_set_load(struct run_set *set, char **selectors, size_t count, struct spoor_error *err);

/* Returns whether a selector has the form of an ID. */
bool run_set_is_id(const char *selector);

void run_set_done(struct run_set *set);

/* Collects the known values of a figure in `ret`, which has room for one per run. Returns their
 * number. */
size_t run_values(const struct record *const *runs, size_t count,
                  const struct run_figure *figure, double *ret);

/* ---- groups ------------------------------------------------------------- */

/* Runs with a common property. */
struct run_group {
    char *label;                /* owned */
    const struct record **runs; /* in the order of the set; only the array is owned */
    size_t count;
};

struct run_groups {
    struct run_group *items; /* sorted by their first runs */
    size_t count;
};

/* Groups by "name" (the command, if a run has none), "command", "host", "machine" (CPU model
 * and GPUs) or "tag.KEY". A run without the property is in the group "". -EINVAL: there is
 * no such property; -ENOMEM. */
int run_groups_make(const struct run_set *set, const char *property, struct run_groups *ret,
                    struct spoor_error *err);
void run_groups_done(struct run_groups *groups);

/* Writes the value of a property of a run, with unsafe characters escaped. Returns 0, or
 * -EINVAL: no such property. */
int run_property(const struct record *record, const char *property, struct buffer *out,
                 struct spoor_error *err);
