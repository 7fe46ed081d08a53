/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - start a command that waits until it is being measured.
 *
 *     spawn_start(argv, &spawn, &err);    the child exists and waits at a gate
 *     ...                                 take the first sample of it
 *     spawn_release(&spawn, &err);        it has called exec, or could not
 *
 * The child is set up as if the caller had called exec itself: same process group,
 * terminal, descriptors, limits, signal mask and dispositions. If the caller dies
 * before it opens the gate, the child exits without having run anything.
 */
#ifndef RUN_SPAWN_H
#define RUN_SPAWN_H

#include <sys/types.h>

#include "spoor/spoor.h"

struct spawn {
    pid_t pid;
    int gate_fd; /* one byte opens the gate; if it is closed first, the child exits */
    int exec_fd; /* yields the errno of a failed exec, or end of file */
};

/* Forks. Afterwards the caller is a child subreaper, blocks the signals of forward.h,
 * has SIGCHLD at its default, and has raised its limit of open files to the maximum.
 * Call this before any thread is started. */
int spawn_start(char *const argv[], struct spawn *ret, struct spoor_error *err);

/* Opens the gate and waits for exec. Returns 0, or the negative errno of a failed exec;
 * the child has then been reaped. */
int spawn_release(struct spawn *spawn);

/* Makes the child exit without having run anything. */
void spawn_cancel(struct spawn *spawn);

#endif
