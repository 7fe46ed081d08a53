/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - processes as seen by the supervisor, in /proc and as their parent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/proc/pid_files.h"
#include "spoor/spoor.h"

/* ---- looking at processes ----------------------------------------------- */

/* Whether `pid` is a descendant of `ancestor`. False if `pid` has exited. */
bool process_descends(const struct root *root, pid_t pid, pid_t ancestor);

/* Finds a process by its name, as in /proc/PID/comm: a process of this user or, for root, of
 * any user. If descendants of a process have the same name, the ancestor is returned. -ESRCH:
 * there is none; -ENOTUNIQ: there are several. */
int process_find_named(const char *name, pid_t *ret, struct spoor_error *err);

/* Copies the PIDs of the children of all threads of a process, at most `capacity`. Returns
 * their number; -ENOENT: it has exited, or the kernel does not list children. */
ssize_t process_children(const struct root *root, pid_t pid, pid_t *buf, size_t capacity);

/* Lists our own children, at most `capacity`, without helpers. A program may have started
 * children before it called exec to run us. Returns their number. */
size_t process_own_children(pid_t *buf, size_t capacity);

/* Counts live descendants, up to 4096, without zombies, agents (spoor.h) and `except`. */
size_t process_count_descendants(const struct root *root, pid_t pid, pid_t except);

/* ---- starting a command -------------------------------------------------
 *
 *     spawn_start(argv, &spawn, &err);    the child exists and waits at a gate
 *     ...                                 take the first sample of it
 *     spawn_release(&spawn);              it has called exec, or could not
 *
 * The child is set up as if the caller had called exec itself: same process group,
 * terminal, descriptors, limits, signal mask and dispositions. If the caller dies
 * before it opens the gate, the child exits without having run anything.
 */

struct spawn {
    pid_t pid;
    int gate_fd; /* one byte opens the gate; if closed before that, the child exits */
    int exec_fd; /* returns the errno of a failed exec, or end of file */
};

/* Forks. Afterwards the caller is a child subreaper, blocks the signals of signals.h, has
 * SIGCHLD at its default, and has raised its limit of open files to the maximum. Must be called
 * before any thread is started. */
int spawn_start(char *const argv[], struct spawn *ret, struct spoor_error *err);

/* Opens the gate and waits for exec. Returns 0, or the negative errno of a failed exec;
 * the child has then been reaped. */
int spawn_release(struct spawn *spawn);

/* Makes the child exit without having run anything. */
void spawn_cancel(struct spawn *spawn);
