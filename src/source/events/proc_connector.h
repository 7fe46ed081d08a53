/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_connector.h - every process and thread that starts or ends on this machine, told by
 * the kernel over netlink.
 *
 * The stream is the whole machine's: the reader picks out its job, and pays for the others
 * (1-3 us each). Root may listen, from Linux 6.6 on everyone; both only in the machine's own
 * namespaces, since elsewhere the pids are not ours or nothing comes. An end is told a moment
 * after the parent could know of it, and start another process.
 */
#ifndef SOURCE_EVENTS_PROC_CONNECTOR_H
#define SOURCE_EVENTS_PROC_CONNECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/events/process_event.h"

struct proc_connector {
    int fd;              /* -1: closed; readable at every event */
    uint64_t lost_count; /* how often events were lost: it is not told how many */
    size_t capacity;     /* how many events may wait to be read */
};

#define PROC_CONNECTOR_CLOSED \
    {                         \
        .fd = -1              \
    }

/* -EPERM: refused; -ENOTSUP: another namespace, or a kernel without it. */
int proc_connector_open(const struct root *root, struct proc_connector *ret);
void proc_connector_close(struct proc_connector *connector);

/* Calls `seen` for all events there are. */
void proc_connector_drain(struct proc_connector *connector, process_event_seen *seen,
                          void *data);

/* The first process event of a datagram. 0; -ENOMSG: it speaks of something else; -EBADMSG:
 * it is damaged. */
int proc_connector_parse(const void *datagram, size_t size, struct process_event *ret);

#endif
