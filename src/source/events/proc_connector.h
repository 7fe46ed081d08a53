/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_connector.h - reports every process and thread that starts or exits on this machine,
 * through netlink.
 *
 * The stream covers the whole machine: the reader selects the events of its job, and each other
 * event costs it 1-3 us. Root may listen and, from Linux 6.6 on, every user; but only in the
 * machine's own namespaces: in others, the PIDs are wrong or no events arrive. An exit is
 * reported a moment after the parent could have noticed it and started another process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/events/process_event.h"

struct proc_connector {
    int fd; /* -1: closed; readable at every event */
    /* How many times events were lost; the number of lost events is unknown. */
    uint64_t lost_count;
    size_t capacity; /* maximum number of pending events */
};

#define PROC_CONNECTOR_CLOSED \
    {                         \
        .fd = -1              \
    }

/* Opens the connector. -EPERM: refused; -ENOTSUP: another namespace, or a kernel without the
 * connector. */
int proc_connector_open(const struct root *root, struct proc_connector *ret);
void proc_connector_close(struct proc_connector *connector);

/* Calls `seen` for all pending events. */
void proc_connector_drain(struct proc_connector *connector, process_event_seen *seen,
                          void *data);

/* Parses the first process event of a datagram. Returns 0; -ENOMSG: no process event; -EBADMSG:
 * damaged. */
int proc_connector_parse(const void *datagram, size_t size, struct process_event *ret);
