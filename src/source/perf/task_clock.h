/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_clock.h - CPU time of a process and all it will start, counted by perf.
 *
 * An inherited software event: exact to the nanosecond, whoever waits for whom,
 * daemons and children of a parent that ignores SIGCHLD included. It must be
 * opened before the process has children or threads. It stops before a process
 * is torn down, so it misses about 0.1 ms of each. An ordinary user may open it
 * where kernel.perf_event_paranoid is 2 or less and no seccomp filter forbids it.
 */
#ifndef SOURCE_PERF_TASK_CLOCK_H
#define SOURCE_PERF_TASK_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

/* Returns a descriptor, or -errno: -EACCES or -EPERM refused, -ENOENT no such event. */
int task_clock_open(pid_t pid);

int task_clock_read(int fd, uint64_t *ret_ns);

#endif
