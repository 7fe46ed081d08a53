/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detail.h - private and shared memory of the job: when it is read, and what is
 * said in between.
 *
 * smaps_rollup costs the job 6-8 ms per GiB, so it is read when memory has moved
 * and never for more than 1 % of the time (tokens). Between two reads the values
 * follow the resident sizes, which are read at every sample.
 */
#ifndef JOB_DETAIL_H
#define JOB_DETAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/members.h"
#include "job/shared_memory.h"
#include "spoor/spoor.h"

struct detail {
    enum spoor_detail mode;
    struct memory_view *views; /* reused; owned */
    size_t view_capacity;
    uint64_t tokens_ns;   /* time that may be spent reading */
    uint64_t refilled_ns; /* when tokens were last added; 0: never */
    uint64_t reads;       /* how often detail was read */
    bool has_estimate;
    bool is_denied;       /* some process could not be read: private and shared are unknown */
    bool members_changed; /* since the last read; set by the job */
    uint64_t left_private_bytes;     /* of members that left since the last read */
    struct memory_estimate estimate; /* of the last read */
};

void detail_init(struct detail *detail, enum spoor_detail mode);
void detail_done(struct detail *detail);

/* The job's memory now. `main_pid` is 0 while the job's program is not loaded or has
 * ended. Where detail is not read, private, shared and PSS are UNKNOWN. */
void detail_update(struct detail *detail, const struct root *root, struct members *members,
                   pid_t main_pid, uint64_t now_ns, struct memory_estimate *ret);

/* A member is about to be removed from the table. */
void detail_member_left(struct detail *detail, const struct member *member);

#endif
