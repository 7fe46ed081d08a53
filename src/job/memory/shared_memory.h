/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_memory.h - memory of several processes, shared pages counted once.
 *
 * Pure: per-process sums in, totals out. For a group of processes
 *
 *   total    the pages that at least one of them has mapped, each counted once
 *   private  those that one process of the whole machine has mapped alone
 *   shared   total - private
 *
 * private is exact. total is exact if every process that maps a page belongs to the job, and too
 * low if processes map different parts of a file that outsiders map too. Derivation, errors and
 * costs: docs/MEASURING.md.
 */
#ifndef JOB_MEMORY_SHARED_MEMORY_H
#define JOB_MEMORY_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/unknown.h"

/* One process, in bytes. Of pages of equal content that the kernel merged (KSM) thousands
 * of addresses may be one page: they count by their part in pss alone. */
struct memory_view {
    pid_t pid;
    bool is_main;
    uint64_t resident; /* as the kernel counts it, merged pages by their addresses */
    uint64_t rss;
    uint64_t pss;
    uint64_t pss_file;      /* the part of pss that files back, shared memory apart */
    uint64_t private_total; /* pages no other process maps */
    uint64_t private_dirty;
    uint64_t shared_total; /* pages other processes map too */
    uint64_t file;         /* the part of rss that files back, shared memory apart */
    uint64_t mapped;       /* the part of rss that files or shared memory back */
};

struct memory_split {
    uint64_t total_bytes;
    uint64_t private_bytes;
    uint64_t shared_bytes;
};

#define MEMORY_SPLIT_UNKNOWN      \
    {                             \
        UNKNOWN, UNKNOWN, UNKNOWN \
    }

/* Keeps the split of the higher total, the later of equal ones. One with its parts stands above one
 * without. */
void memory_split_keep_higher(struct memory_split *kept, const struct memory_split *seen);

/* Raises each part to the one that was seen. */
void memory_split_raise(struct memory_split *highest, const struct memory_split *seen);

/* One figure of three groups of processes. */
struct group_bytes {
    uint64_t main, descendants, combined;
};

struct memory_estimate {
    struct memory_split main, descendants, combined;
    uint64_t pss_bytes;
    /* What one process may map twice, at most: it shares these pages, and not with the job; an outsider
     * may map them too. */
    struct group_bytes doubled;
    struct group_bytes mapped_max; /* the largest that one process had mapped then */
};

/* `is_racy`: processes came or went while the views were taken. Then only the bound that does not add
 * up parts of different instants is used. `gained_bytes` came meanwhile, and may be counted twice. */
void shared_memory_estimate(const struct memory_view *views, size_t count, bool is_racy,
                            uint64_t gained_bytes, struct memory_estimate *ret);

/* Makes peaks agree that were taken at different moments: private <= PSS <= total, and no part of
 * the job is larger than the job. Unknown figures stay unknown. */
void memory_estimate_order(struct memory_estimate *estimate);

/* The same for figures of one moment, where private and shared add up to the total. */
void memory_estimate_settle(struct memory_estimate *estimate);

/*
 * How much of its memory a process may map twice.
 *
 * Such pages count twice in its resident size and in the kernel's marks. They can only be among the pages
 * that it shares, and not with other processes of the job. A read shows how many these are, as long as
 * they are mapped: so a read of no less memory replaces what was found before.
 */

/* Zeroed: nothing is mapped. */
struct double_mapping {
    uint64_t mapped_bytes; /* files and shared memory */
    uint64_t doubled_bytes;
};

/* A read has found that of `mapped_bytes` so much may be mapped twice. */
void double_mapping_read(struct double_mapping *mapping, uint64_t mapped_bytes,
                         uint64_t doubled_bytes);

/* The process has so much mapped now, as its size tells: what is new may be anything. */
void double_mapping_seen(struct double_mapping *mapping, uint64_t mapped_bytes);

/* What may be mapped twice; 0 if libraries that the rest of the machine maps too explain it. */
uint64_t double_mapping_bytes(const struct double_mapping *mapping);

#endif
