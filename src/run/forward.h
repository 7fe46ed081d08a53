/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.h - which signals to forward to the job.
 *
 * The job shares our terminal, session and process group, as if we were not
 * there. So:
 *
 * - A signal that a process sent to us is meant for the job: forwarded.
 * - A signal from the terminal (Ctrl-C, Ctrl-Z, a new window size) goes to the whole group,
 *   so the job has received it: not forwarded, unless the job has left our group.
 * - A signal that the job itself sent, to its group or its parent, is not sent back
 *   to it, if the sender still exists and can be recognized. Nor is a signal caused
 *   by our own writes (SIGPIPE).
 * - An alarm set before we were started would have reached the command: forwarded.
 */
#ifndef RUN_FORWARD_H
#define RUN_FORWARD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* The signals to block and wait for: all of them. A fault of our own still kills us, because
 * the kernel does not let a process block a signal that its own instruction raised. */
void forward_signals(sigset_t *ret);

/* The signals that ask a program to end: SIGINT, SIGTERM, SIGHUP, SIGQUIT. */
void forward_end_signals(sigset_t *ret);

/* Whether a process sent it, not the kernel. */
bool forward_is_sent(const siginfo_t *info);

struct forward_facts {
    pid_t self;
    bool is_from_job;  /* the sender belongs to the job; used only if forward_is_sent() */
    bool shares_group; /* the main process is in our process group */
};

bool forward_is_wanted(const siginfo_t *info, const struct forward_facts *facts);

#endif
