/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_ring.h - reports, through perf, the start and exit of every process and thread that a
 * process and its descendants create.
 *
 * The kernel writes a record of each start and exit into a ring of the CPU on which it happens,
 * and does so only for the job. An ordinary user may open the rings if
 * kernel.perf_event_paranoid is 2 or less, even in a PID namespace, whose PIDs the records
 * contain.
 *
 * - Each ring adds 1-2 us to every fork and new thread of the job, so the rings are not used on
 *   machines with many CPUs.
 * - The rings are not for polling: the kernel wakes a poller at each exit in the job, even if
 *   the ring is almost empty, which costs ten times as much as reading the records.
 * - A set-uid program is not followed: its exec is reported as an exit, and its children are
 *   not reported. Only a look at the process shows whether it is still alive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/events/process_event.h"

/* ---- CPUs on which a process may run ---------------------------------------- */

/* Lists all online CPUs or, if those do not fit, the CPUs that the process is bound to: a bound
 * process can change its binding, so all online CPUs are preferred. Returns their number,
 * -E2BIG if neither list fits, or another -errno. `*ret_is_partial`: the process may run on
 * other CPUs too. */
int cpu_list_of_process(const struct root *root, pid_t pid, unsigned *cpus, size_t capacity,
                        bool *ret_is_partial);

/* Process records of perf's ring buffer. Pure: bytes in, event out.
 *
 * Each record is a header of 8 bytes (type, flags, size) and a body by type. Sizes are
 * multiples of 8, and so is the ring's: a header never wraps around its end, the body may. */

/* The readable part of a ring. `head` and `tail` count all bytes written and read so far. */
struct record_ring {
    const unsigned char *data;
    uint64_t size_bytes; /* a power of two */
    uint64_t head, tail;
};

enum task_record_kind {
    RECORD_PROCESS, /* `event` is set */
    RECORD_LOST,    /* the buffer was full; `lost_count` is set */
    RECORD_OTHER,
};

struct task_record {
    enum task_record_kind kind;
    size_t size_bytes; /* number of bytes to add to the tail */
    uint64_t lost_count;
    struct process_event event;
};

/* Finds the oldest unread record. Returns 1; 0: there is none; -EBADMSG: the data is not a
 * record, and the start of the next one is unknown. */
int task_record_peek(const struct record_ring *ring, struct task_record *ret);

enum { FORK_RING_CPU_MAX = 8 };

struct fork_ring_cpu {
    int fd;
    void *map;         /* a control page, then the records */
    size_t data_bytes; /* size of the records */
};

struct fork_ring {
    struct fork_ring_cpu cpu[FORK_RING_CPU_MAX];
    size_t count;        /* 0: closed */
    uint64_t lost_count; /* records that the kernel reported as lost */
    bool is_partial;     /* the job may run on CPUs without a ring */
    bool was_full;       /* records may have been lost that the kernel has not reported yet */
};

/* Returns how many pages hold `bytes` bytes of records; both sizes are powers of two. Returns
 * at least 1: a page may have 64 KiB. */
int fork_ring_pages(size_t bytes, size_t page_size);

/* Opens the rings, before the process has children or threads. -E2BIG: too many CPUs; -EACCES
 * or -EPERM: refused. *ret is closed on failure. */
int fork_ring_open(const struct root *root, pid_t pid, struct fork_ring *ret);
void fork_ring_close(struct fork_ring *ring);

/* Returns how many events the ring of one CPU holds. */
size_t fork_ring_capacity(const struct fork_ring *ring);

/* Calls `seen` for all pending records of all CPUs in order of time. Call this every 20 ms
 * while the job is busy. It makes no system call if nothing happened. */
void fork_ring_drain(struct fork_ring *ring, process_event_seen *seen, void *data);
