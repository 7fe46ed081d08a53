/* SPDX-License-Identifier: Apache-2.0 */
/* targets_events.c - data that the kernel writes to sockets and ring buffers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "source/events/fork_ring.h"
#include "source/events/proc_connector.h"
#include "source/events/taskstats.h"
#include "source/events/tcp_diag.h"

static void run_proc_connector(char *text, size_t length)
{
    struct process_event event;
    int r = proc_connector_parse(text, length, &event);

    CHECK(r == 0 || r == -ENOMSG || r == -EBADMSG);
    if (r == 0)
        CHECK(event.kind == PROCESS_FORKED || event.kind == PROCESS_EXITED);
}

/* The first two bytes are the netlink family of taskstats. */
static void run_taskstats(char *text, size_t length)
{
    struct exit_record record;
    uint16_t family;
    int r;

    if (length < sizeof(family))
        return;
    memcpy(&family, text, sizeof(family));
    r = taskstats_parse(text + sizeof(family), length - sizeof(family), family, &record);
    CHECK(r == 0 || r == -ENOMSG || r == -EBADMSG);
    if (r == 0)
        CHECK_ENDED(record.name);
}

static void see_socket(const struct tcp_socket *tcp, void *data)
{
    (void)tcp_socket_is_local(tcp);
    ++*(size_t *)data;
}

static void run_tcp_diag(char *text, size_t length)
{
    size_t count = 0;

    CHECK(tcp_diag_parse(text, length, see_socket, &count) <= 1);
    CHECK(count <= length / sizeof(struct inet_diag_msg));
}

/* The first byte times 16 is the position of the records in the ring. No record may extend
 * beyond the data. Unless a record is invalid, the records must cover all of the data. */
static void run_task_record(char *text, size_t length)
{
    enum { RING = 4096 };
    unsigned char *ring = malloc(RING);
    uint64_t start = length > 0 ? (uint64_t)(unsigned char)text[0] * 16 : 0;
    size_t size = length > 0 ? length - 1 : 0;
    struct record_ring readable = { .data = ring, .size_bytes = RING, .tail = start };
    struct task_record record;
    int r;

    CHECK(ring != NULL);
    memset(ring, 0, RING);
    for (size_t i = 0; i < size && i < RING; i++)
        ring[(start + i) % RING] = (unsigned char)text[1 + i];
    readable.head = start + size;
    while ((r = task_record_peek(&readable, &record)) > 0) {
        CHECK(record.size_bytes > 0 && record.size_bytes <= readable.head - readable.tail);
        readable.tail += record.size_bytes;
    }
    CHECK(r == -EBADMSG || readable.tail == readable.head);
    free(ring);
}

const struct fuzz_target event_targets[] = {
    { "proc_connector", run_proc_connector, 1 },
    { "taskstats", run_taskstats, 1 },
    { "tcp_diag", run_tcp_diag, 1 },
    { "task_record", run_task_record, 1 },
    { NULL, NULL, 0 },
};
