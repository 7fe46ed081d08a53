/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_ring.h - every process and thread that a process and its descendants start and end,
 * told by perf.
 *
 * The kernel writes a record for each into a ring of the CPU where it happens, and filters to
 * the job itself. An ordinary user may open it where kernel.perf_event_paranoid is 2 or less,
 * in namespaces too, where the pids are the local ones.
 *
 * - Each ring makes every fork and new thread of the job 1-2 us dearer, so there are none
 *   where the CPUs are many.
 * - It is not for waiting on: the kernel wakes who polls a ring at each exit in the job, full
 *   or not, which costs ten times what reading the records does.
 * - A set-uid program is followed no further: it is reported as ended while it lives on, and
 *   what it starts is not reported. Nothing tells such an end from a real one but a look at
 *   the process, where it still lives by then.
 */
#ifndef SOURCE_EVENTS_FORK_RING_H
#define SOURCE_EVENTS_FORK_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/events/process_event.h"

enum { FORK_RING_CPU_MAX = 8 };

struct fork_ring_cpu {
    int fd;
    void *map;         /* a page of control, then the records */
    size_t data_bytes; /* of records */
};

struct fork_ring {
    struct fork_ring_cpu cpu[FORK_RING_CPU_MAX];
    size_t count;        /* 0: closed */
    uint64_t lost_count; /* records the kernel found no room for, as far as it said */
    bool is_partial;     /* the job may come to run on CPUs without a ring */
    bool was_full;       /* so that some may have been lost of which it said nothing yet */
};

/* How many pages of this size hold that many bytes of records, both powers of two. At least one: pages
 * may have 64 KiB. */
int fork_ring_pages(size_t bytes, size_t page_size);

/* To be opened before the process has children or threads. -E2BIG: too many CPUs; -EACCES or
 * -EPERM: refused. *ret is closed on failure. */
int fork_ring_open(const struct root *root, pid_t pid, struct fork_ring *ret);
void fork_ring_close(struct fork_ring *ring);

/* How many events the ring of one CPU holds. */
size_t fork_ring_capacity(const struct fork_ring *ring);

/* Calls `seen` for all records there are, those of all CPUs in order of time. To be called
 * every 20 ms while the job is busy; where nothing happened no system call is made. */
void fork_ring_drain(struct fork_ring *ring, process_event_seen *seen, void *data);

#endif
