/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - runs a command under a session, from start to end.
 *
 * Errors are reported before the command runs. After that, no failure of ours may affect
 * the command: if there can be no session, it runs untracked.
 */
#ifndef RUN_TRACK_H
#define RUN_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "run/supervise.h"
#include "spoor/spoor.h"

struct track_options {
    char **command;                   /* NULL-terminated; searched in PATH */
    struct spoor_options session;     /* pid and command are set, and flags added */
    bool waits_for_all;               /* wait until the last process has exited */
    bool reports_untracked;           /* the caller also reports a job that ran untracked */
    bool takes_phases;                /* from processes of the job: see phase_socket.h */
    void (*say)(const char *message); /* called for problems while the job runs */
    /* Called after the fork, while the command waits to run in process `pid`: what is loaded here is not
     * part of its memory. If it fails, the command is not run. NULL: none. */
    int (*prepare)(void *data, pid_t pid, struct spoor_error *err);
    void *prepare_data;
    /* Called when the command runs, if it is tracked, before the first sample is delivered: old
     * files may be replaced now. NULL: none. */
    void (*started)(void *data, spoor_session *session, pid_t pid);
    void *started_data;
    /* Called before we stop with the job, as by Ctrl-Z, and when we go on. NULL: none. */
    void (*stopping)(void *data, bool is_stopping);
    void *stopping_data;
};

struct tracked {
    spoor_session *session; /* stopped; the caller closes it. NULL: the job ran untracked */
    const char *why;        /* it ran untracked: in the error that was given to track() */
    struct supervise_end end;
    uint64_t elapsed_ns; /* from when the command could start to its end */
};

enum track_outcome {
    TRACK_RAN,
    TRACK_REFUSED, /* nothing was run; the message says why */
    TRACK_NO_EXEC, /* the command could not be executed; the error code says why */
};

/* Runs a command to its end. *ret is set if it ran. */
enum track_outcome track(struct track_options *options, struct tracked *ret,
                         struct spoor_error *err);

#endif
