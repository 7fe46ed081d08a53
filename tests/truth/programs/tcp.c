/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp COUNT BYTES HOLD_MS [6] - COUNT connections, one after the other, to a server that the
 * job starts. The client holds each connection for HOLD_MS, then sends BYTES, and the server
 * replies with as many. With "6", over IPv6.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ledger.h"
#include "workload.h"

struct work {
    long count, hold_ms;
    size_t bytes;
    int listener;
};

static void take(int fd, size_t bytes)
{
    static char data[1 << 16];
    ssize_t n;

    for (; bytes > 0; bytes -= (size_t)n) {
        n = read(fd, data, bytes < sizeof(data) ? bytes : sizeof(data));
        if (n <= 0)
            ledger_fail("read");
    }
}

static void give(int fd, size_t bytes)
{
    static const char data[1 << 16];
    ssize_t n;

    for (; bytes > 0; bytes -= (size_t)n) {
        n = write(fd, data, bytes < sizeof(data) ? bytes : sizeof(data));
        if (n <= 0)
            ledger_fail("write");
    }
}

static void serve(void *data)
{
    const struct work *work = data;

    for (long i = 0; i < work->count; i++) {
        int fd = accept(work->listener, NULL, NULL);

        if (fd < 0)
            ledger_fail("accept");
        take(fd, work->bytes);
        give(fd, work->bytes);
        close(fd);
    }
}

static void ask(const struct work *work, const struct sockaddr_storage *address, socklen_t size)
{
    int fd = socket(address->ss_family, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, size) < 0)
        ledger_fail("connect");
    if (work->hold_ms > 0)
        hold_ms(work->hold_ms);
    give(fd, work->bytes);
    take(fd, work->bytes);
    close(fd);
}

/* Listens on a free port of the loopback interface. */
static int listen_locally(bool is_6, struct sockaddr_storage *address, socklen_t *size)
{
    struct sockaddr_in *in = (struct sockaddr_in *)address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
    int fd = socket(is_6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

    *size = is_6 ? sizeof(*in6) : sizeof(*in);
    if (is_6)
        *in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    else
        *in = (struct sockaddr_in){ .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (fd < 0 || bind(fd, (struct sockaddr *)address, *size) < 0)
        ledger_cannot("no loopback interface");
    if (listen(fd, 16) < 0 || getsockname(fd, (struct sockaddr *)address, size) < 0)
        ledger_fail("listen");
    return fd;
}

int main(int argc, char **argv)
{
    struct work work = { number_argument(argc, argv, 1), number_argument(argc, argv, 3),
                         (size_t)number_argument(argc, argv, 2), -1 };
    struct sockaddr_storage address = { 0 };
    double all = (double)work.count * (double)work.bytes * 2;
    socklen_t size;
    pid_t server;

    ledger_open();
    work.listener = listen_locally(argc > 4 && strcmp(argv[4], "6") == 0, &address, &size);
    server = start(serve, &work);
    for (long i = 0; i < work.count; i++)
        ask(&work, &address, size);
    wait_for(server);
    ledger_set(LOOPBACK_RECEIVED_BYTES, all);
    ledger_set(LOOPBACK_SENT_BYTES, all);
    ledger_set(PROCESSES, 2);
    ledger_burn_to_ms(ENOUGH_CPU_MS);
    ledger_add_own_cpu();
    ledger_close();
    return 0;
}
