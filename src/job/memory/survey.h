/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - reads the memory of all processes, one after the other, while they keep running.
 *
 * Memory that changes during the reads makes the parts inconsistent; a survey records how much.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "job/member.h"
#include "job/memory/shared_memory.h"
#include "job/roster.h"

/* Forks of one process with similar sizes and page faults. Some of them, spread evenly, are
 * walked; each of the others is assumed to be like the last walked one before it. */
enum { SURVEY_KINDS = 8, SURVEY_MODELS = 16 };

struct survey_kind {
    const struct member *first;
    size_t count, planned_count;
    const struct memory_view *model; /* view of the process walked last; NULL: none yet */
};

struct survey {
    /* set by survey_plan() */
    struct survey_kind kinds[SURVEY_KINDS];
    size_t kind_count;
    bool has_copies;     /* a process shares inherited pages copy-on-write */
    size_t walk_count;   /* processes whose page tables are to be walked */
    uint64_t walk_bytes; /* their resident memory */

    size_t count;           /* number of views */
    uint64_t guessed_bytes; /* private memory of processes assumed to be like others */
    uint64_t gained_bytes;  /* growth during the survey, including possible copies on write */
    bool has_ended;         /* a process exited during the survey */
    bool is_racy;   /* has_ended, or sizes changed too much: the parts are inconsistent */
    bool is_denied; /* a process of another user could not be read */
};

/* Decides whose page tables to walk: all, or only where sizes do not suffice. `page_ns`: the
 * cost of a page. */
struct survey survey_plan(struct roster *roster, bool walks_all, double page_ns);

/* Assumed cost of a page before the first walk was measured. */
#define SURVEY_PAGE_NS 16.0

/* survey_cost_ns() returns the expected CPU time of the planned walks; survey_learn() returns
 * the new cost of a page after walks that took `spent_ns`. */
uint64_t survey_cost_ns(const struct survey *survey, double page_ns);
double survey_learn(const struct survey *survey, double page_ns, uint64_t spent_ns);

/* Reads each member that has its own memory into `views`, which has room for all of them,
 * and records the result in each member. Small processes may be estimated from their sizes. */
void survey_take(struct survey *survey, const struct root *root, struct roster *roster,
                 struct memory_view *views);

/* Reads the sizes again, to detect growth and exits: if a process exited during the reads,
 * others that shared pages with it were read without it. (The statm of a zombie is all zeros.)
 * Later estimates start from these results. */
void survey_look_again(struct survey *survey, const struct root *root, struct roster *roster);
