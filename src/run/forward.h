/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.h - which signals sent to us are meant for the job.
 *
 * The job shares our terminal, session and process group, as if we were not
 * there. So:
 *
 * - A signal that a process sent to us is for the job: forwarded.
 * - A signal of the terminal (Ctrl-C, a new window size) goes to the whole group,
 *   and the job has it already: not forwarded, unless the job has left our group.
 * - A signal that the job itself sent, to its group or its parent, is not given
 *   back to it, if the sender is still there to be recognised. Nor is what our own
 *   writes cause (SIGPIPE).
 * - An alarm set before we were started would have rung in the command: forwarded.
 */
#ifndef RUN_FORWARD_H
#define RUN_FORWARD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* The signals we wait for: all but those a fault of our own raises, those that
 * cannot be caught, and SIGTTIN and SIGTTOU, which stop us as they would the job. */
void forward_signals(sigset_t *ret);

/* Did a process send it, rather than the kernel? */
bool forward_is_sent(const siginfo_t *info);

struct forward_facts {
    pid_t self;
    bool is_from_job;  /* of the sender; only asked where forward_is_sent() */
    bool shares_group; /* the job's first process is in our process group */
};

bool forward_is_wanted(const siginfo_t *info, const struct forward_facts *facts);

#endif
