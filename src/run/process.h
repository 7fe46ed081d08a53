/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - the little that the supervisor asks of /proc about a process.
 */
#ifndef RUN_PROCESS_H
#define RUN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/proc/pid_stat.h"

/* -ENOENT or -ESRCH: there is no such process. */
int process_read(const struct root *root, pid_t pid, struct pid_stat *ret);

/* Has it ended? A zombie has; so has a pid that is gone. */
bool process_has_ended(const struct root *root, pid_t pid);

/* Is `pid` a descendant of `ancestor`? False where it has ended already. */
bool process_descends(const struct root *root, pid_t pid, pid_t ancestor);

/* Copies the children of all threads of a process, at most `capacity`. Returns how
 * many; -ENOENT: it has ended, or this kernel does not tell. */
ssize_t process_children(const struct root *root, pid_t pid, pid_t *buf, size_t capacity);

/* How many descendants of a process are alive, zombies and agents (spoor.h) apart, without
 * `except` itself. Counts up to 4096. */
size_t process_count_descendants(const struct root *root, pid_t pid, pid_t except);

#endif
