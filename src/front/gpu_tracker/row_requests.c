/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/row_requests.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread_start.h"
#include "text/decimal.h"

enum { BACKLOG = 64, LINE_BYTES = 64 };

static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* A client that connects and sends nothing must not keep the others waiting for long. */
static int read_time(int fd, double *ret)
{
    struct timeval patience = { .tv_usec = 100000 };
    char line[LINE_BYTES];
    ssize_t n;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    n = recv(fd, line, sizeof(line), 0);
    if (n <= 0 || line[n - 1] != '\n')
        return -EBADMSG;
    line[n - 1] = '\0';
    return decimal_parse(line, ret);
}

static void answer(const struct row_requests *requests, int fd)
{
    double wanted_after, row_time;
    char line[LINE_BYTES];
    int length;

    if (!is_allowed(fd) || read_time(fd, &wanted_after) < 0)
        return;
    row_time = requests->take(requests->data, wanted_after);
    if (isnan(row_time))
        return;
    length = snprintf(line, sizeof(line), "%s\n", decimal_float(row_time).text);
    (void)!send(fd, line, (size_t)length, MSG_NOSIGNAL); /* if it still waits */
}

static void *serve(void *data)
{
    const struct row_requests *requests = data;

    for (;;) {
        AUTO_CLOSE int fd = accept4(requests->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            answer(requests, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            return NULL; /* row_requests_stop(), or no descriptor is left */
    }
}

static int listen_for(pid_t pid)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "gpu-tracker/%d",
                          (int)pid);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -errno;
    return take_fd(&fd);
}

int row_requests_start(struct row_requests *requests, pid_t pid, row_requests_take *take,
                       void *data)
{
    int fd = listen_for(pid);
    int r;

    if (fd < 0)
        return fd;
    *requests = (struct row_requests){ .fd = fd, .take = take, .data = data };
    r = thread_start_quiet(&requests->thread, serve, requests);
    requests->is_running = r == 0;
    if (r < 0)
        close(fd);
    return r;
}

void row_requests_stop(struct row_requests *requests)
{
    if (!requests->is_running)
        return;
    requests->is_running = false;
    (void)shutdown(requests->fd, SHUT_RDWR); /* ends accept4() */
    (void)pthread_join(requests->thread, NULL);
    close(requests->fd);
}
