/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rss_delta.h - how resident sizes have changed since memory was last read, and what becomes of the
 * figures that were read. Nothing is read here.
 *
 * Resident sizes do not show what is shared, but two things hold. Anonymous memory that a process gains
 * is new, and its own. Of files and shared memory a group has at least what its largest member has; what
 * the others gain is most often the same pages, which a forked child maps one by one as it touches them.
 * So the figures may lag behind until the next read, but hardly ever run ahead: a peak that is too high
 * would stay.
 */
#ifndef JOB_MEMORY_RSS_DELTA_H
#define JOB_MEMORY_RSS_DELTA_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/memory/shared_memory.h"
#include "job/roster.h"

/* Of a group of processes, in bytes. */
struct rss_delta {
    size_t count;      /* of processes with memory */
    size_t copy_count; /* of them copies of their parents that were not read yet */
    uint64_t rss, rss_max;
    uint64_t own;                /* anonymous; of copies of a parent only what came since */
    uint64_t mapped, mapped_max; /* of files and shared memory */
    uint64_t grown;              /* of `own`, since the last read */
    uint64_t shrunk;             /* likewise, and certainly held by no other process */
    uint64_t fallen;             /* likewise, whether others hold it or not */
    uint64_t faults;             /* pages faulted in: a copy on write changes no size */
    uint64_t copies;             /* the faults of forks that may have copied shared pages */
};

struct rss_deltas {
    struct rss_delta job, main, descendants;
};

struct rss_deltas rss_deltas_measure(const struct root *root, const struct roster *roster,
                                     pid_t main_pid);

/* A group when its memory was read. */
struct rss_base {
    uint64_t mapped, mapped_max;
    uint64_t discount; /* how far the total was below the largest resident size of the same
                        * read, and so may be now: pages that are mapped twice or merged */
};

struct rss_bases {
    struct rss_base job, main, descendants;
};

/* `largest` is the largest resident size of a process, as that read found it. */
struct rss_bases rss_bases_take(const struct rss_deltas *deltas,
                                const struct memory_estimate *estimate,
                                const struct group_bytes *largest);

/* Applies the changes since `bases` to the estimate that was read then. `left_bytes` were private
 * to processes that have exited. */
void rss_deltas_apply(const struct rss_deltas *deltas, const struct rss_bases *bases,
                      uint64_t left_bytes, struct memory_estimate *estimate);

/* An estimate if memory was never read: private, shared and PSS are UNKNOWN. */
void rss_deltas_estimate(const struct rss_deltas *deltas, struct memory_estimate *ret);

#endif
