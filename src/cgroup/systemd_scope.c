/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_scope.c - the conversation with the manager, on the socket that systemctl uses as well:
 * there is no bus in between, and all signals come without a subscription.
 *
 * libsystemd is not used: a scope takes it 0.97 ms of CPU time, half of that to load it and six more
 * libraries (3 ms of waiting if they are not in the page cache), against 0.19 ms here.
 */
#include "cgroup/systemd_scope.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cgroup/scope_message.h"

/* The socket's buffer is empty, and larger than anything we send. */
static int send_all(int fd, const void *data, size_t size)
{
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return -errno;
    return (size_t)n == size ? 0 : -EMSGSIZE;
}

/* -ECONNRESET: the other side has closed. The deadline holds even if there is always something to
 * read. */
static int receive_all(int fd, uint64_t deadline_ns, void *data, size_t size)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    uint8_t *rest = data;

    while (size > 0) {
        uint64_t now_ns = clock_now().monotonic_ns;
        ssize_t n;

        if (now_ns >= deadline_ns)
            return -ETIMEDOUT;
        n = recv(fd, rest, size, MSG_DONTWAIT);
        if (n == 0)
            return -ECONNRESET;
        if (n > 0) {
            rest += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) {
            /* At most a second, so that it fits; rounded up, so that it does not spin. */
            (void)poll(&poller, 1,
                       (int)(smaller(deadline_ns - now_ns, NS_PER_SECOND) / NS_PER_MS) + 1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Receives the next message that fits. Signals about other units may be longer: they are skipped. */
static int receive_message(int fd, uint64_t deadline_ns, uint8_t *data, size_t size,
                           size_t *ret_length)
{
    for (;;) {
        size_t length = SCOPE_HEAD_SIZE, left;
        int r = receive_all(fd, deadline_ns, data, SCOPE_HEAD_SIZE);

        if (r == 0)
            r = scope_message_length(data, &length);
        if (r < 0)
            return r;
        left = length - SCOPE_HEAD_SIZE;
        *ret_length = length;
        if (length <= size)
            return receive_all(fd, deadline_ns, data + SCOPE_HEAD_SIZE, left);
        for (; left > 0 && r == 0; left -= smaller(left, size))
            r = receive_all(fd, deadline_ns, data, smaller(left, size));
        if (r < 0)
            return r;
    }
}

/* The PID of a listener in another PID namespace is 0. Only root and the user decide about the
 * user's processes. */
static int check_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    return peer.pid > 0 && (peer.uid == 0 || peer.uid == geteuid()) ? 0 : -EXDEV;
}

/* The kernel tells the other side who we are; it still wants the uid in decimal, each digit in
 * hexadecimal. It answers "OK" and its id of 32 digits. */
static int log_in(int fd, uint64_t deadline_ns)
{
    char text[64], digits[16], answer[3 + 32 + 2];
    int length = snprintf(text, sizeof(text), "%cAUTH EXTERNAL ", '\0');
    int r;

    (void)snprintf(digits, sizeof(digits), "%u", (unsigned)geteuid());
    for (const char *digit = digits; *digit; digit++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "3%c", *digit);
    length += snprintf(text + length, sizeof(text) - (size_t)length, "\r\n"); /* all fits */
    r = send_all(fd, text, (size_t)length);
    if (r == 0)
        r = receive_all(fd, deadline_ns, answer, 3);
    if (r == 0 && memcmp(answer, "OK ", 3) != 0)
        return -EACCES;
    if (r == 0)
        r = receive_all(fd, deadline_ns, answer + 3, sizeof(answer) - 3);
    if (r == 0 && memcmp(answer + sizeof(answer) - 2, "\r\n", 2) != 0)
        return -EBADMSG;
    return r < 0 ? r : send_all(fd, "BEGIN\r\n", 7);
}

int systemd_connect(const char *path, uint64_t deadline_ns)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int r;

    if (fd < 0)
        return -errno;
    if ((size_t)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path) >=
        sizeof(name.sun_path))
        return -ENAMETOOLONG;
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
        return -errno; /* -EAGAIN: too many others wait */
    r = check_peer(fd);
    if (r == 0)
        r = log_in(fd, deadline_ns);
    return r < 0 ? r : take_fd(&fd);
}

int systemd_start_scope(int fd, uint64_t deadline_ns, const char *unit, pid_t job, pid_t keeper)
{
    uint8_t data[4096];
    ssize_t n = scope_call_write(unit, job, keeper, data);
    size_t length;
    int r;

    if (n < 0)
        return (int)n;
    if (send_all(fd, data, (size_t)n) < 0)
        return -EINPROGRESS;
    do {
        if (receive_message(fd, deadline_ns, data, sizeof(data), &length) < 0)
            return -EINPROGRESS;
        r = scope_message_outcome(data, length, unit);
    } while (r == -EAGAIN);
    return r == -EBADMSG ? -EINPROGRESS : r;
}
