/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h - the ranks of a group while they are merged: which count, on which node, and when. Internal to group/. */
#ifndef GROUP_RANKS_H
#define GROUP_RANKS_H

#include "group/merge.h"
#include "record/launch.h"

/* ---- the curves of several ranks on one clock: their sums at every moment (sweep.c) ----
 *
 * The sums change where a point of a rank ends, so that ranks which ran one after the other never add up. */

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

/* ---- the ranks ---- */

struct node;

/* The begin of a rank, or its end: one attempt to run it. */
struct group_rank {
    struct record record;        /* owned; without figures: a begin */
    const struct launch *launch; /* of the record, or unknown */
    struct rank_curve curve;
    const struct node *of_node;
    bool counts_gpus; /* false if its GPUs count with another rank */
};

struct node {
    const char *host;
    uint64_t index;
    struct group_rank **ranks; /* by rank; those that have an end come first */
    size_t count, ended;
    struct sweep sweep;
    struct spoor_figure memory;
};

struct merge {
    struct group *group;
    struct record *ret;
    struct record_group *section;
    struct record scratch;     /* owns the arrays of this struct */
    struct group_rank **ranks; /* the ranks that count, by rank; with or without an end */
    struct group_rank **ended; /* the ranks among them that have an end */
    size_t count, ended_count;
    uint64_t size;              /* ranks of the job */
    double started_at, seconds; /* start of the first rank; time until the last one ended */
    struct node *nodes;         /* by index, then by name */
    size_t node_count, deciding;
    struct sweep sweep;  /* curves of all ranks */
    const char *missing; /* why no figure is exact; NULL: every rank has an end */
    size_t repeated, other_jobs, out_of_range;
};

/* Selects the ranks that count, and divides them into nodes. -ENOMEM. */
int merge_select(struct merge *merge);

/* Merges the figures of the ranks, by the rules of the table of figures (figures.c). -ENOMEM. */
int merge_figures(struct merge *merge);

/* Order of two texts, for qsort(); NULL is empty. */
int compare_texts(const char *a, const char *b);
bool is_same_text(const char *a, const char *b);

#endif
