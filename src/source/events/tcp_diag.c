/* SPDX-License-Identifier: Apache-2.0 */
#include "source/events/tcp_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include "base/amount.h"
#include "base/parse.h"
#include "source/events/netlink.h"

/* TCP states that linux/tcp.h does not define. */
enum {
    STATE_SYN_RECEIVED = 3,
    STATE_FIN_WAIT_1 = 4,
    STATE_TIME_WAIT = 6,
    STATE_CLOSE_WAIT = 8,
    STATE_LAST_ACK = 9,
    STATE_LISTEN = 10,
    STATE_CLOSING = 11,
    STATES_ALL = (1 << 12) - 1,
};

/* Room for the reports of a few thousand sockets; an ordinary user gets less. */
enum { REPORTS_BYTES = 4 << 20, ANSWER_MAX = 32 << 10 };

/* Subtracts the peer's FIN. The count of received bytes includes it in some states, and after a
 * regular close. In all other states the count may include it, since the kernel reads the state
 * before the count. */
static void subtract_fin(struct tcp_socket *tcp, uint8_t state)
{
    tcp->may_count_fin = tcp->received_bytes > 0 && state != STATE_CLOSE_WAIT &&
                         state != STATE_LAST_ACK && state != STATE_CLOSING;
    tcp->received_bytes = sub_floor0(tcp->received_bytes, 1);
}

static void take_info(struct tcp_socket *tcp, const struct bytes *value)
{
    struct tcp_info info = { 0 };

    memcpy(&info, value->at, smaller(value->left, sizeof(info)));
    tcp->received_bytes = info.tcpi_bytes_received;
    /* Kernels before 4.19 count only acknowledged bytes, and include the SYN. */
    tcp->sent_bytes = info.tcpi_bytes_sent > 0
                          ? sub_floor0(info.tcpi_bytes_sent, info.tcpi_bytes_retrans)
                          : sub_floor0(info.tcpi_bytes_acked, 1);
}

static bool parse_socket(struct bytes payload, struct tcp_socket *ret)
{
    struct inet_diag_msg message;
    struct bytes value;
    unsigned type;

    if (!bytes_copy(&payload, &message, sizeof(message)))
        return false;
    *ret = (struct tcp_socket){
        .cookie = (uint64_t)message.id.idiag_cookie[1] << 32 | message.id.idiag_cookie[0],
        .inode = message.idiag_inode,
        .id = message.id,
        .family = message.idiag_family,
        .is_listening = message.idiag_state == STATE_LISTEN,
        .is_closing = message.idiag_state == STATE_FIN_WAIT_1 ||
                      message.idiag_state == STATE_LAST_ACK ||
                      message.idiag_state == STATE_CLOSING,
    };
    payload.at += sizeof(message);
    payload.left -= sizeof(message);
    while (netlink_attribute(&payload, &type, &value)) {
        if (type == INET_DIAG_INFO)
            take_info(ret, &value);
        else if (type == INET_DIAG_CGROUP_ID)
            (void)bytes_copy(&value, &ret->cgroup_id, sizeof(ret->cgroup_id));
    }
    subtract_fin(ret, message.idiag_state);
    return true;
}

int tcp_diag_parse(const void *datagram, size_t size, tcp_socket_seen *seen, void *data)
{
    struct bytes rest = { datagram, size }, payload;
    struct nlmsghdr header;

    while (netlink_next(&rest, &header, &payload)) {
        struct tcp_socket tcp;
        int error;

        if (header.nlmsg_type == NLMSG_DONE)
            return 1;
        if (header.nlmsg_type == NLMSG_ERROR)
            return bytes_copy(&payload, &error, sizeof(error)) && error < 0 ? error : -EBADMSG;
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
            continue;
        if (!parse_socket(payload, &tcp))
            return -EBADMSG;
        seen(&tcp, data);
    }
    return rest.left > 0 ? -EBADMSG : 0;
}

static bool is_loopback(const struct in6_addr *address, uint8_t family)
{
    if (family == AF_INET)
        return address->s6_addr[0] == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

bool tcp_socket_is_local(const struct tcp_socket *tcp)
{
    struct in6_addr from, to;

    memcpy(&from, tcp->id.idiag_src, sizeof(from));
    memcpy(&to, tcp->id.idiag_dst, sizeof(to));
    return is_loopback(&to, tcp->family) || memcmp(&from, &to, sizeof(from)) == 0;
}

int tcp_diag_open(void)
{
    return netlink_open(NETLINK_SOCK_DIAG, 0, ANSWER_MAX);
}

int tcp_diag_listen(void)
{
    return netlink_open(NETLINK_SOCK_DIAG,
                        1u << (SKNLGRP_INET_TCP_DESTROY - 1) |
                            1u << (SKNLGRP_INET6_TCP_DESTROY - 1),
                        REPORTS_BYTES);
}

/* ---- requests ---------------------------------------------------------------- */

static int send_request(int fd, uint16_t flags, const void *request, size_t size)
{
    return netlink_send(fd, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | flags, request, size);
}

/* Reads all answers. The kernel writes them while they are read, so an empty socket means that
 * the last answer was read. */
static int take_answers(int fd, tcp_socket_seen *seen, void *data)
{
    unsigned char answer[ANSWER_MAX];
    ssize_t n;
    int r = 0;

    while (r == 0 && (n = netlink_receive(fd, answer, sizeof(answer))) != 0)
        r = n < 0 ? (int)n : tcp_diag_parse(answer, (size_t)n, seen, data);
    return r < 0 ? r : 0;
}

struct list_request {
    struct inet_diag_req_v2 request;
    struct nlattr attribute;
    struct inet_diag_bc_op filter;
    uint64_t cgroup_id;
} __attribute__((packed));

int tcp_diag_list(int fd, uint64_t cgroup_id, tcp_socket_seen *seen, void *data)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    enum { CONDITION = sizeof(struct inet_diag_bc_op) + sizeof(uint64_t) };

    for (size_t i = 0; i < sizeof(families); i++) {
        struct list_request list = {
            .request = { .sdiag_family = families[i],
                         .sdiag_protocol = IPPROTO_TCP,
                         .idiag_ext = 1u << (INET_DIAG_INFO - 1),
                         .idiag_states = STATES_ALL & ~(1u << STATE_TIME_WAIT) &
                                         ~(1u << STATE_SYN_RECEIVED) },
            .attribute = { sizeof(struct nlattr) + CONDITION, INET_DIAG_REQ_BYTECODE },
            /* If the condition is false, the program jumps four bytes past its end: no
             * match. */
            .filter = { INET_DIAG_BC_CGROUP_COND, CONDITION, CONDITION + 4 },
            .cgroup_id = cgroup_id,
        };
        int r = send_request(fd, NLM_F_DUMP, &list,
                             cgroup_id != 0 ? sizeof(list) : sizeof(list.request));

        if (r == 0)
            r = take_answers(fd, seen, data);
        if (r < 0 && (r != -ENOENT || i == 0)) /* -ENOENT: a machine without IPv6 */
            return r;
    }
    return 0;
}

static void take_one(const struct tcp_socket *tcp, void *data)
{
    *(struct tcp_socket *)data = *tcp;
}

int tcp_diag_find(int fd, const struct tcp_socket *tcp, struct tcp_socket *ret)
{
    const struct inet_diag_req_v2 request = {
        .sdiag_family = tcp->family,
        .sdiag_protocol = IPPROTO_TCP,
        .idiag_ext = 1u << (INET_DIAG_INFO - 1),
        .idiag_states = STATES_ALL,
        .id = tcp->id,
    };
    unsigned char answer[ANSWER_MAX];
    int r = send_request(fd, 0, &request, sizeof(request));
    ssize_t n = r < 0 ? r : netlink_receive(fd, answer, sizeof(answer));

    *ret = (struct tcp_socket){ 0 };
    if (n > 0)
        r = tcp_diag_parse(answer, (size_t)n, take_one, ret);
    return n < 0 ? (int)n : r < 0 ? r : ret->cookie == tcp->cookie ? 0 : -ENOENT;
}

/* ---- reports of destroyed sockets --------------------------------------------- */

struct reports {
    tcp_socket_seen *seen;
    void *data;
};

static int take_report(const void *datagram, size_t size, void *data)
{
    const struct reports *reports = data;

    return tcp_diag_parse(datagram, size, reports->seen, reports->data);
}

uint64_t tcp_diag_drain(int fd, tcp_socket_seen *seen, void *data)
{
    struct reports reports = { seen, data };

    return netlink_drain(fd, take_report, &reports);
}

/* ---- descriptors of processes -------------------------------------------------- */

uint64_t fd_socket_inode(const struct root *root, pid_t pid, int fd)
{
    static const char prefix[] = "socket:[";
    char link[32], *end;
    uint64_t inode;

    if (root_read_link(root, link, sizeof(link), "proc/%d/fd/%d", (int)pid, fd) < 0 ||
        strncmp(link, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    end = strchr(link, ']');
    if (!end)
        return 0;
    *end = '\0';
    return parse_whole_u64(link + sizeof(prefix) - 1, &inode) == 0 ? inode : 0;
}

bool fd_is_tcp(pid_t pid, int fd)
{
    char path[64], name[16] = { 0 };

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    /* "TCP" or "TCPv6"; if the name cannot be read, the socket counts as TCP. */
    return getxattr(path, "system.sockprotoname", name, sizeof(name) - 1) <= 0 ||
           begins_with(name, "TCP");
}
