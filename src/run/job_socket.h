/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_socket.h - how a process of the job speaks to its tracker: one request, one answer.
 *
 * The tracker listens on an abstract Unix socket, "SERVICE/PID namespace/PID". A process of the job
 * finds it by trying its own PID and those of its ancestors, so nothing is added to the job's
 * environment or descriptors, and nothing is left behind if the tracker is killed. A job in another
 * PID or network namespace, such as a container, does not find it.
 */
#ifndef RUN_JOB_SOCKET_H
#define RUN_JOB_SOCKET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "base/root.h"

enum { JOB_REQUEST_BYTES = 1024 };

/* Called in the thread of the listener. `request` has no NUL inside. The answer is written to
 * `ret`, which is an empty string; left empty, there is none. */
typedef void job_answer(void *data, const char *request, char ret[JOB_REQUEST_BYTES]);

/* The tracker's end. Zeroed is stopped. */
struct job_listener {
    bool is_open, is_running;
    atomic_bool is_stopping;
    int fd;
    pthread_t thread;
    struct root root;
    job_answer *answer;
    void *data;
};

/* From now on processes find it, and wait for their answers. 0 or -errno; -EADDRINUSE: another tracker has that
 * name. */
int job_listener_open(struct job_listener *listener, const char *service, pid_t pid);

/* Answers processes of the same user, root, and descendants of this process, in a thread. `listener`, which is open,
 * must not move until it is stopped. 0 or -errno: it is closed. */
int job_listener_serve(struct job_listener *listener, job_answer *answer, void *data);

/* Waits for the answer that may be under way. Requests that wait are not answered. Nothing happens if it is not
 * open. */
void job_listener_stop(struct job_listener *listener);

/* The job's end: a socket to the listener of that name, or -1. It does not block. */
int job_socket_connect(const struct root *root, const char *service, pid_t pid);

#endif
