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
#include <stdint.h>
#include <sys/types.h>

#include "spoor/spoor.h"

struct supervise_options {
    pid_t pid;              /* the command, from spawn_start() */
    spoor_session *session; /* NULL: the job runs untracked */
    bool waits_for_all;     /* until the last process of the job has ended */
};

/* How the command ended. */
struct supervise_end {
    int wait_status;       /* as wait(2) reports it */
    uint64_t monotonic_ns; /* when we learned of it */
    bool is_by_our_signal; /* a signal ended it that was sent to us too */
};

/* Returns when the job is over: how it ended is in *ret, the session has been
 * stopped, and the command reaped. What the job left running is named in a warning
 * of the report. Fails only where there is no such child, or where the session could
 * not be stopped; *ret is set in that second case. */
int supervise(const struct supervise_options *options, struct supervise_end *ret,
              struct spoor_error *err);

/* The exit code a shell would give: the command's, or 128 + its signal. */
int supervise_exit_code(int wait_status);

#endif
