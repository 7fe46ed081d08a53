/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.h - which signals to forward to the job, and how to die, stop or be interrupted by one.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- forwarding ---------------------------------------------------------
 *
 * The job shares our terminal, session and process group, as if we were not
 * there. So:
 *
 * - A signal that a process sent to us is meant for the job: forwarded.
 * - A signal from the terminal (Ctrl-C, Ctrl-Z, a new window size) goes to the whole group,
 *   so the job has received it: not forwarded, unless the job has left our group.
 * - A signal that the job itself sent, to its group or its parent, is not sent back
 *   to it, if the sender still exists and can be recognized. Neither is a signal caused
 *   by our own writes (SIGPIPE).
 * - An alarm set before we were started would have reached the command: forwarded.
 */

/* Returns in *ret the signals to block and wait for: all of them. Our own faults still kill us,
 * because the kernel does not let a process block a signal that its own instruction raised. */
void forward_signals(sigset_t *ret);

/* Returns in *ret the signals that terminate a program: SIGINT, SIGTERM, SIGHUP, SIGQUIT. */
void forward_end_signals(sigset_t *ret);

/* Whether a process sent the signal, not the kernel. */
bool forward_is_sent(const siginfo_t *info);

struct forward_facts {
    pid_t self;
    bool is_from_job;  /* the sender belongs to the job; used only if forward_is_sent() */
    bool shares_group; /* the main process is in our process group */
};

bool forward_is_wanted(const siginfo_t *info, const struct forward_facts *facts);

/* ---- dying as the command did -------------------------------------------
 *
 * A shell ends a loop on Ctrl-C only if the command it waited for died of SIGINT, and reports
 * a crash only if it sees one. So a wrapper ends as its command did. To a shell, $? is 128 + N
 * as before.
 */

/* Flushes stdio, then kills this process with `signal`, without a core file: the command has
 * written its own. Returns if the kernel does not deliver the signal, as for the first process
 * of a PID namespace. */
void reraise(int signal);

/* ---- work that a signal interrupts --------------------------------------
 *
 * Runs in a child process: a thread that waits for a frozen file system keeps its whole process
 * from exiting, whatever signals it gets. A child can be left behind.
 */

/* Calls work(data) in a child process and waits for it. After the first SIGINT, SIGTERM, SIGHUP
 * or SIGQUIT, work() has 250 ms to finish; after that, or after a second signal, the child is
 * killed. Returns the result of work() (0 to 255), or minus the number of the signal that
 * interrupted it or killed the child. If fork fails, work() is called here. */
int run_interruptible(int (*work)(void *data), void *data);

/* ---- stopping with the job ----------------------------------------------
 *
 * A shell watches us, not the command. So when the command stops, for whatever reason, we stop
 * by the same signal; and we never stop while the command runs. Three facts shape this file:
 *
 * - Another process, such as a child of the command, may continue the command alone. While
 *   we are stopped we cannot notice that, so a helper process polls the state of the command.
 * - A signal to the process group has continued the command before it wakes us: the kernel
 *   signals the youngest member of a group first. Then we do not continue it again.
 * - A command that does job control, like an interactive shell, has its own process group. A
 *   shell puts only our group into the foreground: we pass the terminal on.
 */

/* Stops this process by `signal`, which may be blocked and whose default action must be to stop
 * the process. Returns when the process is continued, or at once if the kernel drops the
 * signal, as in an orphaned group. */
void stop_by(int signal);

/* Must be called when `signal` has stopped the command, with SIGCONT blocked. Returns when the
 * command has been continued, by us or by another process. */
void stop_with(pid_t command, int signal);
