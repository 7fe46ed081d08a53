/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_record.h - records of perf's ring buffer that speak of processes. Pure: bytes in,
 * event out.
 *
 * Each record is a header of 8 bytes (type, flags, size) and what the type says. Sizes are
 * multiples of 8, and so is the ring's: a header never wraps around its end, the rest may.
 */
#ifndef SOURCE_EVENTS_TASK_RECORD_H
#define SOURCE_EVENTS_TASK_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "source/events/process_event.h"

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

#endif
