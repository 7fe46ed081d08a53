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
#include "job/pid_set.h"
#include "source/events/taskstats.h"

/* Zeroed is closed: nothing is kept. */
struct lives {
    struct peak_timeline *timeline; /* owned */
    bool is_partial;                /* of some process the peak is not known */
    uint64_t oldest_ns; /* start of the oldest that was visited and lives; 0: none */
};

void lives_open(struct lives *lives); /* stays closed without memory */
void lives_close(struct lives *lives);

void lives_start(struct lives *lives, struct pid_entry *entry, uint64_t now_ns);
void lives_note_record(struct pid_entry *entry, const struct exit_record *record);

/* Every process is visited, after all exit records were read, and then they are settled. False: it
 * has ended, and is not needed any more. */
bool lives_visit(struct lives *lives, const struct pid_entry *entry);
void lives_settle(struct lives *lives);

/* Of all that have ended; UNKNOWN: not of all of them. */
uint64_t lives_bound_bytes(const struct lives *lives);

#endif
