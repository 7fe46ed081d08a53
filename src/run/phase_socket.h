/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_socket.h - how a process of the job marks the start or end of a phase.
 *
 * The tracker listens on a job socket (job_socket.h) that is named after its own PID; only an
 * ancestor can pose as the tracker. It takes a sample before it answers: what the job does next
 * belongs to the phase.
 */
#ifndef RUN_PHASE_SOCKET_H
#define RUN_PHASE_SOCKET_H

#include <stdbool.h>

#include "run/job_socket.h"
#include "spoor/spoor.h"

/* The tracker's end: starts and stops phases of the session as the descendants of this process ask,
 * until job_listener_stop(). */
int phase_listener_start(struct job_listener *listener, spoor_session *session,
                         struct spoor_error *err);

/* The job's end: tells all trackers that this process descends from. Returns how many there are;
 * 0: none. `say` is called for each one that refuses or does not respond within a second. */
size_t phase_tell(const char *name, bool is_stop, void (*say)(const char *message));

#endif
