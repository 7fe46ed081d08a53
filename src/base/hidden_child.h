/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_child.h - a helper process that does not disturb the program: its exit sends no
 * SIGCHLD, and only a wait with __WALL or __WCLONE returns it.
 */
#pragma once

#include <sys/types.h>

/* Like fork(), but returns -errno on failure. The child has the name `name` (at most 15 bytes)
 * from the start, is in its own session, and blocks all signals. It may only make system calls:
 * the program may have other threads. */
pid_t hidden_child_fork(const char *name);

/* Called in the child: makes `fd` descriptor 0 and `output_fd` (0: none) descriptor 1, and
 * closes all other descriptors. 0 or -errno; -ENOSYS: Linux is older than 5.9, and the other
 * descriptors stay open. */
int hidden_child_keep_only(int fd, int output_fd);

/* Waits until a child, hidden or not, has ended. */
void child_reap(pid_t pid);
