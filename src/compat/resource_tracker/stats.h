/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - what a process or the machine has used so far, for callers that ask once in a while:
 * get_process_stats() and get_system_stats() of the Python package.
 *
 * Totals are since the process, or the machine, was started. A process that was asked for stays
 * under observation, so that its totals never step back: descendants may end between two
 * questions, and a parent that ignores SIGCHLD does not inherit their counters.
 */
#ifndef COMPAT_RESOURCE_TRACKER_STATS_H
#define COMPAT_RESOURCE_TRACKER_STATS_H

#include <stdbool.h>
#include <sys/types.h>

#include "spoor/spoor.h"
#include "text/json_writer.h"

/* Processes, with and without their descendants. The one that was not asked for the longest makes
 * room for another. */
enum { STATS_MAX = 8 };

struct observed;
struct machine;

/* Zeroed is empty. */
struct stats {
    struct observed *observed[STATS_MAX]; /* the latest first; owned */
    struct machine *machine;              /* NULL until it is asked for; owned */
};

void stats_done(struct stats *stats);

/* Adds the members of the answer. -ESRCH: no such process. */
int stats_add_process(struct stats *stats, pid_t pid, bool has_children,
                      struct json_writer *json, struct spoor_error *err);
int stats_add_system(struct stats *stats, struct json_writer *json, struct spoor_error *err);

#endif
