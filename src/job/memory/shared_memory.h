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
 * private is exact. total is exact if every process that maps a page belongs to the job, and
 * too low if processes map different parts of a file that outsiders map too. Derivation, errors
 * and costs: docs/INTERNALS.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/amount.h"
#include "base/measure.h"

/* The memory of one process, in bytes. Thousands of addresses may map one page that the kernel
 * merged (KSM): such pages count only with their PSS. */
struct memory_view {
    pid_t pid;
    enum member_group group;
    uint64_t resident; /* as the kernel counts it: merged pages once per address */
    uint64_t rss;
    uint64_t pss;
    uint64_t pss_file;      /* the part of pss backed by files, without shared memory */
    uint64_t private_total; /* pages mapped by no other process */
    uint64_t private_dirty;
    uint64_t shared_total; /* pages that other processes map too */
    uint64_t file;         /* the part of rss backed by files, without shared memory */
    uint64_t mapped;       /* the part of rss backed by files or shared memory */
    uint64_t shared_huge; /* huge pages of hugetlbfs that other processes map too; not in rss */
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

/* Keeps the split of the higher total, the later one if equal. A split with known parts is
 * preferred to one without. */
void memory_split_keep_higher(struct memory_split *kept, const struct memory_split *seen);

struct memory_estimate {
    struct memory_split of[GROUP_COUNT];
    uint64_t pss_bytes; /* of the job */
    /* Upper bound of the pages that one process may map twice: pages that the process shares,
     * but not with other processes of the job. They may instead be shared with an outsider. */
    uint64_t doubled[GROUP_COUNT];
    /* The largest mapped and resident sizes of one process at the time of the read. */
    uint64_t mapped_max[GROUP_COUNT], resident_max[GROUP_COUNT];
};

/* Raises each part to the new value. */
void memory_estimate_raise(struct memory_estimate *highest, const struct memory_estimate *seen);

/* Keeps only the totals. */
void memory_estimate_forget_parts(struct memory_estimate *estimate);

/* Returns by how much the total of a read is below the largest resident size, because pages are
 * mapped twice or merged. Later totals may be too high by the same amount. */
uint64_t memory_estimate_discount(const struct memory_estimate *estimate,
                                  enum member_group group);

/* Estimates the memory of the job. `is_racy`: processes exited or sizes changed much while the
 * views were read. Then only the bound that does not add up parts of different instants is
 * used. `gained_bytes`: growth during the reads, which may be counted twice. */
void shared_memory_estimate(const struct memory_view *views, size_t count, bool is_racy,
                            uint64_t gained_bytes, struct memory_estimate *ret);

/* Makes peaks of different moments consistent: private <= PSS <= total, and no part of the
 * job is larger than the job. Unknown figures stay unknown. */
void memory_estimate_order(struct memory_estimate *estimate);

/* Like memory_estimate_order(), for figures of one moment, when private and shared add up to
 * the total. */
void memory_estimate_reconcile(struct memory_estimate *estimate);

/*
 * Bounds the memory that a process may map twice.
 *
 * Such pages count twice in its resident size and in the kernel's peaks. They can only be among
 * the pages that the process shares, but not with other processes of the job. A read shows how
 * many such pages there may be while they are mapped, so a read that finds as much mapped
 * memory replaces earlier results.
 */

/* In a zeroed struct nothing is mapped. */
struct double_mapping {
    uint64_t mapped_bytes; /* files and shared memory */
    uint64_t doubled_bytes;
};

/* Called when a read has found that `doubled_bytes` of `mapped_bytes` may be mapped twice. */
void double_mapping_read(struct double_mapping *mapping, uint64_t mapped_bytes,
                         uint64_t doubled_bytes);

/* Called when the size of the process shows that it has `mapped_bytes` mapped: new mappings may
 * map pages twice. */
void double_mapping_seen(struct double_mapping *mapping, uint64_t mapped_bytes);

/* Returns the memory that may be mapped twice; 0 if it is so small that libraries, which other
 * programs map too, explain it. */
uint64_t double_mapping_bytes(const struct double_mapping *mapping);
