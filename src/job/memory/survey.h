/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.h - reads the memory of all processes, one after the other, while they keep running.
 *
 * Memory that changes meanwhile makes the parts inconsistent; a survey records how much.
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

/* The result of reading all processes. */
struct survey {
    size_t count;
    uint64_t rss_bytes;
    bool has_copies;       /* a process shares inherited pages copy-on-write */
    uint64_t gained_bytes; /* growth meanwhile, including possible copies on write */
    uint64_t moved_bytes;  /* change of sizes meanwhile */
    bool has_ended;        /* a process exited meanwhile */
    bool is_racy;          /* has_ended, or sizes changed too much: the parts do not add up */
    bool is_denied;        /* a process of another user could not be read */
};

/* Reads each member that has its own memory into `views`, which has room for all of them, and
 * records in each member what was read. */
struct survey survey_take(struct memory_view *views, const struct root *root,
                          struct members *members, pid_t main_pid);

/* Reads the sizes again: a process that has exited since then shared its pages with others that
 * were read without it, and the statm of a zombie is all zeros. Later estimates start from what
 * was read of each of the others. */
void survey_look_again(struct survey *survey, const struct root *root, struct members *members);

/* Subtracts what the estimate may have counted twice. */
void survey_discount(const struct survey *survey, const struct memory_view *views,
                     struct memory_estimate *estimate);

#endif
