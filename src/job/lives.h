/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives.h - when each descendant lived and what its peak was, and so the most memory that all of
 * them can have had together (peak_timeline.h). Known only with exit records.
 */
#ifndef JOB_LIVES_H
#define JOB_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "job/memory/peak_timeline.h"
#include "job/roster.h"
#include "source/events/taskstats.h"

/* Zeroed is closed: nothing is kept. */
struct lives {
    struct peak_timeline *timeline; /* owned */
    bool is_partial;                /* of some process the peak is not known */
};

void lives_open(struct lives *lives); /* stays closed without memory */
void lives_close(struct lives *lives);

void lives_start(struct lives *lives, struct process *process, uint64_t now_ns);
void lives_note_record(struct process *process, const struct exit_record *record);

/* It has ended, and all its exit records were read. */
void lives_end(struct lives *lives, struct process *process);

/* Settles the moments before the start of the oldest process that lives: to be called from time to
 * time, if there are many. */
bool lives_are_many(const struct lives *lives);
void lives_settle(struct lives *lives, const struct roster *roster);

/* Of all that have ended; UNKNOWN: not of all of them. */
uint64_t lives_bound_bytes(const struct lives *lives);

#endif
