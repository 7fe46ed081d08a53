/* SPDX-License-Identifier: Apache-2.0 */
#include "run/job_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/helper.h"
#include "base/parse.h"
#include "run/process.h"
#include "source/proc/pid_files.h"
#include "text/escape.h"
#include "text/json_writer.h"
#include "text/utf8.h"

/* ---- the socket --------------------------------------------------------- */

enum {
    BACKLOG = 128,
    REQUEST_MS = 500, /* limit for a silent client, so that others do not wait long */
};

enum { PREFIX_SIZE = 96 };

/* Writes the prefix of a socket's name, to which the PID is added. Returns its length. */
static int make_prefix(const struct root *root, const char *service, char ret[PREFIX_SIZE])
{
    char namespace[64] = "";

    (void)root_read_link(root, namespace, sizeof(namespace),
                         "proc/self/ns/pid"); /* empty on failure */
    return snprintf(ret, PREFIX_SIZE, "%.20s/%.63s/", service, namespace); /* fits */
}

/* Fills the address and returns its size. */
static socklen_t make_address(const struct root *root, const char *service, pid_t pid,
                              struct sockaddr_un *ret)
{
    char prefix[PREFIX_SIZE];
    int length;

    (void)make_prefix(root, service, prefix);
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%s%d", prefix,
                      (int)pid); /* fits */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- the tracker's end -------------------------------------------------- */

/* Whether a client may send requests. A process of the same user can do anything to us anyway;
 * processes of other users must belong to the job. */
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
            return NULL; /* stopped by job_listener_stop(), or out of descriptors */
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

int job_listener_open(struct job_listener *listener, const struct root *root,
                      const char *service, pid_t pid)
{
    int r;

    *listener = (struct job_listener){ .root = ROOT_CLOSED };
    r = root_copy(root, &listener->root);
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

enum { ANCESTORS_MAX = 1024, ANSWER_MS = 1000, STATUS_MS = 100 };
/* Limits in a status: a response has room for both. */
enum { NAME_BYTES = 100, COMMAND_BYTES = 500 };

#define SERVICE "spoor-phases"
#define START "start "
#define STOP "stop "
#define SAMPLE "sample"
#define STATUS "status"
#define DONE "done"

/* ---- the tracker's end -------------------------------------------------- */

static int obey(spoor_session *session, const char *request, struct spoor_error *err)
{
    if (begins_with(request, START))
        return spoor_phase_start(session, request + strlen(START), err);
    if (begins_with(request, STOP))
        return spoor_phase_stop(session, request + strlen(STOP), err);
    if (strcmp(request, SAMPLE) == 0)
        return spoor_session_sample(session, err);
    return error_set(err, EINVAL, "invalid request");
}

/* Metrics of a status, by their names in docs/METRICS.md. */
static const char *const status_metrics[] = { "job_cpu_seconds", "job_rss_bytes",
                                              "job_processes", "job_gpu_utilization_gpus",
                                              "job_gpu_memory_bytes" };

static void add_metrics(spoor_session *session, struct json_writer *json)
{
    double values[256];
    ssize_t count = spoor_session_latest(session, values, ARRAY_SIZE(values));

    for (ssize_t i = 0; i < count; i++) {
        const char *name = spoor_metric_get((size_t)i)->name;

        for (size_t j = 0; j < ARRAY_SIZE(status_metrics); j++) {
            if (strcmp(name, status_metrics[j]) == 0)
                json_add_number(json, name, values[i]);
        }
    }
}

static void add_cut(struct json_writer *json, const char *key, struct buffer *text,
                    size_t bytes)
{
    if (text->text)
        text->text[utf8_whole(text->text, bytes)] = '\0';
    json_add_text(json, key, text->text);
    buffer_done(text);
}

static void write_status(const struct job_run *run, char ret[JOB_REQUEST_BYTES])
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    struct json_writer json = { .out = &out, .style = &json_compact };
    struct buffer name = { 0 }, command = { 0 };

    if (run->options->name)
        escape_terminal(run->options->name, &name);
    escape_command(run->options->command, &command);
    json_begin(&json, NULL, '{');
    json_add_number(&json, "tracker_pid", getpid());
    json_add_number(&json, "pid", run->options->pid);
    add_cut(&json, "name", &name, NAME_BYTES);
    add_cut(&json, "command", &command, COMMAND_BYTES);
    json_add_seconds(&json, "elapsed_seconds", clock_now().monotonic_ns - run->started_ns);
    json_add_number(&json, "sampled_seconds", spoor_session_latest_seconds(run->session));
    add_metrics(run->session, &json);
    json_end(&json);
    if (buffer_error(&out) == 0)
        (void)snprintf(ret, JOB_REQUEST_BYTES, "%s", out.text); /* fits */
}

static void answer(void *data, const char *request, char ret[JOB_REQUEST_BYTES])
{
    const struct job_run *run = data;
    struct spoor_error err;

    if (strcmp(request, STATUS) == 0)
        write_status(run, ret);
    else
        (void)snprintf(ret, JOB_REQUEST_BYTES, "%s",
                       obey(run->session, request, &err) < 0 ? err.message : DONE); /* fits */
}

int phase_listener_start(struct job_listener *listener, const struct root *root,
                         struct job_run *run, struct spoor_error *err)
{
    int r = job_listener_open(listener, root, SERVICE, getpid());

    if (r == 0)
        r = job_listener_serve(listener, answer, run);
    return r < 0 ? error_sys(err, r, "cannot listen for phases of the job") : 0;
}

/* ---- the job's end ------------------------------------------------------ */

/* Returns a socket to the tracker with this PID, or -1. Any process may take the name of a
 * socket, but not the PID. */
static int connect_to(const struct root *root, pid_t tracker, uid_t *ret_user)
{
    AUTO_CLOSE int fd = job_socket_connect(root, SERVICE, tracker);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
        peer.pid != tracker)
        return -1;
    *ret_user = peer.uid;
    return take_fd(&fd);
}

static void send_to_tracker(int fd, const char *name, bool is_stop,
                            void (*warn)(const char *message))
{
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    char text[JOB_REQUEST_BYTES + 8];
    ssize_t n;

    /* Names that are too long are truncated. */
    (void)snprintf(text, sizeof(text), "%s%s", is_stop ? STOP : START, name);
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* the tracker has just exited */
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
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    pid_t ancestor = getppid();
    size_t count = 0;

    if (root_open(NULL, &root) < 0)
        return 0;
    for (int i = 0; i < ANCESTORS_MAX && ancestor > 0; i++) {
        uid_t user;
        AUTO_CLOSE int fd = connect_to(&root, ancestor, &user);
        struct pid_stat process;

        if (fd >= 0) {
            count++;
            send_to_tracker(fd, name, is_stop, warn);
        }
        ancestor = pid_stat_read(NULL, &root, ancestor, &process) < 0 ? 0 : process.parent_pid;
    }
    return count;
}

/* ---- the runs of a user -------------------------------------------------- */

/* Whether a tracker is stopped: it would not respond, and requests must not pile up in its
 * queue. */
static bool is_stopped(const struct root *root, pid_t pid)
{
    struct pid_stat process;

    return pid_stat_read(NULL, root, pid, &process) == 0 && strchr("Tt", process.state);
}

static void request_status(const struct root *root, pid_t tracker,
                           void (*each)(pid_t tracker, const char *status, void *data),
                           void *data)
{
    uid_t user;
    AUTO_CLOSE int fd = connect_to(root, tracker, &user);
    struct pollfd answered = { .fd = fd, .events = POLLIN };
    char text[JOB_REQUEST_BYTES];
    ssize_t n = -1;

    if (fd < 0 || user != geteuid())
        return;
    if (!is_stopped(root, tracker) &&
        send(fd, STATUS, strlen(STATUS), MSG_NOSIGNAL) == (ssize_t)strlen(STATUS) &&
        poll(&answered, 1, STATUS_MS) == 1)
        n = recv(fd, text, sizeof(text) - 1, 0);
    if (n == 0)
        return; /* the tracker has just exited */
    text[n > 0 ? n : 0] = '\0';
    each(tracker, n > 0 ? text : NULL, data);
}

/* The kernel lists all sockets, with "@" before an abstract name. Of the sockets with a given
 * name, only the listening one has this flag. */
#define LISTENS " 00010000 "
#define SOCKETS_BYTES ((size_t)4 << 20) /* if the list is longer, runs may be missing */

void runs_list(void (*each)(pid_t tracker, const char *status, void *data), void *data)
{
    AUTO_FREE char *sockets = malloc(SOCKETS_BYTES);
    char prefix[PREFIX_SIZE], *rest = sockets;
    CLEANUP(root_close) struct root root = ROOT_CLOSED;
    int length;

    if (!sockets || root_open(NULL, &root) < 0)
        return;
    length = make_prefix(&root, SERVICE, prefix);
    if (root_read_start(&root, sockets, SOCKETS_BYTES, "proc/self/net/unix") < 0)
        rest = NULL;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *name = strchr(line, '@');
        const char *number = name ? name + 1 + length : NULL;
        uint64_t pid;

        if (name && strncmp(name + 1, prefix, (size_t)length) == 0 && strstr(line, LISTENS) &&
            parse_whole_u64(number, &pid) == 0 && pid <= INT32_MAX)
            request_status(&root, (pid_t)pid, each, data);
    }
}
