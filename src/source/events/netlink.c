/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlink.c - frames of netlink: a length, then that many bytes, padded to four bytes.
 *
 * Nothing is read through a cast: the parts of a datagram may be unaligned.
 */
#include "source/events/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

enum { REQUEST_MAX = 512 };

static void request_room(int fd, size_t buffer_bytes)
{
    int room = (int)buffer_bytes;

    /* SO_RCVBUFFORCE needs root. If both calls are refused, losses are more likely. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
}

int netlink_open(int protocol, uint32_t groups, size_t buffer_bytes)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
    AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return -errno;
    request_room(fd, buffer_bytes);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return take_fd(&fd);
}

int netlink_send(int fd, uint16_t type, uint16_t flags, const void *payload, size_t size)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    unsigned char message[REQUEST_MAX] = { 0 };
    struct nlmsghdr header = {
        .nlmsg_len = (uint32_t)(sizeof(header) + size),
        .nlmsg_type = type,
        .nlmsg_flags = flags,
    };

    if (size > sizeof(message) - sizeof(header))
        return -EMSGSIZE;
    memcpy(message, &header, sizeof(header));
    memcpy(message + sizeof(header), payload, size);
    if (sendto(fd, message, header.nlmsg_len, 0, (const struct sockaddr *)&kernel,
               sizeof(kernel)) < 0)
        return -errno;
    return 0;
}

ssize_t netlink_receive(int fd, void *buf, size_t size)
{
    for (;;) {
        struct sockaddr_nl sender = { 0 };
        socklen_t length = sizeof(sender);
        ssize_t n = recvfrom(fd, buf, size, 0, (struct sockaddr *)&sender, &length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        /* Other processes can write to this socket, too. */
        if (n > 0 && sender.nl_pid == 0)
            return n;
    }
}

/* Number and size of datagrams that are read with one system call. */
enum { BATCH_MAX = 16, DATAGRAM_MAX = 2048 };

struct batch {
    unsigned char bytes[BATCH_MAX][DATAGRAM_MAX];
    size_t sizes[BATCH_MAX]; /* 0: not from the kernel */
};

static int receive_batch(int fd, struct batch *batch)
{
    struct sockaddr_nl senders[BATCH_MAX];
    struct iovec parts[BATCH_MAX];
    struct mmsghdr messages[BATCH_MAX];
    int n;

    for (size_t i = 0; i < BATCH_MAX; i++) {
        parts[i] = (struct iovec){ batch->bytes[i], sizeof(batch->bytes[i]) };
        messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_name = &senders[i],
                                                     .msg_namelen = sizeof(senders[i]),
                                                     .msg_iov = &parts[i],
                                                     .msg_iovlen = 1 } };
    }
    do
        n = recvmmsg(fd, messages, BATCH_MAX, 0, NULL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    for (int i = 0; i < n; i++) /* other processes can write to this socket, too */
        batch->sizes[i] = senders[i].nl_pid == 0 ? messages[i].msg_len : 0;
    return n;
}

uint64_t netlink_drain(int fd, netlink_seen *seen, void *data)
{
    enum { DRAIN_MAX = 1 << 16 }; /* the kernel may send faster than we read */
    uint64_t lost_count = 0;
    struct batch batch;
    int n = BATCH_MAX;

    for (int read = 0; read < DRAIN_MAX && (n == BATCH_MAX || n == -ENOBUFS);
         read += BATCH_MAX) {
        n = receive_batch(fd, &batch);
        lost_count += n == -ENOBUFS;
        for (int i = 0; i < n; i++)
            lost_count +=
                batch.sizes[i] > 0 && seen(batch.bytes[i], batch.sizes[i], data) == -EBADMSG;
    }
    return lost_count;
}

static void skip(struct bytes *bytes, size_t size)
{
    size_t padded = NLMSG_ALIGN(size);

    if (padded > bytes->left)
        padded = bytes->left;
    bytes->at += padded;
    bytes->left -= padded;
}

bool netlink_next(struct bytes *datagram, struct nlmsghdr *ret_header,
                  struct bytes *ret_payload)
{
    struct nlmsghdr header;

    if (!bytes_copy(datagram, &header, sizeof(header)) || header.nlmsg_len < sizeof(header) ||
        header.nlmsg_len > datagram->left)
        return false;
    *ret_header = header;
    *ret_payload =
        (struct bytes){ datagram->at + sizeof(header), header.nlmsg_len - sizeof(header) };
    skip(datagram, header.nlmsg_len);
    return true;
}

bool netlink_attribute(struct bytes *attributes, unsigned *ret_type, struct bytes *ret_value)
{
    struct nlattr header;

    if (!bytes_copy(attributes, &header, sizeof(header)) || header.nla_len < sizeof(header) ||
        header.nla_len > attributes->left)
        return false;
    *ret_type = header.nla_type & (unsigned)NLA_TYPE_MASK;
    *ret_value =
        (struct bytes){ attributes->at + sizeof(header), header.nla_len - sizeof(header) };
    skip(attributes, header.nla_len);
    return true;
}

bool bytes_copy(const struct bytes *bytes, void *to, size_t size)
{
    if (bytes->left < size)
        return false;
    memcpy(to, bytes->at, size);
    return true;
}
