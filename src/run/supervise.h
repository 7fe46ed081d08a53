/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h - stand between the job and whoever started us, unseen.
 *
 * Forwards signals (forward.h), stops and continues with the job, reaps the job's
 * orphans, and tells the session about each process before it is reaped.
 */
#ifndef RUN_SUPERVISE_H
#define RUN_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "spoor/spoor.h"

struct supervise_options {
    pid_t pid;              /* the command, from spawn_start() */
    spoor_session *session; /* NULL: the job runs untracked */
    bool waits_for_all;     /* until the last process of the job has ended */
};

/* Returns when the job is over: its status as wait(2) reports it is in *ret, the
 * session has been stopped, and the command reaped. What the job left running is
 * named in a warning of the report. Fails only where there is no such child, or
 * where the session could not be stopped; *ret is set in that second case. */
int supervise(const struct supervise_options *options, int *ret_wait_status,
              struct spoor_error *err);

/* The exit code a shell would give: the command's, or 128 + its signal. */
int supervise_exit_code(int wait_status);

#endif
