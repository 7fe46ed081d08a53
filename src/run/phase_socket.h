/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_socket.h - how a process of the job tells its tracker where a phase starts or stops.
 *
 * The tracker listens on an abstract Unix socket that is named after its pid and its pid namespace.
 * A process of the job finds it by trying its ancestors, so nothing is added to the job's
 * environment or descriptors, nothing is left behind if the tracker is killed, and nobody but an
 * ancestor can pose as the tracker. The tracker takes a sample before it answers: what the job
 * does next belongs to the phase.
 *
 * A job in another pid or network namespace, such as a container, does not find it.
 */
#ifndef RUN_PHASE_SOCKET_H
#define RUN_PHASE_SOCKET_H

#include <pthread.h>
#include <stdbool.h>

#include "base/root.h"
#include "spoor/spoor.h"

/* The tracker's end. Zeroed is stopped. */
struct phase_listener {
    bool is_running;
    int fd;
    pthread_t thread;
    spoor_session *session;
    struct root root;
};

/* Starts a thread that starts and stops phases of the session as the descendants of this process
 * say. `listener` must not move until it is stopped. */
int phase_listener_start(struct phase_listener *listener, spoor_session *session,
                         struct spoor_error *err);
void phase_listener_stop(struct phase_listener *listener);

/* The job's end: tells all trackers that this process descends from. Returns how many there are;
 * 0: none. `say` is called for each one that refuses or does not respond within a second. */
size_t phase_tell(const char *name, bool is_stop, void (*say)(const char *message));

#endif
