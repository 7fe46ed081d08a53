/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - programs that have their work done outside the job. Pure.
 *
 * srun, docker and others ask a daemon to start processes. These are children of the daemon and
 * often in another cgroup, perhaps on another machine, so nothing connects them with the job. Only
 * the name of the program is known, not what it asked for: `docker ps` looks like `docker run`.
 */
#ifndef JOB_LAUNCHER_H
#define JOB_LAUNCHER_H

/* The bit of the program with this name, as in /proc/PID/comm; 0: it is none of these. */
unsigned launcher_find(const char *comm);

/* What to say of the programs whose bits are set. Called once for each; `say` gets the name of the
 * program and the rest of the sentence. */
void launcher_describe(unsigned found,
                       void (*say)(const char *name, const char *text, void *data), void *data);

#endif
