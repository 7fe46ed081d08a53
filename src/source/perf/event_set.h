/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_set.h - one inherited perf event for a whole job.
 *
 * An event that is opened on a thread counts that thread and all it starts from then on. A job
 * that we spawn has one thread when it is opened; one that we attach to may have many, and
 * needs an event for each.
 */
#ifndef SOURCE_PERF_EVENT_SET_H
#define SOURCE_PERF_EVENT_SET_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { EVENT_SET_MAX = 4096 };

/* Zeroed is empty. */
struct event_set {
    int *fds; /* owned */
    size_t count;
    size_t capacity;
};

/* Opens the event on a thread. -EACCES or -EPERM: refused; -ESRCH: it has ended; -E2BIG:
 * too many. `attr` is completed: inherited, closed at exec. */
int event_set_add(struct event_set *set, struct perf_event_attr *attr, pid_t tid);
void event_set_close(struct event_set *set);

/* The sum of all counts. -ENOENT: the set is empty. */
int event_set_read(const struct event_set *set, uint64_t *ret);

/* The same ioctl on all, as PERF_EVENT_IOC_ENABLE. */
void event_set_control(const struct event_set *set, unsigned long request);

#endif
