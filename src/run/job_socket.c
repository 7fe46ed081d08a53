/* SPDX-License-Identifier: Apache-2.0 */
#include "run/job_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "run/process.h"

enum {
    BACKLOG = 128,
    REQUEST_MS = 500, /* a client that says nothing must not keep the others waiting for long */
};

/* Returns the size of the address. */
static socklen_t make_address(const struct root *root, const char *service, pid_t pid,
                              struct sockaddr_un *ret)
{
    char namespace[64] = "";
    int length;

    (void)root_read_link(root, namespace, sizeof(namespace), "proc/self/ns/pid"); /* or none */
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%.20s/%.63s/%d", service,
                      namespace, (int)pid); /* fits */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- the tracker's end -------------------------------------------------- */

/* The user could do anything to us. Others may speak only for the job. */
static bool is_allowed(const struct job_listener *listener, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0 ||
            process_descends(&listener->root, peer.pid, getpid()));
}

static void reply(const struct job_listener *listener, int fd)
{
    struct timeval patience = { .tv_usec = REQUEST_MS * 1000 };
    char request[JOB_REQUEST_BYTES], text[JOB_REQUEST_BYTES] = "";
    ssize_t n;

    /* First: those that are not must not keep the others waiting. */
    if (!is_allowed(listener, fd))
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    n = recv(fd, request, sizeof(request) - 1, 0);
    if (n <= 0)
        return;
    request[n] = '\0';
    if (strlen(request) == (size_t)n)
        listener->answer(listener->data, request, text);
    if (*text)
        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); /* if it still waits */
}

static void *serve(void *data)
{
    const struct job_listener *listener = data;

    for (;;) {
        AUTO_CLOSE int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);

        if (atomic_load(&listener->is_stopping))
            return NULL;
        if (fd >= 0)
            reply(listener, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            return NULL; /* job_listener_stop(), or no descriptor is left */
    }
}

static int listen_at(const struct root *root, const char *service, pid_t pid)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;
    socklen_t size = make_address(root, service, pid, &address);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -errno;
    return take_fd(&fd);
}

int job_listener_open(struct job_listener *listener, const char *service, pid_t pid)
{
    int r;

    *listener = (struct job_listener){ .root = ROOT_CLOSED };
    r = root_open(NULL, &listener->root);
    if (r < 0)
        return r;
    listener->fd = listen_at(&listener->root, service, pid);
    listener->is_open = listener->fd >= 0;
    if (listener->is_open)
        return 0;
    root_close(&listener->root);
    return listener->fd;
}

int job_listener_serve(struct job_listener *listener, job_answer *answer, void *data)
{
    int r;

    listener->answer = answer;
    listener->data = data;
    r = thread_start_quiet(&listener->thread, serve, listener);
    listener->is_running = r == 0;
    if (r < 0)
        job_listener_stop(listener);
    return r;
}

void job_listener_stop(struct job_listener *listener)
{
    if (!listener->is_open)
        return;
    listener->is_open = false;
    if (listener->is_running) {
        listener->is_running = false;
        atomic_store(&listener->is_stopping, true);
        (void)shutdown(listener->fd, SHUT_RDWR); /* ends accept4() */
        (void)pthread_join(listener->thread, NULL);
    }
    close(listener->fd);
    root_close(&listener->root);
}

/* ---- the job's end ------------------------------------------------------ */

int job_socket_connect(const struct root *root, const char *service, pid_t pid)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;
    socklen_t size = make_address(root, service, pid, &address);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, size) < 0)
        return -1;
    return take_fd(&fd);
}
