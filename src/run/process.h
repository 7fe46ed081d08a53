/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - processes as the supervisor sees them, in /proc and as their parent.
 */
#ifndef RUN_PROCESS_H
#define RUN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/proc/pid_files.h" /* for programs: pid_stat_read_once() */

/* Whether it has exited: it is a zombie, or does not exist. */
bool process_has_ended(const struct root *root, pid_t pid);

/* Whether `pid` is a descendant of `ancestor`. False if it has exited. */
bool process_descends(const struct root *root, pid_t pid, pid_t ancestor);

/* Waits for the end of a child. */
void process_reap(pid_t pid);

/* Copies the children of all threads of a process, at most `capacity`. Returns their
 * number; -ENOENT: it has exited, or the kernel does not list children. */
ssize_t process_children(const struct root *root, pid_t pid, pid_t *buf, size_t capacity);

/* Our own children, at most `capacity`, without helpers: a program that starts some and then calls exec for us
 * leaves them to us. Returns their number. */
size_t process_own_children(pid_t *buf, size_t capacity);

/* Counts the live descendants of a process, without zombies, agents (spoor.h) and `except`.
 * Counts up to 4096. */
size_t process_count_descendants(const struct root *root, pid_t pid, pid_t except);

#endif
