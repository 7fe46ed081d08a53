/* SPDX-License-Identifier: Apache-2.0 */
#include "run/phase_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "source/proc/pid_files.h"

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

/* A socket to the tracker that has this pid, or -1. Anyone may take the name of a socket, but not
 * the pid. */
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

static void tell_one(int fd, const char *name, bool is_stop, void (*say)(const char *message))
{
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    char text[JOB_REQUEST_BYTES + 8];
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
        ancestor = pid_stat_read_once(&root, ancestor, &process) < 0 ? 0 : process.parent_pid;
    }
    root_close(&root);
    return count;
}
