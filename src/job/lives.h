/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives.h - the most memory that all descendants can have had together, from the lifetime and
 * the peak of each. Available only with exit records.
 *
 * The sum over living processes is highest at the start of one of them. So the sum is kept for
 * the moments at which processes started; when the peak of a process is known, it is added to
 * all moments of its life. Moments before the oldest living process are final: only their
 * maximum is kept. If there are too many moments, neighbours are joined, and the result is a
 * little too high.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/roster.h"
#include "source/events/taskstats.h"

enum { LIVES_MOMENTS_MAX = 1024, LIVES_KEPT = 16 };

struct life {
    uint64_t started_ns, ended_ns;
    uint64_t peak_bytes;
};

struct life_moment {
    uint64_t first_ns, last_ns; /* times of the joined starts */
    uint64_t sum_bytes;
};

/* A zeroed struct is empty. All functions except lives_close_moments() accept NULL, and then
 * keep nothing. */
struct lives {
    uint64_t highest_bytes; /* maximum over moments that are no longer kept */
    size_t count;
    struct life_moment moments[LIVES_MOMENTS_MAX]; /* sorted by last_ns */
    /* The lives that ended last, in case a start is reported late. */
    struct life ended[LIVES_KEPT];
    size_t ended_count;
    bool is_partial; /* the peak of some process is unknown */
};

void lives_start(struct lives *lives, struct process *process, uint64_t now_ns);
void lives_note_record(struct process *process, const struct exit_record *record);

/* Called when the process has exited and all its exit records have been read. */
void lives_end(struct lives *lives, struct process *process);

/* Closes the moments before the start of the oldest living process; call it when many are kept. */
void lives_close_moments(struct lives *lives, const struct roster *roster);

/* Returns an upper bound of all descendants' memory; UNKNOWN: the peak of some is unknown. */
uint64_t lives_bound_bytes(const struct lives *lives);
