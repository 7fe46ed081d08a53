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

/* ---- On which CPUs a process may come to run ------------------------------- */

/* All CPUs that are online or, where those do not fit, the ones the process is bound to: what
 * is bound can unbind itself, so the first are the surer answer. Returns how many, -E2BIG
 * where neither fits, or another -errno. `*ret_is_partial`: it may come to run on others. */
int cpu_list_of_process(const struct root *root, pid_t pid, unsigned *cpus, size_t capacity,
                        bool *ret_is_partial);

/* Records of perf's ring buffer that speak of processes. Pure: bytes in,
 * event out.
 *
 * Each record is a header of 8 bytes (type, flags, size) and what the type says. Sizes are
 * multiples of 8, and so is the ring's: a header never wraps around its end, the rest may. */

/* The readable part of a ring. `head` and `tail` count bytes ever written and read. */
struct record_ring {
    const unsigned char *data;
    uint64_t size_bytes; /* a power of two */
    uint64_t head, tail;
};

enum task_record_kind {
    RECORD_PROCESS, /* `event` is set */
    RECORD_LOST,    /* the kernel found no room; `lost_count` is set */
    RECORD_OTHER,
};

struct task_record {
    enum task_record_kind kind;
    size_t size_bytes; /* to be added to the tail */
    uint64_t lost_count;
    struct process_event event;
};

/* The oldest record that was not read yet. Returns 1; 0: there is none; -EBADMSG: what is
 * there is no record, and where the next one starts is not known. */
int task_record_peek(const struct record_ring *ring, struct task_record *ret);

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
