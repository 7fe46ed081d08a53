/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - stops with the job and continues with it.
 *
 * A shell watches us, not the command. So when the command stops, for whatever reason, we stop
 * by the same signal; and we never stop while the command runs. Three facts shape this file:
 *
 * - A process may continue the command alone, as a child of the command may. While we are
 *   stopped we cannot notice that, so a helper process polls the state of the command.
 * - A signal to the process group has continued the command before it wakes us: the kernel
 *   signals the youngest member of a group first. Then it is not continued again.
 * - A command that does job control, as an interactive shell, has its own process group. A
 *   shell that puts us into the foreground does not know that group: we pass the terminal on.
 */
#ifndef RUN_STOP_H
#define RUN_STOP_H

#include <sys/types.h>

/* Stops this process by `signal`, one that stops by default, although it is blocked. Returns
 * when it is continued, or at once if the kernel drops the signal, as in an orphaned group. */
void stop_by(int signal);

/* Call it when `signal` has stopped the command, with SIGCONT blocked. Returns when the
 * command has been continued, by us or by another process. */
void stop_with(pid_t command, int signal);

#endif
