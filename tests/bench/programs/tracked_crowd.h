/* SPDX-License-Identifier: Apache-2.0 */
/* tracked_crowd.h - a session that tracks a job of sleeping processes, opened as spoor run or
 * attach does. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "spoor/spoor.h"

struct tracked_crowd {
    pid_t pid;
    spoor_session *session;
};

/* Starts the program `crowd` with `count` children, and a session that tracks it. The session's
 * own samples are an hour apart. With `is_attached`, the session starts once all children run.
 * Exits with a message on failure. */
void tracked_crowd_start(const char *crowd, const char *count, bool is_attached,
                         struct tracked_crowd *ret);
void tracked_crowd_end(struct tracked_crowd *crowd);

/* Takes `sample_count` samples without a pause. */
void tracked_crowd_sample(struct tracked_crowd *crowd, long sample_count);
