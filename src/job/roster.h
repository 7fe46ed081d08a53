/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.h - the processes of the job, found by pid.
 *
 * A process is added when it is forked, or found by a search. It costs a few words until it is
 * opened (member.h), if it lives long enough for that, and is removed when neither its files nor an
 * exit record are waited for.
 *
 * In the list of open ones parents come before their children. That order matters: a look that reads
 * a child after its parent can miss what moved from one to the other (and finds it next time), but
 * never counts it twice.
 */
#ifndef JOB_ROSTER_H
#define JOB_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/member.h"

enum { ROSTER_MAX = 1 << 18 };

struct process {
    pid_t pid; /* 0: this slot is free */
    uint32_t
        member; /* 1 + its place in the list of open ones; 0: it is not open. If the pid is used
                      * again, the earlier process stays in the list until it is found to have left */

    /* By its events; see process_events.h. */
    uint32_t threads : 25;     /* that live; 0: it has ended, or there are no events */
    uint32_t is_foreign : 1;   /* it does not belong to the job; only its end is waited for */
    uint32_t is_recording : 1; /* it has ended, and exit records of it may still come */
    uint32_t is_borrower : 1;  /* it may have had no memory of its own; see lives.h */
    uint32_t is_listed : 1;    /* it is among those that have ended, see below */
    uint32_t has_wait_status : 1; /* it has ended so */
    uint32_t has_children : 1;    /* it has forked */
    pid_t parent_pid;             /* that forked it; 0: not reported */
    int wait_status;              /* as wait(2) reports it */
    uint64_t started_ns, ended_ns;
    uint64_t peak_bytes; /* of its exit records; 0: none came */
};

/* Zeroed is empty. */
struct roster {
    struct member *list; /* of open processes; owned */
    size_t count, capacity;
    uint64_t changes;           /* how often some were opened or closed */
    struct process_table ended; /* what those were that have ended, as far as it is known */

    /* Private. */
    struct process *slots; /* owned */
    size_t slot_count;     /* a power of two */
    size_t process_count;
};

void roster_done(struct roster *roster);

/* The process with that pid, or NULL. Valid until one is added or released. */
struct process *roster_find(const struct roster *roster, pid_t pid);

/* Likewise, added if there is none. NULL: no memory, or too many. */
struct process *roster_add(struct roster *roster, pid_t pid);

/* Removes a process that has ended, unless its files or its exit records are still waited for. */
void roster_release(struct roster *roster, struct process *process);

/* Whether there is one in a slot, to visit all of them. */
static inline struct process *roster_slot(const struct roster *roster, size_t i)
{
    return roster->slots[i].pid != 0 ? &roster->slots[i] : NULL;
}

/* The open process with that pid, or NULL. Valid until one is added or removed. */
struct member *roster_member(const struct roster *roster, pid_t pid);

/* Takes over *member. Returns it in the list, or NULL (no memory, or too many), and then the caller
 * keeps it. */
struct member *roster_add_member(struct roster *roster, const struct member *member);

/* Puts those that were added behind the first `count` into the order in which they were forked. */
void roster_order(struct roster *roster, size_t count);

/* Closes and removes those that have left; the others keep their order. */
void roster_remove_left(struct roster *roster);

#endif
