/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - the memory of all processes, read one after the other while they run on.
 *
 * What moves meanwhile makes the parts of different instants not add up: a survey knows how much.
 */
#ifndef JOB_MEMORY_SURVEY_H
#define JOB_MEMORY_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/members.h"
#include "job/memory/shared_memory.h"

/* What reading the processes one by one came to. */
struct survey {
    size_t count;
    uint64_t rss_bytes;
    bool has_copies; /* a process that shares what it inherited, until one of them writes */
    uint64_t gained_bytes; /* by which sizes grew meanwhile, or would have: copies on write */
    uint64_t moved_bytes;  /* by which they changed */
    bool has_ended;        /* a process, meanwhile */
    bool is_racy;          /* so, or sizes changed too much: the parts do not add up */
    bool is_denied;        /* a process of another user */
};

/* Reads each member that has memory of its own into `views`, which has room for all. Notes in
 * each what was read of it. */
struct survey survey_take(struct memory_view *views, const struct root *root,
                          struct members *members, pid_t main_pid);

/* Reads sizes again: a process that ended since shared its pages with others that were read
 * without it, and a zombie has a statm of zeros. The sizes of the others are those that values
 * follow from: what came during the read may be in it. */
void survey_look_again(struct survey *survey, const struct root *root, struct members *members);

/* Takes off what the estimate may have counted twice. */
void survey_discount(const struct survey *survey, const struct memory_view *views,
                     struct memory_estimate *estimate);

#endif
