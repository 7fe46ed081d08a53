/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - runs a command under a session, from start to end.
 *
 * Errors are reported before the command runs. After that, no failure of ours may affect the
 * command: if no session can be opened, it runs untracked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "spoor/spoor.h"

/* ---- waiting for the job ------------------------------------------------
 *
 * Forwards signals (signals.h), stops and continues with the job, reaps the job's
 * orphans, and reports each process to the session before reaping it.
 */

struct supervise_options {
    const struct root *root; /* without /proc fewer processes are found */
    pid_t pid;               /* the command, from spawn_start() */
    spoor_session *session;  /* NULL: the job runs untracked */
    bool waits_for_all;      /* wait until the last process of the job has exited */
    /* Children that our process had before the command. They do not belong to the job. */
    const pid_t *inherited;
    size_t inherited_count;
    /* Called before we stop with the job, for example by Ctrl-Z, and after we continue. NULL:
     * none. */
    void (*stopping)(void *data, bool is_stopping);
    void *stopping_data;
};

/* How the command ended. */
struct supervise_end {
    int wait_status;       /* as reported by wait(2) */
    uint64_t monotonic_ns; /* when we noticed that it ended */
    bool is_by_our_signal; /* the signal that killed it was also sent to us */
};

/* Waits until the job has ended: then *ret describes how the command ended, the session is
 * stopped, and the command is reaped. Warnings in the report count the processes left running,
 * and mention a session that hangs. Fails only if there is no such child. */
int supervise(const struct supervise_options *options, struct supervise_end *ret,
              struct spoor_error *err);

/* Returns the exit code that a shell would return: the command's, or 128 + the signal. */
int supervise_exit_code(int wait_status);

/* ---- a command under a session ------------------------------------------ */

struct track_options {
    char **command;               /* NULL-terminated; searched in PATH */
    struct spoor_options session; /* track() sets pid and command, and adds flags */
    struct supervise_options
        supervision;        /* track() sets root, pid, session and inherited children */
    bool reports_untracked; /* the caller also reports a job that ran untracked */
    bool takes_phases;      /* accepts phases from processes of the job: see job_socket.h */
    void (*warn)(const char *message); /* called for problems while the job runs */
    /* Called after the fork, while process `pid` waits to call exec. Libraries loaded in this
     * callback do not add to its memory. If it fails, the command is not run. NULL: none. */
    int (*prepare)(void *data, pid_t pid, struct spoor_error *err);
    void *prepare_data;
    /* Called when the command runs and is tracked, before the first sample is delivered: old
     * files may be replaced now. NULL: none. */
    void (*started)(void *data, spoor_session *session, pid_t pid);
    void *started_data;
};

struct tracked {
    spoor_session *session; /* stopped; the caller closes it. NULL: the job ran untracked */
    const char *why; /* why the job ran untracked: a message in the error given to track() */
    struct supervise_end end;
    uint64_t elapsed_ns; /* from when the command could start to its end */
};

enum track_outcome {
    TRACK_RAN,
    TRACK_REFUSED, /* nothing was run; the error has the reason */
    TRACK_NO_EXEC, /* exec failed; the error has its code */
};

/* Runs a command until it ends. *ret is set if the command ran. */
enum track_outcome track(struct track_options *options, struct tracked *ret,
                         struct spoor_error *err);
