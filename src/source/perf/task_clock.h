/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_clock.h - CPU time of a job, counted by perf.
 *
 * Exact to the nanosecond, whoever waits for whom: daemons and children of a parent that
 * ignores SIGCHLD included. It counts from when it is opened, and stops before a process is
 * torn down, so it misses about 0.1 ms of each. An ordinary user may open it where
 * kernel.perf_event_paranoid is 2 or less and no seccomp filter forbids it.
 */
#ifndef SOURCE_PERF_TASK_CLOCK_H
#define SOURCE_PERF_TASK_CLOCK_H

#include <sys/types.h>

#include "source/perf/event_set.h"

/* Adds a thread, and all that it starts from now on. As event_set_add(). Read it with
 * event_set_read(): nanoseconds. */
int task_clock_add(struct event_set *set, pid_t tid);

#endif
