/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_keeper.h - a process that does nothing, so that a scope of systemd's stays.
 *
 * systemd removes a scope as soon as its last process has ended, and with it all that the
 * kernel had counted for the job: before we could read it. So a hidden child (hidden_child.h) is in
 * it, in a directory beside the job's, until we have. It ends when it is told to or when we have
 * ended, for whatever reason.
 */
#ifndef CGROUP_SCOPE_KEEPER_H
#define CGROUP_SCOPE_KEEPER_H

#include <sys/types.h>

/* Zeroed is none. */
struct scope_keeper {
    pid_t pid;
    int fd; /* it lives until all copies of this are closed */
};

/* -ENOSYS: the kernel is older than 5.9. */
int scope_keeper_start(struct scope_keeper *ret);

/* Ends it and waits for its end. */
void scope_keeper_stop(struct scope_keeper *keeper);

#endif
