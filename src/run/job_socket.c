/* SPDX-License-Identifier: Apache-2.0 */
#include "run/job_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/helper.h"
#include "run/process.h"
#include "source/proc/pid_files.h"

/* ---- the socket --------------------------------------------------------- */

enum {
    BACKLOG = 128,
    REQUEST_MS = 500, /* limit for a silent client, so that others do not wait long */
};

static socklen_t make_address(const struct root *root, const char *service, pid_t pid,
                              struct sockaddr_un *ret)
{
    char namespace[64] = "";
    int length;

    /* Empty on failure. */
    (void)root_read_link(root, namespace, sizeof(namespace), "proc/self/ns/pid");
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%.20s/%.63s/%d", service,
                      namespace, (int)pid); /* fits */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- the tracker's end -------------------------------------------------- */

/* The same user may do anything to us anyway. Other users must belong to the job. */
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

    /* Check this first: a client without permission must not delay the others. */
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
        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); /* fails if the client has left */
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

/* ---- phases through the socket ------------------------------------------ */

enum { ANCESTORS_MAX = 1024, ANSWER_MS = 1000 };

#define SERVICE "spoor-phases"
#define START "start "
#define STOP "stop "
#define DONE "done"

/* ---- the tracker's end -------------------------------------------------- */

static int obey(spoor_session *session, const char *request, struct spoor_error *err)
{
    if (strncmp(request, START, strlen(START)) == 0)
        return spoor_phase_start(session, request + strlen(START), err);
    if (strncmp(request, STOP, strlen(STOP)) == 0)
        return spoor_phase_stop(session, request + strlen(STOP), err);
    return error_set(err, EINVAL, "invalid request");
}

static void answer(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    struct spoor_error err;
    int r = obey(data, request, &err);

    (void)snprintf(ret, JOB_REQUEST_BYTES, "%s", r < 0 ? err.message : DONE); /* fits */
}

int phase_listener_start(struct job_listener *listener, spoor_session *session,
                         struct spoor_error *err)
{
    int r = job_listener_open(listener, SERVICE, getpid());

    if (r == 0)
        r = job_listener_serve(listener, answer, session);
    return r < 0 ? error_sys(err, r, "cannot listen for phases of the job") : 0;
}

/* ---- the job's end ------------------------------------------------------ */

/* Returns a socket to the tracker with this PID, or -1. Any process may take the name of a
 * socket, but not the PID. */
static int connect_to(const struct root *root, pid_t tracker)
{
    AUTO_CLOSE int fd = job_socket_connect(root, SERVICE, tracker);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
        peer.pid != tracker)
        return -1;
    return take_fd(&fd);
}

static void send_to_tracker(int fd, const char *name, bool is_stop,
                            void (*warn)(const char *message))
{
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    char text[JOB_REQUEST_BYTES + 8];
    ssize_t n;

    /* Too long names are truncated. */
    (void)snprintf(text, sizeof(text), "%s%s", is_stop ? STOP : START, name);
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* it has just exited */
    if (poll(&answered, 1, ANSWER_MS) == 0) {
        warn("the tracker does not respond: the phase may be recorded late");
        return;
    }
    n = recv(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (n > 0 && strcmp(text, DONE) != 0)
        warn(text);
}

size_t phase_send(const char *name, bool is_stop, void (*warn)(const char *message))
{
    struct root root;
    pid_t ancestor = getppid();
    size_t count = 0;

    if (root_open(NULL, &root) < 0)
        return 0;
    for (int i = 0; i < ANCESTORS_MAX && ancestor > 0; i++) {
        AUTO_CLOSE int fd = connect_to(&root, ancestor);
        struct pid_stat process;

        if (fd >= 0) {
            count++;
            send_to_tracker(fd, name, is_stop, warn);
        }
        ancestor = pid_stat_read_once(&root, ancestor, &process) < 0 ? 0 : process.parent_pid;
    }
    root_close(&root);
    return count;
}
