/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.h - the table of the job's processes, found by pid.
 *
 * Parents stand before their children, as they were found. That order matters: a
 * tick that reads a child after its parent can miss what moved from one to the
 * other (and finds it next time), but never counts it twice.
 */
#ifndef JOB_MEMBERS_H
#define JOB_MEMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/member.h"

enum { MEMBERS_MAX = 1 << 18 };

/* Zeroed is empty. */
struct members {
    struct member *list; /* owned */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* open addressing: 0 free, else index + 1; owned */
    size_t slot_count; /* a power of two, at least twice the capacity */
    uint64_t changes;  /* how often some came or went */
};

void members_done(struct members *members);

/* The member with that pid, or NULL. Valid until one is added or removed. */
struct member *members_find(struct members *members, pid_t pid);

/* Takes over *member. Returns it in the table, or NULL (no memory, or too many), and
 * then the caller keeps it. */
struct member *members_add(struct members *members, const struct member *member);

/* Closes and removes those that have left; the others keep their order. */
void members_remove_left(struct members *members);

#endif
