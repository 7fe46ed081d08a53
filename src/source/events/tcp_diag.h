/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_diag.h - the TCP sockets of a network namespace and the bytes they carried, through
 * SOCK_DIAG. No privileges are needed.
 *
 * - Listing walks the kernel's whole hash table: 0.4 ms plus 1.5 us for each socket. Looking up
 *   one socket takes 1.4 us.
 * - The kernel reports each socket that it destroys, with its final counts and its cookie, but without its
 *   inode: only a socket that was seen before can be attributed.
 * - A cookie identifies a socket until the machine is restarted. Inodes are reused.
 */
#pragma once

#include <linux/inet_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

struct tcp_socket {
    uint64_t cookie;
    uint64_t inode;                      /* 0: no process holds it */
    uint64_t cgroup_id;                  /* cgroup v2 of its creator; 0: unknown */
    uint64_t received_bytes, sent_bytes; /* payload, each byte once */
    struct inet_diag_sockid id;          /* both addresses and ports, in network byte order */
    uint8_t family;                      /* AF_INET or AF_INET6 */
    bool is_listening;
    bool is_closing; /* closed on this side, but the other end has not acknowledged all data */
    bool may_count_fin; /* the byte subtracted from received_bytes may be payload, not a FIN */
};

typedef void tcp_socket_seen(const struct tcp_socket *tcp, void *data);

/* Calls `seen` for each socket of a datagram. Returns 1 at the end of a list, 0 if more may follow,
 * -errno if the kernel reports an error, or -EBADMSG for a damaged datagram. */
int tcp_diag_parse(const void *datagram, size_t size, tcp_socket_seen *seen, void *data);

/* Whether both ends are on this machine: either the other end has a loopback address, or the
 * two addresses are equal. */
bool tcp_socket_is_local(const struct tcp_socket *tcp);

/* Opens a socket for requests, or for reports of destroyed sockets. Returns a descriptor or
 * -errno. */
int tcp_diag_open(void);
int tcp_diag_listen(void);

/* Calls `seen` for all sockets of both families except those in TIME_WAIT, which have no
 * counts. If `cgroup_id` is not 0, only sockets of this cgroup are listed. */
int tcp_diag_list(int fd, uint64_t cgroup_id, tcp_socket_seen *seen, void *data);

/* Reads one socket again. -ENOENT: it was destroyed. */
int tcp_diag_find(int fd, const struct tcp_socket *tcp, struct tcp_socket *ret);

/* Calls `seen` for each socket destroyed since the last call. Returns how many times reports
 * were lost. */
uint64_t tcp_diag_drain(int fd, tcp_socket_seen *seen, void *data);

/* Returns the inode of a socket descriptor; 0: not a socket. */
uint64_t fd_socket_inode(const struct root *root, pid_t pid, int fd);

/* Whether a socket descriptor is a TCP socket; true if that cannot be read. */
bool fd_is_tcp(pid_t pid, int fd);
