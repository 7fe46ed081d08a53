/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/events/netlink.h"
#include "source/events/tcp_diag.h"
#include "unit_test.h"

enum { ESTABLISHED = 1, CLOSED = 7, CLOSE_WAIT = 8, LISTEN = 10 };

struct datagram {
    unsigned char bytes[4096];
    size_t size;
};

static void put(struct datagram *d, const void *bytes, size_t size)
{
    memcpy(d->bytes + d->size, bytes, size);
    d->size += (size + 3) / 4 * 4;
}

static void put_attribute(struct datagram *d, uint16_t type, const void *value, size_t size)
{
    struct nlattr header = { (uint16_t)(sizeof(header) + size), type };

    put(d, &header, sizeof(header));
    put(d, value, size);
}

/* Writes a message about a socket with the cookie 0x100000002 and the cgroup 77. */
static void put_socket(struct datagram *d, uint8_t state, const struct tcp_info *info,
                       size_t info_size)
{
    size_t start = d->size;
    struct nlmsghdr header = { .nlmsg_type = SOCK_DIAG_BY_FAMILY };
    struct inet_diag_msg message = {
        .idiag_family = AF_INET,
        .idiag_state = state,
        .id = { .idiag_cookie = { 2, 1 }, .idiag_dst = { htonl(0x0A000001) } },
        .idiag_inode = 4711,
    };
    uint64_t cgroup_id = 77;

    put(d, &header, sizeof(header));
    put(d, &message, sizeof(message));
    put_attribute(d, INET_DIAG_INFO, info, info_size);
    put_attribute(d, INET_DIAG_CGROUP_ID, &cgroup_id, sizeof(cgroup_id));
    header.nlmsg_len = (uint32_t)(d->size - start);
    memcpy(d->bytes + start, &header, sizeof(header));
}

struct seen {
    struct tcp_socket last;
    int count;
};

static void see(const struct tcp_socket *tcp, void *data)
{
    struct seen *seen = data;

    seen->last = *tcp;
    seen->count++;
}

static struct tcp_socket parsed(uint8_t state, const struct tcp_info *info, size_t info_size)
{
    struct datagram d = { .size = 0 };
    struct seen seen = { .count = 0 };

    put_socket(&d, state, info, info_size);
    assert_int_equal(tcp_diag_parse(d.bytes, d.size, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    return seen.last;
}

static const struct tcp_info carried = {
    .tcpi_bytes_received = 1001,
    .tcpi_bytes_sent = 700,
    .tcpi_bytes_retrans = 200,
    .tcpi_bytes_acked = 502,
};

TEST(payload_bytes_and_identifiers_of_a_socket_are_read)
{
    struct tcp_socket tcp = parsed(ESTABLISHED, &carried, sizeof(carried));

    assert_int_equal(tcp.cookie, 0x100000002);
    assert_int_equal(tcp.inode, 4711);
    assert_int_equal(tcp.cgroup_id, 77);
    assert_int_equal(tcp.received_bytes + tcp.may_count_fin, 1001);
    assert_int_equal(tcp.sent_bytes, 500); /* excludes retransmitted bytes */
    assert_false(tcp.is_listening);
    assert_true(parsed(LISTEN, &carried, sizeof(carried)).is_listening);
}

TEST(the_fin_of_the_peer_is_not_counted_as_payload)
{
    struct tcp_socket closed = parsed(CLOSED, &carried, sizeof(carried));
    const struct tcp_info none = { 0 };

    assert_int_equal(parsed(CLOSE_WAIT, &carried, sizeof(carried)).received_bytes, 1000);
    assert_false(parsed(CLOSE_WAIT, &carried, sizeof(carried)).may_count_fin);
    /* The FIN may arrive between the kernel's reading of the state and of the count. */
    assert_int_equal(parsed(ESTABLISHED, &carried, sizeof(carried)).received_bytes, 1000);
    assert_int_equal(closed.received_bytes, 1000); /* assumes a FIN, not a reset */
    assert_true(closed.may_count_fin);
    assert_false(parsed(CLOSED, &none, sizeof(none)).may_count_fin);
}

TEST(an_old_kernel_counts_acknowledged_bytes)
{
    struct tcp_socket tcp =
        parsed(ESTABLISHED, &carried, offsetof(struct tcp_info, tcpi_bytes_sent));

    assert_int_equal(tcp.sent_bytes, 501); /* excludes the SYN */
    assert_int_equal(tcp.received_bytes + tcp.may_count_fin, 1001);
}

TEST(the_end_of_a_list_and_errors_are_recognized)
{
    struct datagram d = { .size = 0 };
    struct nlmsghdr header = { .nlmsg_len = sizeof(header) + 4, .nlmsg_type = NLMSG_DONE };
    struct seen seen = { .count = 0 };
    int error = -ENOENT;

    put_socket(&d, ESTABLISHED, &carried, sizeof(carried));
    put_socket(&d, ESTABLISHED, &carried, sizeof(carried));
    put(&d, &header, sizeof(header));
    put(&d, &error, sizeof(error));
    assert_int_equal(tcp_diag_parse(d.bytes, d.size, see, &seen), 1);
    assert_int_equal(seen.count, 2);
    d.size = 0;
    header.nlmsg_type = NLMSG_ERROR;
    put(&d, &header, sizeof(header));
    put(&d, &error, sizeof(error));
    assert_int_equal(tcp_diag_parse(d.bytes, d.size, see, &seen), -ENOENT);
}

TEST(a_damaged_datagram_is_refused)
{
    struct datagram d = { .size = 0 };
    struct seen seen = { .count = 0 };

    put_socket(&d, ESTABLISHED, &carried, sizeof(carried));
    for (size_t size = 1; size < d.size; size++)
        assert_int_equal(tcp_diag_parse(d.bytes, size, see, &seen), -EBADMSG);
    assert_int_equal(seen.count, 0);
}

static struct tcp_socket between(int family, const char *from, const char *to)
{
    struct tcp_socket tcp = { .family = (uint8_t)family };

    assert_int_equal(inet_pton(family, from, tcp.id.idiag_src), 1);
    assert_int_equal(inet_pton(family, to, tcp.id.idiag_dst), 1);
    return tcp;
}

TEST(local_connections_are_recognized_by_their_addresses)
{
    static const struct {
        int family;
        const char *from, *to;
        bool is_local;
    } cases[] = {
        { AF_INET, "127.0.0.1", "127.0.0.1", true },
        { AF_INET, "127.0.0.1", "127.3.0.1", true },
        { AF_INET, "10.0.0.1", "10.0.0.1", true },
        { AF_INET, "10.0.0.1", "10.0.0.2", false },
        { AF_INET6, "::1", "::1", true },
        { AF_INET6, "::ffff:127.0.0.1", "::ffff:127.0.0.1", true },
        { AF_INET6, "fe80::1", "fe80::1", true },
        { AF_INET6, "fe80::1", "fe80::2", false },
        { AF_INET6, "::ffff:10.0.0.1", "::ffff:10.0.0.2", false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tcp_socket tcp = between(cases[i].family, cases[i].from, cases[i].to);

        assert_int_equal(tcp_socket_is_local(&tcp), cases[i].is_local);
    }
}

/* ---- with the kernel ---- */

static int connect_to_self(int *ret_server)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    AUTO_CLOSE int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    *ret_server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return client;
}

/* Updates the socket in `data` if the cookies are equal. */
static void see_own(const struct tcp_socket *tcp, void *data)
{
    struct tcp_socket *own = data;

    if (tcp->cookie == own->cookie)
        *own = *tcp;
}

TEST(a_connection_is_listed_looked_up_and_reported)
{
    struct root root = ROOT_CLOSED;
    struct tcp_socket own = { 0 }, now;
    socklen_t size = sizeof(own.cookie);
    char text[1000] = { 0 };
    AUTO_CLOSE int reports = tcp_diag_listen();
    AUTO_CLOSE int requests = tcp_diag_open();
    int server, client;

    if (reports < 0 || requests < 0)
        skip();
    assert_int_equal(root_open(NULL, &root), 0);
    client = connect_to_self(&server);
    assert_int_equal(getsockopt(client, SOL_SOCKET, SO_COOKIE, &own.cookie, &size), 0);
    assert_int_equal(write(client, text, sizeof(text)), sizeof(text));
    assert_int_equal(recv(server, text, sizeof(text), MSG_WAITALL), sizeof(text));
    assert_int_equal(write(server, text, 10), 10);
    assert_int_equal(recv(client, text, 10, MSG_WAITALL), 10);
    assert_int_equal(tcp_diag_list(requests, 0, see_own, &own), 0);
    assert_int_equal(own.sent_bytes, 1000);
    assert_int_equal(own.received_bytes + own.may_count_fin, 10);
    assert_int_equal(own.inode, fd_socket_inode(&root, getpid(), client));
    assert_true(fd_is_tcp(getpid(), client) && !fd_is_tcp(getpid(), requests));
    assert_int_equal(fd_socket_inode(&root, getpid(), 0x7fffffff), 0);
    assert_true(tcp_socket_is_local(&own));
    assert_int_equal(tcp_diag_find(requests, &own, &now), 0);
    assert_int_equal(now.sent_bytes, 1000);
    close(server);
    close(client);
    own.sent_bytes = 0;
    while (own.sent_bytes == 0) /* the reports arrive a moment later */
        assert_int_equal(tcp_diag_drain(reports, see_own, &own), 0);
    assert_int_equal(own.sent_bytes, 1000);
    assert_int_equal(own.received_bytes, 10);
    assert_int_equal(tcp_diag_find(requests, &own, &now), -ENOENT);
    root_close(&root);
}
