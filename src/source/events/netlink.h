/* SPDX-License-Identifier: Apache-2.0 */
/* netlink.h - a socket for messages from the kernel, and their frames. */
#pragma once

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a non-blocking socket, joins the multicast groups and requests a receive buffer of
 * `buffer_bytes`: ordinary users may get less. Returns a descriptor or -errno. */
int netlink_open(int protocol, uint32_t groups, size_t buffer_bytes);

/* Sends one message. The kernel has processed it when this returns. */
int netlink_send(int fd, uint16_t type, uint16_t flags, const void *payload, size_t size);

/* Reads one datagram from the kernel. Returns its length; 0: none is pending; -ENOBUFS:
 * datagrams were lost before the next one; or another -errno. */
ssize_t netlink_receive(int fd, void *buf, size_t size);

/* Handles one datagram. Returns -EBADMSG if it is damaged. */
typedef int netlink_seen(const void *datagram, size_t size, void *data);

/* Calls `seen` for all pending datagrams from the kernel. Returns how often datagrams were
 * lost or damaged. */
uint64_t netlink_drain(int fd, netlink_seen *seen, void *data);

/* A span of memory that is read from its start. */
struct bytes {
    const unsigned char *at;
    size_t left;
};

/* Takes the next message out of a datagram. Returns false if no complete message is left. */
bool netlink_next(struct bytes *datagram, struct nlmsghdr *ret_header,
                  struct bytes *ret_payload);

/* Takes the next attribute; *ret_type has no flags. Returns false if no complete attribute is
 * left. */
bool netlink_attribute(struct bytes *attributes, unsigned *ret_type, struct bytes *ret_value);

/* Copies `size` bytes from the start; returns false if there are fewer. */
bool bytes_copy(const struct bytes *bytes, void *to, size_t size);
