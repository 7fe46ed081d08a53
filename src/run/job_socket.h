/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_socket.h - requests from a process of the job to its tracker: one request, one response.
 *
 * The tracker listens on an abstract Unix socket, "SERVICE/PID namespace/PID". A process of the
 * job finds it by trying the PIDs of its ancestors, so nothing is added to the job's
 * environment or descriptors, and nothing is left behind if the tracker is killed. A job in
 * another PID or network namespace, such as a container, cannot find it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/root.h"
#include "spoor/spoor.h"

/* ---- the socket --------------------------------------------------------- */

enum { JOB_REQUEST_BYTES = 2048 };

/* Called in the listener's thread. `request` contains no NUL. The response is written to `ret`,
 * which is empty at first; if it stays empty, no response is sent. */
typedef void job_answer(void *data, const char *request, char ret[JOB_REQUEST_BYTES]);

/* The tracker's end of the socket. Zeroed: stopped. */
struct job_listener {
    bool is_open, is_running;
    atomic_bool is_stopping;
    int fd;
    pthread_t thread;
    struct root root;
    job_answer *answer;
    void *data;
};

/* Opens the socket: from now on processes find it, and wait for responses. Returns 0 or -errno;
 * -EADDRINUSE: another tracker has that name. */
int job_listener_open(struct job_listener *listener, const struct root *root,
                      const char *service, pid_t pid);

/* Starts a thread that serves processes of the same user, root, and descendants of this
 * process. `listener` must be open and must not move until it is stopped. Returns 0, or -errno
 * after closing it. */
int job_listener_serve(struct job_listener *listener, job_answer *answer, void *data);

/* Waits for a response in progress, then closes the socket. Pending requests get no response.
 * Does nothing if the socket is not open. */
void job_listener_stop(struct job_listener *listener);

/* The job's end: returns a non-blocking socket connected to the listener with that name,
 * or -1. */
int job_socket_connect(const struct root *root, const char *service, pid_t pid);

/* ---- phases through the socket ------------------------------------------
 *
 * The tracker listens on a job socket named after its own PID; only an ancestor can pose as the
 * tracker. It takes a sample before it answers, so that later usage belongs to the phase.
 */

/* The run of a listener; must outlive the listener. */
struct job_run {
    spoor_session *session;
    const struct spoor_options *options; /* process, name and command of the run */
    uint64_t started_ns;                 /* monotonic */
};

/* The tracker's end: starts and stops phases of the session and takes samples on request of descendants of
 * this process, and returns the status of the run (below), until job_listener_stop(). */
int phase_listener_start(struct job_listener *listener, const struct root *root,
                         struct job_run *run, struct spoor_error *err);

/* The job's end: sends the request to all trackers among the ancestors of this process. Returns
 * their number. `warn` is called for each one that refuses or does not respond within a second. */
size_t phase_send(const char *name, bool is_stop, void (*warn)(const char *message));

/* ---- the runs of a user ---------------------------------------------------
 *
 * Another process of the user can request the status of a run from the same socket. The answer
 * is a JSON object: the PIDs, name and command of the run, and figures of its latest sample.
 * The request does not cause a measurement.
 */

/* Calls `each` for every run of this user in our PID and network namespaces; `status` is NULL if its tracker is
 * stopped or does not respond within 0.1 s. */
void runs_list(void (*each)(pid_t tracker, const char *status, void *data), void *data);

/* ---- phases in a file ---------------------------------------------------
 *
 * For gpu-tracker's sub-tracking: compat/tracking/sub_tracking_file.c.
 */

/* The start or stop of a phase. */
struct phase_mark {
    int64_t process_id;
    const char *name;
    bool is_stop;
    double timestamp; /* seconds since 1970 */
};

/* Appends a row to a file, which is created if it does not exist. Several processes may append
 * at the same time. `is_guarded` is for a CSV file with a predictable name: fails if the file
 * is a symbolic link or not a regular file. */
int phase_file_append(const char *path, const struct phase_mark *mark, bool is_guarded,
                      struct spoor_error *err);
