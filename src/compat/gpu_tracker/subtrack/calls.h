/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - from starts and stops of a code block to its calls. Pure.
 *
 * In each process a stop ends the latest start that is still open, so that a block may call
 * itself. A start that nothing ends (the process was killed, the row was lost) is not a call.
 */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_CALLS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_CALLS_H

#include <stddef.h>

#include "compat/tracking/sub_tracking_file.h"

struct call {
    double start, stop; /* seconds since 1970 */
    int64_t process_id;
};

/* By name, process, time; rows of the same time stay as the file has them. */
void calls_sort_events(struct block_log *log);

/* The calls of the events of one block, which are sorted; there is room for half as many as
 * there are events. Returns their number; -EBADMSG: a stop has no start; or -ENOMEM. */
int calls_pair(const struct block_event *events, size_t count, struct call *ret,
               struct spoor_error *err);

/* Sorts calls and joins those that touch: the times at which any of them ran. Returns their
 * number. */
size_t calls_join(struct call *calls, size_t count);

/* Is this time in one of the joined calls? */
bool calls_contain(const struct call *joined, size_t count, double timestamp);

#endif
