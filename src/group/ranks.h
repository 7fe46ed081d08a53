/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - the ranks of a group while they are merged: which ones count, where and when
 * they ran. Internal to group/. */
#pragma once

#include "group/merge.h"
#include "record/launch.h"

/* ---- the curves of several ranks on one clock: their sums at every moment (sweep.c) ----
 *
 * The sums change whenever a point of any curve ends, so ranks that ran one after the other
 * are never added. */

/* The curve of one rank. */
struct rank_curve {
    double start; /* seconds since the start of the group */
    const struct record_curve *curve;
    const struct curve_column *columns[GROUP_COLUMNS]; /* NULL: unknown */
    struct curve_value now;                            /* used by run() in sweep.c */
};

struct sweep_event;

struct sweep {
    struct rank_curve **curves; /* borrowed */
    struct sweep_event *events;
    size_t count;
};

/* Prepares the sums of the curves. Returns 0 or -ENOMEM. The caller must call sweep_done(). */
int sweep_init(struct sweep *sweep, struct rank_curve **curves, size_t count);
void sweep_done(struct sweep *sweep);

/* Returns the largest sums at one moment: of the highest, lowest and mean values. NaN: no
 * rank has the column. */
struct curve_value sweep_peak(const struct sweep *sweep, size_t column);

/* Divides `seconds` into `cells` equal parts, and computes the sums in each. */
void sweep_fill(const struct sweep *sweep, size_t column, double seconds, size_t cells,
                struct curve_column *ret);

/* ---- the ranks ---- */

struct node;

/* The begin or the end of one attempt to run a rank. */
struct group_rank {
    struct record record;        /* owned; without figures: a begin */
    const struct launch *launch; /* launch of the record; not NULL */
    struct rank_curve curve;
    const struct node *of_node;
    bool counts_gpus; /* false if other ranks count its GPUs */
};

struct node {
    const char *host;
    uint64_t index;
    struct group_rank **ranks; /* sorted by rank; ranks with an end come first */
    size_t count, ended;
    struct sweep sweep;
    struct spoor_figure memory;
};

struct merge {
    struct group *group;
    struct record *ret;
    struct record_group *section;
    struct record scratch;     /* owns the arrays of this struct */
    struct group_rank **ranks; /* the ranks that count, sorted; with or without an end */
    struct group_rank **ended; /* the ranks among them that have an end */
    size_t count, ended_count;
    uint64_t size;              /* number of ranks of the job */
    double started_at, seconds; /* start of the first rank; time until the last one ended */
    struct node *nodes;         /* sorted by index, then by name */
    size_t node_count, deciding;
    struct sweep sweep;  /* curves of all ranks */
    const char *missing; /* why no figure is exact; NULL: every rank has an end */
    size_t repeated, other_jobs, out_of_range;
};

/* Selects the ranks that count, and divides them into nodes. -ENOMEM. */
int merge_select(struct merge *merge);

/* Merges the figures of the ranks by the rules of the table of figures (figures.c). -ENOMEM. */
int merge_figures(struct merge *merge);

/* Compare two texts; NULL counts as empty. */
int compare_texts(const char *a, const char *b);
bool is_same_text(const char *a, const char *b);
