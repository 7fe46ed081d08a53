/* SPDX-License-Identifier: Apache-2.0 */
/* netlink.h - a socket on which the kernel tells us things, and the frame of what it says. */
#ifndef SOURCE_EVENTS_NETLINK_H
#define SOURCE_EVENTS_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a socket that never blocks, joins the multicast groups of the bit mask and asks for
 * room for `buffer_bytes` of what was not read yet: the system may give less to ordinary
 * users. Returns a descriptor or -errno. */
int netlink_open(int protocol, uint32_t groups, size_t buffer_bytes);

/* Sends one message with the given type, flags and number. The kernel has acted on it when
 * this returns. */
int netlink_send(int fd, uint16_t type, uint16_t flags, uint32_t sequence, const void *payload,
                 size_t size);

/* Reads one datagram of the kernel's. Returns its length; 0: there is none now; -ENOBUFS:
 * some were lost before the next one; or another -errno. */
ssize_t netlink_receive(int fd, void *buf, size_t size);

/* A piece of memory that is read from its start on. */
struct bytes {
    const unsigned char *at;
    size_t left;
};

/* Takes the next message out of a datagram. False where no whole one is left. */
bool netlink_next(struct bytes *datagram, struct nlmsghdr *ret_header,
                  struct bytes *ret_payload);

/* Takes the next attribute, its type without flags. False where no whole one is left. */
bool netlink_attribute(struct bytes *attributes, unsigned *ret_type, struct bytes *ret_value);

/* Copies `size` bytes from the start on; false where there are fewer. */
bool bytes_copy(const struct bytes *bytes, void *to, size_t size);

#endif
