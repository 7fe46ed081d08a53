/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_events.h - opens an inherited perf event on each thread of a job that is running.
 *
 * A thread that starts meanwhile is counted by the event of the thread that started it, if that
 * was open by then: with another event it would be counted twice. So only threads of one list
 * get events; and if there are more when all are open, everything is done again, for a while.
 */
#ifndef SOURCE_PERF_THREAD_EVENTS_H
#define SOURCE_PERF_THREAD_EVENTS_H

#include <sys/types.h>

#include "source/proc/children.h"

struct thread_events {
    /* Calls `found` for every thread. */
    void (*list)(void *list_data, child_found *found, void *found_data);
    void *list_data;
    /* 0 or -errno; -ESRCH: it has ended. */
    int (*open)(void *data, pid_t tid);
    /* Closes all that were opened. */
    void (*close)(void *data);
    void *data;
};

/* On failure none is open. */
int thread_events_open(const struct thread_events *events);

#endif
