/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reraise.h - dies of the signal that killed the command.
 *
 * A shell ends a loop on Ctrl-C only if the command it waited for died of SIGINT, and reports
 * a crash only if it sees one. So a wrapper ends as its command did. To a shell, $? is 128 + N
 * as before.
 */
#ifndef RUN_RERAISE_H
#define RUN_RERAISE_H

/* Flushes stdio, then kills this process with `signal`, without a core file: the command has
 * written its own. Returns if the kernel does not deliver it, as to the first process of a
 * pid namespace. */
void reraise(int signal);

#endif
