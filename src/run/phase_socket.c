/* SPDX-License-Identifier: Apache-2.0 */
#include "run/phase_socket.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread_start.h"
#include "run/process.h"

enum {
    BACKLOG = 128,
    ANCESTORS_MAX = 1024,
    REQUEST_BYTES = 1024, /* a name that does not fit is too long for a phase */
    REQUEST_MS = 100,     /* a client that says nothing must not keep the others waiting */
    ANSWER_MS = 1000,
};

#define START "start "
#define STOP "stop "
#define DONE "done"

/* Returns the size of the address. */
static socklen_t make_address(const struct root *root, pid_t tracker, struct sockaddr_un *ret)
{
    char namespace[64] = "";
    int length;

    (void)root_read_link(root, namespace, sizeof(namespace), "proc/self/ns/pid"); /* or none */
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "spoor-phases/%.63s/%d",
                      namespace, (int)tracker); /* fits */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- the tracker's end -------------------------------------------------- */

/* The user could do anything to us. Others may speak only for the job. */
static bool is_allowed(const struct phase_listener *listener, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0 ||
            process_descends(&listener->root, peer.pid, getpid()));
}

static int obey(spoor_session *session, const char *request, struct spoor_error *err)
{
    if (strncmp(request, START, strlen(START)) == 0)
        return spoor_phase_start(session, request + strlen(START), err);
    if (strncmp(request, STOP, strlen(STOP)) == 0)
        return spoor_phase_stop(session, request + strlen(STOP), err);
    return error_set(err, EINVAL, "invalid request");
}

static void answer(const struct phase_listener *listener, int fd)
{
    struct timeval patience = { .tv_usec = REQUEST_MS * 1000 };
    char request[REQUEST_BYTES];
    struct spoor_error err;
    const char *text = DONE;
    ssize_t n;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    n = recv(fd, request, sizeof(request) - 1, 0);
    if (n <= 0 || !is_allowed(listener, fd))
        return;
    request[n] = '\0';
    if (strlen(request) != (size_t)n)
        text = "a phase name must not contain NUL";
    else if (obey(listener->session, request, &err) < 0)
        text = err.message;
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); /* if it still waits */
}

static void *serve(void *data)
{
    const struct phase_listener *listener = data;

    for (;;) {
        AUTO_CLOSE int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            answer(listener, fd);
        else if (errno != EINTR && errno != ECONNABORTED)
            return NULL; /* phase_listener_stop(), or no descriptor is left */
    }
}

static int listen_for_job(const struct root *root)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;
    socklen_t size = make_address(root, getpid(), &address);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -errno;
    return take_fd(&fd);
}

int phase_listener_start(struct phase_listener *listener, spoor_session *session,
                         struct spoor_error *err)
{
    int r;

    *listener = (struct phase_listener){ .session = session, .root = ROOT_CLOSED };
    r = root_open(NULL, &listener->root);
    if (r < 0)
        return error_sys(err, r, "cannot open '/'");
    listener->fd = listen_for_job(&listener->root);
    r = listener->fd < 0 ? listener->fd
                         : thread_start_quiet(&listener->thread, serve, listener);
    listener->is_running = r == 0;
    if (r < 0) {
        if (listener->fd >= 0)
            close(listener->fd);
        root_close(&listener->root);
    }
    return r < 0 ? error_sys(err, r, "cannot listen for phases of the job") : 0;
}

void phase_listener_stop(struct phase_listener *listener)
{
    if (!listener->is_running)
        return;
    listener->is_running = false;
    (void)shutdown(listener->fd, SHUT_RDWR); /* ends accept4() */
    (void)pthread_join(listener->thread, NULL);
    close(listener->fd);
    root_close(&listener->root);
}

/* ---- the job's end ------------------------------------------------------ */

/* A socket to the tracker that has this pid, or -1. Anyone may take the name of a socket, but not
 * the pid. */
static int connect_to(const struct root *root, pid_t tracker)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;
    socklen_t address_size = make_address(root, tracker, &address);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, address_size) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid != tracker)
        return -1;
    return take_fd(&fd);
}

static void tell_one(int fd, const char *name, bool is_stop, void (*say)(const char *message))
{
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    char text[REQUEST_BYTES + 8];
    ssize_t n;

    (void)snprintf(text, sizeof(text), "%s%s", is_stop ? STOP : START, name); /* or too long */
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* it has ended just now */
    if (poll(&answered, 1, ANSWER_MS) == 0) {
        say("the tracker does not respond: the phase may be recorded late");
        return;
    }
    n = recv(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (n > 0 && strcmp(text, DONE) != 0)
        say(text);
}

size_t phase_tell(const char *name, bool is_stop, void (*say)(const char *message))
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
            tell_one(fd, name, is_stop, say);
        }
        ancestor = process_read(&root, ancestor, &process) < 0 ? 0 : process.parent_pid;
    }
    root_close(&root);
    return count;
}
