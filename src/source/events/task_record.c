/* SPDX-License-Identifier: Apache-2.0 */
#include "source/events/task_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* Behind the header, as perf_event_open(2) has them. */
struct task_body {
    uint32_t pid, parent_pid;
    uint32_t tid, parent_tid;
    uint64_t time_ns;
};

struct lost_body {
    uint64_t id;
    uint64_t count;
};

/* The caller has checked that so much was written. */
static void copy_out(const struct record_ring *ring, uint64_t from, void *to, size_t size)
{
    size_t start = (size_t)(from & (ring->size_bytes - 1));
    size_t first = (size_t)ring->size_bytes - start;

    if (first > size)
        first = size;
    memcpy(to, ring->data + start, first);
    memcpy((unsigned char *)to + first, ring->data, size - first);
}

static void read_task(const struct record_ring *ring, uint64_t from, bool is_fork,
                      struct task_record *record)
{
    struct task_body body;

    copy_out(ring, from, &body, sizeof(body));
    record->kind = RECORD_PROCESS;
    record->event = (struct process_event){
        .kind = is_fork ? PROCESS_FORKED : PROCESS_EXITED,
        .pid = (pid_t)body.pid,
        .parent_pid = (pid_t)body.parent_pid,
        .is_thread = body.pid != body.tid,
        .time_ns = body.time_ns,
    };
}

int task_record_peek(const struct record_ring *ring, struct task_record *ret)
{
    uint64_t available = ring->head - ring->tail;
    struct perf_event_header header;
    struct task_record record = { .kind = RECORD_OTHER };
    uint64_t body = ring->tail + sizeof(header);

    if (available == 0)
        return 0;
    if (available < sizeof(header) || available > ring->size_bytes)
        return -EBADMSG;
    copy_out(ring, ring->tail, &header, sizeof(header));
    if (header.size < sizeof(header) || header.size > available || header.size % 8 != 0)
        return -EBADMSG;
    record.size_bytes = header.size;

    switch (header.type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        if (header.size < sizeof(header) + sizeof(struct task_body))
            return -EBADMSG;
        read_task(ring, body, header.type == PERF_RECORD_FORK, &record);
        break;
    case PERF_RECORD_LOST: {
        struct lost_body lost;

        if (header.size < sizeof(header) + sizeof(lost))
            return -EBADMSG;
        copy_out(ring, body, &lost, sizeof(lost));
        record.kind = RECORD_LOST;
        record.lost_count = lost.count;
        break;
    }
    default:
        break;
    }
    *ret = record;
    return 1;
}
