/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_sharing.h - private and shared memory of the job: when it is read, and estimates in between.
 *
 * Reading smaps_rollup costs the job 6-8 ms per GiB, so memory is read when it has changed and
 * the budget allows it. Between two reads the figures follow the resident sizes, which are read
 * at every sample and more often. A read that may show a new peak has priority.
 *
 * With SPOOR_DETAIL_ALWAYS memory is read at every sample, with the mappings of all processes
 * (shared_files.h). docs/INTERNALS.md explains the model.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/activity.h"
#include "job/budget.h"
#include "job/memory/shared_files.h"
#include "job/memory/shared_memory.h"
#include "job/roster.h"
#include "spoor/spoor.h"

/* Values of a group of processes; sizes are in bytes. */
struct rss_delta {
    size_t count;      /* processes with memory */
    size_t copy_count; /* copies of their parents among them, not read yet */
    uint64_t rss, rss_max;
    uint64_t own;                /* anonymous; for copies of a parent only later growth */
    uint64_t mapped, mapped_max; /* files and shared memory */
    uint64_t grown;              /* growth of `own` since the last read */
    uint64_t shrunk;             /* decrease that no other process can hold */
    uint64_t fallen;             /* decrease, whether other processes hold it or not */
    uint64_t faults;             /* pages faulted in: a copy on write changes no size */
    uint64_t copies;             /* faults of forks that may have copied shared pages */
};

struct rss_deltas {
    struct rss_delta of[GROUP_COUNT];
};

/* Changes of resident sizes since memory was last read. Reads no files. */
struct rss_deltas rss_deltas_measure(const struct root *root, const struct roster *roster);

struct memory_sharing {
    enum spoor_detail mode;
    const struct root *root; /* borrowed */
    struct budget *budget;   /* borrowed */
    bool uses_smaps;
    struct memory_view *views; /* reused; owned */
    size_t view_capacity;
    struct memory_areas areas; /* reused */
    double page_ns;            /* measured cost of walking a page */
    uint64_t reads;            /* how often memory was read */
    bool is_denied; /* some process could not be read: private and shared are unknown */
    bool has_too_many_areas; /* too many mappings to examine */
    bool is_pending;         /* a read is due, but the budget does not allow it yet */
    bool was_racy;        /* sizes changed during the last read: its result is a lower bound */
    bool members_changed; /* members joined or left since the last read; set by the job */
    bool is_on_credit;    /* the read that was just decided on is made on credit */
    bool was_read;        /* memory was read at the last update */
    uint64_t guessed_bytes;       /* guess of the last read, see struct survey */
    enum activity_state activity; /* set by the job */
    uint64_t left_private_bytes; /* private memory of members that exited since the last read */
    /* Memory copied on write since the last read, according to the machine's memory; set by the
     * job. */
    uint64_t copied_bytes;
    /* The highest total since the last read or sample, including copied pages. */
    uint64_t expected_bytes;
    uint64_t expected_count;     /* processes at that moment */
    uint64_t expected_rss_bytes; /* sum of resident sizes at that moment */
    uint64_t unread_peak_bytes;  /* the most expected_bytes since the last sample; 0: none */
    struct memory_estimate estimate; /* estimate of the last read */
    struct memory_estimate highest;  /* highest totals and private memory of all reads */
    struct rss_deltas base;          /* sizes after the last read */
    struct rss_deltas delta;         /* changes since `base`, as of the last update */
};

/* Initializes the struct. `uses_smaps`: whether the mappings may be read. */
void memory_sharing_init(struct memory_sharing *sharing, const struct root *root,
                         struct budget *budget, enum spoor_detail mode, bool uses_smaps);
void memory_sharing_done(struct memory_sharing *sharing);

/* Computes the job's current memory. If memory was never read, private, shared and PSS are UNKNOWN.
 * `is_glance`: between samples, when memory is seldom read. */
void memory_sharing_update(struct memory_sharing *sharing, struct roster *roster,
                           bool is_glance, struct memory_estimate *ret);

/* Called when a member is about to be removed from the table. */
void memory_sharing_member_left(struct memory_sharing *sharing, const struct member *member);
