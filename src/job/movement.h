/* SPDX-License-Identifier: Apache-2.0 */
/*
 * movement.h - how far the job's memory has moved since its detail was last read, and
 * what the last estimate becomes by it. Nothing is read.
 */
#ifndef JOB_MOVEMENT_H
#define JOB_MOVEMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/members.h"
#include "job/shared_memory.h"

/* Of a group of processes, in bytes. */
struct movement {
    uint64_t rss, rss_max;
    uint64_t own, shared_max; /* as statm splits rss: of no file, of files; the largest */
    uint64_t grown, shrunk;   /* since the last read */
    uint64_t faults;          /* pages faulted in since: a copy on write moves no size */
};

struct movements {
    struct movement job, main, descendants;
};

/* `root` tells apart who has no memory of its own; NULL: all are taken to have. */
struct movements movements_measure(const struct root *root, struct members *members,
                                   pid_t main_pid);

/* How much the last read was below what was resident, and so may be now: pages that are
 * mapped twice or merged. */
struct discounts {
    uint64_t job, main, descendants;
};

/* Moves an estimate along. `left_bytes` went with processes that ended. */
void movements_follow(const struct movements *movements, const struct discounts *discounts,
                      uint64_t left_bytes, struct memory_estimate *estimate);

/* An estimate where detail was never read: private, shared and PSS are UNKNOWN. */
void movements_estimate(const struct movements *movements, struct memory_estimate *ret);

#endif
