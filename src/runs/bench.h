/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - the plan of a bench (which commands are run, and in which order) and the summary of
 * its runs. Does no I/O.
 */
#pragma once

#include "output/format.h"
#include "runs/run_set.h"
#include "text/text_list.h"

/* ---- commands ----------------------------------------------------------- */

/* Owns all its members. */
struct bench_command {
    struct text_list words;
    char *name;            /* NULL: use the command as the name */
    char *prepare;         /* shell command to run before; NULL: none */
    struct text_list tags; /* "NAME=value" of each parameter */
    /* The name, or the command in shell quoting; runs are grouped by it. */
    char *label;
};

/* A zeroed struct is empty. */
struct bench_plan {
    struct bench_command *items;
    size_t count;
};

/* The arguments of the user. Lists are NULL-terminated; NULL: not given. */
struct bench_request {
    char **words;      /* commands separated by "--vs" */
    char **names;      /* names of the commands, in the same order */
    char **parameters; /* "NAME=a,b,c": {NAME} in a command is replaced by each value */
    const char *prepare;
};

enum { BENCH_COMMANDS_MAX = 200, BENCH_RUNS_MAX = 4096 };

/* Checks that a parameter has the form "NAME=a,b,c". -EINVAL: it does not. */
int bench_check_parameter(const char *text, struct spoor_error *err);

/* Lists the commands: each once per combination of the values of its parameters; the last
 * parameter varies fastest. -EINVAL with a message, for example if two commands have the same
 * label; -ENOMEM. */
int bench_plan_make(const struct bench_request *request, struct bench_plan *ret,
                    struct spoor_error *err);
void bench_plan_done(struct bench_plan *plan);

/* Returns the command of a run. The commands take turns, so that a change on the machine
 * affects all of them alike. */
static inline const struct bench_command *bench_turn(const struct bench_plan *plan, size_t run)
{
    return &plan->items[run % plan->count];
}

/* ---- results ------------------------------------------------------------ */

/* One figure of one command. */
struct bench_cell {
    double *values; /* statistics.count values, sorted; owned */
    struct statistics statistics;
    struct comparison to_best; /* ratio to the best command */
};

/* A zeroed struct is empty. */
struct bench_summary {
    const struct run_set *set; /* borrowed */
    struct run_groups groups;  /* one for each command */
    bool counts_failed;        /* failed runs are part of the statistics */
    size_t *failed;            /* failed runs of each group; owned */
    size_t failed_count;       /* failed runs of all groups */
    struct bench_cell *cells;  /* RUN_FIGURES rows, one column per group; owned */
    size_t best
        [RUN_FIGURES]; /* the group with the lowest median; SIZE_MAX: the figure has no values */
    struct text_list warnings;
};

/* Groups the runs by their names. Failed runs count if `counts_failed`. -ENOMEM. */
int bench_summarize(const struct run_set *set, bool counts_failed, struct bench_summary *ret,
                    struct spoor_error *err);
void bench_summary_done(struct bench_summary *summary);

/* Writes the summary. Check the buffer for errors. HTML is not supported. */
void bench_write(const struct bench_summary *summary, enum spoor_format format,
                 const struct format_style *style, struct buffer *out);
