/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h - waits for the job, as an invisible wrapper.
 *
 * Forwards signals (forward.h), stops and continues with the job, reaps the job's
 * orphans, and reports each process to the session before reaping it.
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
    bool waits_for_all;     /* wait until the last process of the job has exited */
    /* Children that our process had before the command. None of them is of the job. */
    const pid_t *inherited;
    size_t inherited_count;
    /* Called before we stop with the job, and when we go on. NULL: none. */
    void (*stopping)(void *data, bool is_stopping);
    void *stopping_data;
};

/* How the command ended. */
struct supervise_end {
    int wait_status;       /* as wait(2) reports it */
    uint64_t monotonic_ns; /* when we learned of it */
    bool is_by_our_signal; /* the signal that killed it was also sent to us */
};

/* Returns when the job has ended: *ret says how, the session is stopped, and the command
 * is reaped. A warning in the report counts the processes left running, and another says
 * if the session hangs. Fails only if there is no such child. */
int supervise(const struct supervise_options *options, struct supervise_end *ret,
              struct spoor_error *err);

/* The exit code a shell would return: that of the command, or 128 + the signal. */
int supervise_exit_code(int wait_status);

#endif
