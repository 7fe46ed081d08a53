/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_child.h - a helper process that does not disturb the program: its end sends no SIGCHLD,
 * and no wait() returns it except one with __WALL or __WCLONE.
 */
#ifndef BASE_HIDDEN_CHILD_H
#define BASE_HIDDEN_CHILD_H

#include <sys/types.h>

/* As fork(); -errno on failure. The child has the name `name` (at most 15 bytes) from its first
 * moment, is in its own session, and blocks all signals. It may only make system calls: the
 * program may have other threads. */
pid_t hidden_child_fork(const char *name);

/* In the child: closes all files except `fd`, which becomes descriptor 0, and `output_fd`, unless
 * that is 0, which becomes descriptor 1. 0 or -errno; -ENOSYS: Linux is older than 5.9, and the
 * files stay open. */
int hidden_child_keep_only(int fd, int output_fd);

/* Waits until the child has ended. */
void hidden_child_reap(pid_t pid);

#endif
