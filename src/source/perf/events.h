/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - inherited perf events of a job: its CPU time and its hardware counters.
 *
 * An event opened on a thread counts that thread and all threads and processes that it starts
 * afterwards. A job that we spawn has one thread at that time; a job that we attach to may have
 * many, and needs an event for each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/proc/children.h"

enum { EVENT_SET_MAX = 4096 };

/* A zeroed struct is empty. */
struct event_set {
    int *fds; /* owned */
    size_t count;
    size_t capacity;
};

/* Opens a counter of the CPU time of a thread, and of all its later descendants, in
 * nanoseconds. -EACCES or -EPERM: refused; -ESRCH: the thread has exited; -E2BIG: too many
 * events.
 *
 * The count is exact to the nanosecond, regardless of which process waits for a child:
 * daemons and children of a parent that ignores SIGCHLD are included. The count starts when
 * the event is opened, and stops before a process is torn down, so it misses about 0.1 ms of
 * each process. An ordinary user may open it if kernel.perf_event_paranoid is 2 or less and
 * no seccomp filter forbids it. */
int task_clock_add(struct event_set *set, pid_t tid);
void event_set_close(struct event_set *set);

/* Returns the sum of all counts. -ENOENT: the set is empty. */
int event_set_read(const struct event_set *set, uint64_t *ret);

/* Opens an inherited perf event on each thread of a running job.
 *
 * A thread that starts during this call is counted by its creator's event, if that was
 * already open; with an event of its own it would be counted twice. So only the threads of
 * one list get events. If there are new threads when all events are open, everything is
 * repeated, a few times at most. */

struct thread_events {
    /* Calls `found` for every thread. */
    void (*list)(void *list_data, child_found *found, void *found_data);
    void *list_data;
    /* Opens the event of a thread. Returns 0 or -errno; -ESRCH: the thread has exited. */
    int (*open)(void *data, pid_t tid);
    void (*close)(void *data);
    void *data;
};

/* Opens the events. If it fails, no event is open. */
int thread_events_open(const struct thread_events *events);

/* Hardware counters of a job: one group of events.
 *
 * Only user space is counted, which an ordinary user may do if kernel.perf_event_paranoid is 2
 * or less. Most virtual machines have no hardware counters. */

enum hardware_counter {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_MISSES,
    COUNTER_BRANCH_MISSES,
    COUNTER_COUNT,
};

struct counters {
    bool is_open;
    int fds[COUNTER_COUNT];
};

/* Counts a thread and all threads and processes that it starts from now on. -ENOENT: the
 * machine has no such counters; -EACCES, -EPERM: refused. */
int counters_open(struct counters *counters, pid_t tid);
void counters_close(struct counters *counters);

/* Reads the counts; UNKNOWN: not counted. Returns whether all counts are exact. If other
 * programs use the counters too, the kernel multiplexes the counters, and the counts are
 * extrapolated. */
bool counters_read(const struct counters *counters, uint64_t ret[COUNTER_COUNT]);

/* Extrapolates the count of an event that was on the hardware for `running` of `enabled`
 * nanoseconds. */
uint64_t counter_scale(uint64_t count, uint64_t enabled, uint64_t running);
