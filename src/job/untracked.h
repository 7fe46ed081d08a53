/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untracked.h - programs whose work is done by a daemon: its processes are not descendants of
 * the job, and their usage is not in its figures.
 */
#ifndef JOB_UNTRACKED_H
#define JOB_UNTRACKED_H

#include <stddef.h>

struct untracked {
    const char *name; /* name of the program, as in /proc/PID/comm */
    const char *message;
};

extern const struct untracked untracked_programs[];
extern const size_t untracked_count; /* at most 32 */

/* Returns the bit of that program (1 << its index); 0: it does its own work. */
unsigned untracked_bit(const char *name);

#endif
