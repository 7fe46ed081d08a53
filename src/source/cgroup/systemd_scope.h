/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_scope.h - asks a systemd manager for a scope: a cgroup with processes in it that
 * were started by somebody else, here by us.
 *
 * An ordinary user may not move a process out of the cgroup of a login session; the user's
 * manager may, and gives the new cgroup to the user together with its controllers. It goes
 * away by itself with the last process in it.
 *
 * All waiting has an end: a deadline of the monotonic clock.
 */
#ifndef SOURCE_CGROUP_SYSTEMD_SCOPE_H
#define SOURCE_CGROUP_SYSTEMD_SCOPE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/cgroup/systemd_address.h"

struct systemd_connection {
    int fd;
    bool is_direct;
    uint32_t serial; /* of the last call */
    uint64_t deadline_ns;
};

/* Connects and says who we are; the manager itself has not been asked anything then. On
 * success the caller ends it with systemd_disconnect(). -ECONNREFUSED, -ENOENT: nobody listens;
 * -EACCES: we are refused; -EXDEV: whoever listens is of another pid namespace or user, so that
 * our pids would be other processes there; -ETIMEDOUT; -EBADMSG: it speaks something else. */
int systemd_connect(const struct systemd_address *address, uint64_t deadline_ns,
                    struct systemd_connection *ret);
void systemd_disconnect(struct systemd_connection *connection);

struct systemd_scope {
    const char *name; /* "x.scope"; nobody else's */
    const char *description;
    const pid_t *pids; /* which processes are moved into it */
    size_t pids_count;
};

/* Has a scope made and waits until it is. It is handed to us to make cgroups in, with the
 * controllers for memory, processes and I/O; not that for CPUs, which would change what share
 * of them the job gets.
 *
 * -EACCES, -ENOENT, -EREMOTEIO: the manager refuses, is not there, has another reason: nothing
 * has been moved. -ECANCELED: it tried and failed. -EINPROGRESS: it was asked, and what became
 * of that we do not know: the processes may be moved at any time. */
int systemd_start_scope(struct systemd_connection *connection,
                        const struct systemd_scope *scope);

#endif
