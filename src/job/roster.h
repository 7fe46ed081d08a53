/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster.h - the processes of the job by PID.
 *
 * A process is added when it is forked, or found by a search. It takes a few words of memory
 * until it is opened (member.h), if it lives long enough for that, and is removed when neither
 * its files nor an exit record are needed any more.
 *
 * In the list of open processes parents come before their children. The order matters: a look
 * that reads a child after its parent can miss usage that moved from one to the other (and
 * finds it next time), but never counts it twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/member.h"

enum { ROSTER_MAX = 1 << 18 };

struct process {
    pid_t pid; /* 0: free slot */
    /* 1 + its index in the list of open processes; 0: not open. If the PID is reused, the
     * earlier process stays in the list until its exit is found. */
    uint32_t member;

    /* From the events of the process; see process_events.h. */
    uint32_t threads : 25;        /* alive; 0: it has exited, or there are no events */
    uint32_t is_foreign : 1;      /* not part of the job; only its exit is awaited */
    uint32_t is_recording : 1;    /* it has exited, and its exit records may still arrive */
    uint32_t is_borrower : 1;     /* it may have had no memory of its own; see lives.h */
    uint32_t is_listed : 1;       /* it is in the table `ended`, see below */
    uint32_t has_wait_status : 1; /* `wait_status` is valid */
    uint32_t has_children : 1;    /* it has forked */
    pid_t parent_pid;             /* the process that forked it; 0: not reported */
    int wait_status;              /* as wait(2) reports it */
    uint64_t started_ns, ended_ns;
    uint64_t peak_bytes; /* from its exit records; 0: none arrived */
};

/* A zeroed struct is empty. */
struct roster {
    struct member *list; /* the open processes; owned */
    size_t count, capacity;
    uint64_t changes;           /* incremented when processes are opened or closed */
    struct process_table ended; /* processes that have exited */

    /* Private. */
    struct process *slots; /* owned */
    size_t slot_count;     /* a power of two */
    size_t process_count;
};

void roster_done(struct roster *roster);

/* Finds a process by PID, or returns NULL. Valid until a process is added or released. */
struct process *roster_find(const struct roster *roster, pid_t pid);

/* Like roster_find(), but adds a missing process. NULL: out of memory, or too many. */
struct process *roster_add(struct roster *roster, pid_t pid);

/* Removes a process that has exited, unless its files or exit records are still needed. */
void roster_release(struct roster *roster, struct process *process);

/* Returns the process in a slot, to visit all of them. */
static inline struct process *roster_slot(const struct roster *roster, size_t i)
{
    return roster->slots[i].pid != 0 ? &roster->slots[i] : NULL;
}

/* Finds an open process by PID, or returns NULL. Valid until a process is added or removed. */
struct member *roster_member(const struct roster *roster, pid_t pid);

/* Returns the slot of an open process, or NULL if its PID was reused. */
struct process *roster_slot_of(const struct roster *roster, const struct member *member);

/* Takes ownership of *member. Returns its place in the list, or NULL (out of memory, or too
 * many): then the caller keeps ownership. */
struct member *roster_add_member(struct roster *roster, const struct member *member);

/* Sorts the processes after the first `count` in the order of their forks. */
void roster_order(struct roster *roster, size_t count);

/* Counts the open processes that have exited. */
size_t roster_left_count(const struct roster *roster);

/* Closes and removes exited processes; the others keep their order. */
void roster_remove_left(struct roster *roster);
