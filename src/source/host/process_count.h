/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_count.h - how many processes /proc shows.
 *
 * To list them costs 0.3 us and more for each. In the first PID namespace the link count of /proc is
 * their number plus that of its other folders, and costs one call. So the other folders are counted
 * once a minute, and the list is needed in between only if that number does not hold still: with
 * hidepid, /proc does not show every process that is counted.
 */
#ifndef SOURCE_HOST_PROCESS_COUNT_H
#define SOURCE_HOST_PROCESS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/root.h"

/* Zeroed: nothing was read yet. All of it is private. */
struct process_count {
    bool has_checked;    /* whether there are links to count */
    bool has_links;      /* there are */
    uint64_t other;      /* links that are not of processes */
    uint64_t readings;   /* of the list that gave the same number in a row */
    uint64_t list_at_ns; /* when to read the list again */
};

/* `now_ns` is the monotonic time. UNKNOWN: /proc cannot be read. */
uint64_t process_count_read(struct process_count *count, const struct root *root,
                            uint64_t now_ns);

#endif
