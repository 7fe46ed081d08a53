/* SPDX-License-Identifier: Apache-2.0 */
/* process_id.h - identifies a process: a pid alone may be reused by another process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_id {
    pid_t pid;
    uint64_t start_ticks; /* start time, in clock ticks since boot */
};

static inline bool process_id_equal(struct process_id a, struct process_id b)
{
    return a.pid == b.pid && a.start_ticks == b.start_ticks;
}
