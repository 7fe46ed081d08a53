/* SPDX-License-Identifier: Apache-2.0 */
/*
 * movement.h - how far the job's memory has moved since its detail was last read, and
 * what the last estimate becomes by it. Nothing is read.
 *
 * Resident sizes do not tell what is shared, but two things hold. Memory of no file that a
 * process gains is new, and its own. Of files and shared memory a group has at least what
 * its largest member has; what the others gain is most often the same pages, which a
 * forked child maps one by one as it touches them. So the estimate may lag behind until
 * the next read, but seldom runs ahead: a maximum that is too high would stay.
 */
#ifndef JOB_MEMORY_MOVEMENT_H
#define JOB_MEMORY_MOVEMENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/memory/shared_memory.h"
#include "job/roster.h"

/* Of a group of processes, in bytes. */
struct movement {
    size_t count;      /* of processes with memory */
    size_t copy_count; /* of them copies of their parents that were not read yet */
    uint64_t rss, rss_max;
    uint64_t own; /* of no file, and surely no other's: copies of a parent apart */
    uint64_t mapped, mapped_max; /* of files and shared memory */
    uint64_t grown;              /* of `own`, since the last read */
    uint64_t shrunk;             /* likewise, and surely held by nobody else */
    uint64_t fallen;             /* likewise, held by others or not */
    uint64_t faults;             /* pages faulted in: a copy on write moves no size */
};

struct movements {
    struct movement job, main, descendants;
};

struct movements movements_measure(const struct root *root, const struct roster *roster,
                                   pid_t main_pid);

/* What a group was when its detail was read. */
struct movement_base {
    uint64_t mapped, mapped_max;
    uint64_t discount; /* how far the total was below the largest resident size of the same
                        * read, and so may be now: pages that are mapped twice or merged */
};

struct movement_bases {
    struct movement_base job, main, descendants;
};

/* `largest` is the largest resident size of a process, as that read found it. */
struct movement_bases movements_base(const struct movements *movements,
                                     const struct memory_estimate *estimate,
                                     const struct group_bytes *largest);

/* Moves the estimate along that was read at `bases`. `left_bytes` went with processes that
 * ended. */
void movements_follow(const struct movements *movements, const struct movement_bases *bases,
                      uint64_t left_bytes, struct memory_estimate *estimate);

/* An estimate where detail was never read: private, shared and PSS are UNKNOWN. */
void movements_estimate(const struct movements *movements, struct memory_estimate *ret);

#endif
