/* SPDX-License-Identifier: Apache-2.0 */
/* tracked_crowd.h - a session on a job of sleeping processes, as spoor run and attach open it. */
#ifndef BENCH_TRACKED_CROWD_H
#define BENCH_TRACKED_CROWD_H

#include <stdbool.h>
#include <sys/types.h>

#include "spoor/spoor.h"

struct tracked_crowd {
    pid_t pid;
    spoor_session *session;
};

/* Starts `crowd` with `count` children and a session on it, whose own samples are an hour apart.
 * With `is_attached`, the session starts once all of them sleep. Ends the program with a message
 * on failure. */
void tracked_crowd_start(const char *crowd, const char *count, bool is_attached,
                         struct tracked_crowd *ret);
void tracked_crowd_end(struct tracked_crowd *crowd);

/* Takes samples in a row. */
void tracked_crowd_sample(struct tracked_crowd *crowd, long sample_count);

#endif
