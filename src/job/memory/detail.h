/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detail.h - private and shared memory of the job: when it is read, and what is
 * said in between.
 *
 * smaps_rollup costs the job 6-8 ms per GiB, so it is read when memory has moved
 * and never for more than a third of a percent of the time (tokens). Between two reads the values
 * follow the resident sizes, which are read at every sample and more often.
 *
 * A read that can show a new maximum goes first: others leave the time for one.
 */
#ifndef JOB_MEMORY_DETAIL_H
#define JOB_MEMORY_DETAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/members.h"
#include "job/memory/movement.h"
#include "job/memory/shared_memory.h"
#include "job/memory/sharing.h"
#include "job/memory/walk_cost.h"
#include "spoor/spoor.h"

/* How far the values had run ahead when a read showed them, in bytes: maxima that were
 * taken from detail_follow() since the read before are likely too high by this much. All 0
 * where the last update did not read. */
struct detail_excess {
    uint64_t main_total, descendants_total, combined_total;
    uint64_t combined_private;
    uint64_t pss;
};

struct detail {
    enum spoor_detail mode;
    const struct root *root;   /* borrowed */
    struct memory_view *views; /* reused; owned */
    size_t view_capacity;
    int64_t tokens_ns;          /* time that may be spent reading; below 0: too much was */
    uint64_t refilled_ns;       /* when tokens were last added; 0: never */
    struct walk_cost walk_cost; /* of a read, as measured */
    uint64_t reads;             /* how often detail was read */
    bool has_estimate;
    bool is_denied;         /* some process could not be read: private and shared are unknown */
    bool is_unsettled;      /* the last read was not affordable to its end */
    bool is_pending;        /* more is to be read, when there is time */
    bool was_racy;          /* sizes changed during the last read: it shows the least */
    bool members_changed;   /* since the last read; set by the job */
    bool job_rests;         /* set by the job: a read keeps nobody waiting */
    size_t borrowers_count; /* members without memory of their own, at the last update */
    uint64_t unread_bytes;  /* by which sizes changed during the last read */
    uint64_t
        wanted_at_bytes;    /* all resident sizes when a read for a peak was last thought of */
    size_t wanted_at_count; /* and how many had memory */
    unsigned still_looks;   /* since then, at which these had not moved */
    uint64_t left_private_bytes;     /* of members that left since the last read */
    struct memory_estimate estimate; /* of the last read */
    struct memory_estimate highest;  /* totals and private memory of all reads */
    struct movement_bases bases;     /* of the last read */
    struct detail_excess excess;     /* of the last update */
    struct sharing sharing;
};

/* `uses_smaps` and `uses_scan`: the second and third levels of looking (sharing.h). */
void detail_init(struct detail *detail, const struct root *root, enum spoor_detail mode,
                 bool uses_smaps, bool uses_scan);
void detail_done(struct detail *detail);

/* The job's memory now. `main_pid` is 0 while the job's program is not loaded or has
 * ended. Where detail is not read, private, shared and PSS are UNKNOWN. */
void detail_update(struct detail *detail, struct members *members, pid_t main_pid,
                   uint64_t now_ns, struct memory_estimate *ret);

/* The same from the members' resident sizes alone: nothing is read. Cheap enough for every
 * look between two samples. */
void detail_follow(const struct detail *detail, struct members *members, pid_t main_pid,
                   struct memory_estimate *ret);

/* May the job have more now than all reads so far have shown, by an eighth (twice as much while it
 * still grows), and is there time to find out? Then the caller calls detail_update() at this very moment, which reads.
 * `followed` is what detail_follow() has just said. */
bool detail_is_wanted_for_peak(struct detail *detail, struct members *members, pid_t main_pid,
                               uint64_t now_ns, const struct memory_estimate *followed);

/* A member is about to be removed from the table. */
void detail_member_left(struct detail *detail, const struct member *member);

#endif
