/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rss_delta.h - changes of resident sizes since memory was last read, and how they change the
 * figures. Reads no files.
 *
 * Resident sizes do not show sharing, but two facts hold. Anonymous memory that a process gains
 * is new and private. A group has at least the files and shared memory of its largest member;
 * memory that the others gain is most often the same pages, which a forked child maps one by
 * one as it touches them. So the figures may lag behind until the next read, but hardly ever
 * run ahead: a peak that is too high would stay.
 */
#ifndef JOB_MEMORY_RSS_DELTA_H
#define JOB_MEMORY_RSS_DELTA_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/memory/shared_memory.h"
#include "job/roster.h"

/* Values of a group of processes, in bytes. */
struct rss_delta {
    size_t count;      /* processes with memory */
    size_t copy_count; /* copies of their parents among them, not read yet */
    uint64_t rss, rss_max;
    uint64_t own;                /* anonymous; for copies of a parent only later growth */
    uint64_t mapped, mapped_max; /* files and shared memory */
    uint64_t grown;              /* growth of `own` since the last read */
    uint64_t shrunk;             /* decrease that no other process can hold */
    uint64_t fallen;             /* decrease, whether others hold it or not */
    uint64_t faults;             /* pages faulted in: a copy on write changes no size */
    uint64_t copies;             /* faults of forks that may have copied shared pages */
};

struct rss_deltas {
    struct rss_delta of[GROUP_COUNT];
};

struct rss_deltas rss_deltas_measure(const struct root *root, const struct roster *roster);

/* Applies the changes since a read to its estimate. `left_bytes` were private to processes that
 * have exited. */
void rss_deltas_apply(const struct rss_deltas *deltas, uint64_t left_bytes,
                      struct memory_estimate *estimate);

/* Makes an estimate if memory was never read: private, shared and PSS are UNKNOWN. */
void rss_deltas_estimate(const struct rss_deltas *deltas, struct memory_estimate *ret);

#endif
