/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - start a command that waits until it is being measured.
 *
 *     spawn_start(argv, &spawn, &err);    the child exists and waits at a gate
 *     ...                                 take the first sample of it
 *     spawn_release(&spawn, &err);        it has called exec, or could not
 *
 * The child is as if the caller had called exec itself: same process group,
 * terminal, descriptors, limits, signal mask and dispositions. Should the caller
 * die before it opens the gate, the child ends without having run anything.
 */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

#include <sys/types.h>

#include "spoor/spoor.h"

struct spawn {
    pid_t pid;
    int gate_fd; /* one byte opens the gate; closed unopened, the child ends */
    int exec_fd; /* the errno of a failed exec, or the end of file */
};

/* Forks. From here on the caller is a child subreaper, has the signals of
 * forward.h blocked and SIGCHLD at its default, and may open as many files as it is
 * allowed to. Call it before any thread is started. */
int spawn_start(char *const argv[], struct spawn *ret, struct spoor_error *err);

/* Opens the gate and waits for exec. Returns 0, or the negative errno value with
 * which exec failed; the child has been reaped then. */
int spawn_release(struct spawn *spawn);

/* Ends the child without having run anything. */
void spawn_cancel(struct spawn *spawn);

#endif
