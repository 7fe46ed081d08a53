/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_connector.c - subscribe to the proc connector and read its events.
 *
 * - A refused request gets a reply with an error, or none at all: only a reply without an error
 *   means that events will be sent. The reply is in the queue when sendto() returns.
 * - From Linux 6.6 on a second request can select the kinds of events. The filter would drop the
 *   reply too, so this request is sent afterwards. Older kernels ignore it.
 * - The event of a fork is sent before the new process runs, so it precedes all other events of
 *   that process.
 */
#include "source/events/proc_connector.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/events/netlink.h"
#include "source/proc/pid_files.h"

/* An event takes up 832 bytes of the buffer. */
enum { BUFFER_BYTES = 16 << 20, DATAGRAM_MAX = 1024, EVENT_BYTES = 1024 };

/* The request with a filter, which some versions of <linux/cn_proc.h> lack. */
struct filtered_request {
    uint32_t operation;
    uint32_t event_types;
};

static int request(int fd, const void *what, uint16_t size)
{
    unsigned char message[sizeof(struct cn_msg) + sizeof(struct filtered_request)];
    struct cn_msg header = {
        .id = { CN_IDX_PROC, CN_VAL_PROC },
        .ack = (uint32_t)getpid(), /* returned plus one in the reply */
        .len = size,
    };

    memcpy(message, &header, sizeof(header));
    memcpy(message + sizeof(header), what, size);
    return netlink_send(fd, NLMSG_DONE, 0, message, sizeof(header) + size);
}

/* Copies an event as far as it was sent; fields that an older kernel does not send are 0. */
static bool read_message(struct bytes *datagram, struct cn_msg *ret_header,
                         struct proc_event *ret_event)
{
    struct nlmsghdr frame;
    struct bytes payload;
    size_t size;

    if (!netlink_next(datagram, &frame, &payload) ||
        !bytes_copy(&payload, ret_header, sizeof(*ret_header)))
        return false;
    size = payload.left - sizeof(*ret_header);
    if (ret_header->len > size || ret_header->len < offsetof(struct proc_event, event_data))
        return false;
    if (size > sizeof(*ret_event))
        size = sizeof(*ret_event);
    memset(ret_event, 0, sizeof(*ret_event));
    memcpy(ret_event, payload.at + sizeof(*ret_header), size);
    return true;
}

/* Returns 0 if the kernel accepted the request. */
static int read_answer(int fd)
{
    unsigned char datagram[DATAGRAM_MAX];
    ssize_t n;

    while ((n = netlink_receive(fd, datagram, sizeof(datagram))) != 0) {
        struct bytes rest = { datagram, n > 0 ? (size_t)n : 0 };
        struct cn_msg header;
        struct proc_event event;

        if (n < 0)
            return (int)n;
        if (read_message(&rest, &header, &event) && event.what == PROC_EVENT_NONE &&
            header.ack == (uint32_t)getpid() + 1)
            return -(int)event.event_data.ack.err;
    }
    return -ENOTSUP;
}

static int subscribe(int fd)
{
    uint32_t listen = PROC_CN_MCAST_LISTEN;
    struct filtered_request filtered = { PROC_CN_MCAST_LISTEN,
                                         PROC_EVENT_FORK | PROC_EVENT_EXIT };
    int r = request(fd, &listen, sizeof(listen));

    if (r < 0)
        return r;
    r = read_answer(fd);
    if (r < 0)
        return r;
    return request(fd, &filtered, sizeof(filtered));
}

static size_t count_room(int fd)
{
    int bytes = 0;
    socklen_t size = sizeof(bytes);

    /* The capacity stays 0 on failure. */
    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return (size_t)bytes / EVENT_BYTES;
}

int proc_connector_open(const struct root *root, struct proc_connector *ret)
{
    AUTO_CLOSE int fd = -1;
    int r;

    *ret = (struct proc_connector)PROC_CONNECTOR_CLOSED;
    if (!root->is_live || !pid_namespace_is_first(root))
        return -ENOTSUP;
    fd = netlink_open(NETLINK_CONNECTOR, CN_IDX_PROC, BUFFER_BYTES);
    if (fd < 0)
        return fd;
    r = subscribe(fd);
    if (r < 0)
        return r;
    ret->capacity = count_room(fd);
    ret->fd = take_fd(&fd);
    return 0;
}

void proc_connector_close(struct proc_connector *connector)
{
    uint32_t ignore = PROC_CN_MCAST_IGNORE;

    if (connector->fd < 0)
        return;
    /* Otherwise the kernel would generate events until the next boot. It may refuse. */
    (void)request(connector->fd, &ignore, sizeof(ignore));
    close(connector->fd);
    connector->fd = -1;
}

int proc_connector_parse(const void *datagram, size_t size, struct process_event *ret)
{
    struct bytes rest = { datagram, size };
    struct cn_msg header;
    struct proc_event event;

    if (!read_message(&rest, &header, &event))
        return -EBADMSG;
    if (header.id.idx != CN_IDX_PROC || header.id.val != CN_VAL_PROC)
        return -ENOMSG;
    if (event.what == PROC_EVENT_FORK &&
        header.len >= offsetof(struct proc_event, event_data) + sizeof(event.event_data.fork)) {
        *ret = (struct process_event){
            .kind = PROCESS_FORKED,
            .pid = event.event_data.fork.child_tgid,
            .parent_pid = event.event_data.fork.parent_tgid,
            .is_thread = event.event_data.fork.child_pid != event.event_data.fork.child_tgid,
            .time_ns = event.timestamp_ns,
        };
        return 0;
    }
    if (event.what == PROC_EVENT_EXIT) {
        *ret = (struct process_event){
            .kind = PROCESS_EXITED,
            .pid = event.event_data.exit.process_tgid,
            .parent_pid = event.event_data.exit.parent_tgid,
            .is_thread =
                event.event_data.exit.process_pid != event.event_data.exit.process_tgid,
            .has_wait_status = true,
            .wait_status = (int)event.event_data.exit.exit_code,
            .time_ns = event.timestamp_ns,
        };
        return 0;
    }
    return -ENOMSG;
}

struct reader {
    process_event_seen *seen;
    void *data;
};

static int take_event(const void *datagram, size_t size, void *data)
{
    const struct reader *reader = data;
    struct process_event event;
    int r = proc_connector_parse(datagram, size, &event);

    if (r == 0)
        reader->seen(&event, reader->data);
    return r;
}

void proc_connector_drain(struct proc_connector *connector, process_event_seen *seen,
                          void *data)
{
    connector->lost_count +=
        netlink_drain(connector->fd, take_event, &(struct reader){ seen, data });
}
