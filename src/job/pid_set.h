/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_set.h - the living processes of a job, by number: a hash table.
 *
 * It grows by doubling up to PID_SET_MAX processes and never shrinks.
 */
#ifndef JOB_PID_SET_H
#define JOB_PID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PID_SET_MAX (1u << 18)

struct pid_entry {
    pid_t pid;             /* 0: this slot is free */
    uint32_t threads : 30; /* that live; 0: it has ended */
    uint32_t is_disowned : 1; /* it is of no job; only its end is waited for */
    uint32_t is_borrower : 1; /* it may have had no memory of its own; see lives.h */
    uint64_t started_ns, ended_ns;
    uint64_t peak_bytes; /* of its exit records; 0: none came */
};

/* Zeroed is empty. */
struct pid_set {
    struct pid_entry *slots;
    size_t slot_count; /* a power of two */
    size_t count;
};

void pid_set_done(struct pid_set *set);

/* Found entries are valid until one is added or removed. NULL: not there. */
struct pid_entry *pid_set_find(const struct pid_set *set, pid_t pid);

/* The entry of that number, found or added with no threads. NULL: full, or no memory. */
struct pid_entry *pid_set_add(struct pid_set *set, pid_t pid);

void pid_set_remove(struct pid_set *set, struct pid_entry *entry);

/* Removes each entry for which `keep` is false. */
void pid_set_filter(struct pid_set *set, bool (*keep)(struct pid_entry *entry, void *data),
                    void *data);

#endif
