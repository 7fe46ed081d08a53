/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interruptible.h - work that may stall, such as writing a report to a pipe that nobody reads.
 *
 * It is done in a child process, because only another process can be left alone when the kernel
 * does not let it go: a thread that waits for a frozen file system keeps its whole process from
 * ending, whatever signals it gets.
 */
#ifndef RUN_INTERRUPTIBLE_H
#define RUN_INTERRUPTIBLE_H

/* Does work(data) in a child process and waits for it. The first SIGINT, SIGTERM, SIGHUP or
 * SIGQUIT gives it a moment to finish, the second none; then the child is killed. Returns what
 * work() returned (0 to 255), or minus the number of the signal that interrupted it or killed the
 * child. If there can be no child, the work is done here. */
int run_interruptible(int (*work)(void *data), void *data);

#endif
