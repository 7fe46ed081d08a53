/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_scope.h - asks a systemd manager for a scope: a cgroup for processes that systemd did
 * not start.
 *
 * An ordinary user may not move a process out of the cgroup of a login session. The user's manager
 * may, and delegates the new cgroup to the user. It goes away with the last process in it.
 */
#ifndef CGROUP_SYSTEMD_SCOPE_H
#define CGROUP_SYSTEMD_SCOPE_H

#include <stdint.h>
#include <sys/types.h>

/* A deadline is a time of the monotonic clock. */

/* Connects to a manager's own socket and logs in. Returns a descriptor for the caller to close.
 * -ECONNREFUSED, -ENOENT: nothing listens; -EACCES: we are refused; -EXDEV: the manager is of
 * another PID namespace or user, so that our PIDs mean other processes there; -ETIMEDOUT;
 * -EBADMSG: it is not D-Bus. */
int systemd_connect(const char *path, uint64_t deadline_ns);

/* Moves `job` and `keeper` into a new scope `unit` ("x.scope") and waits until they are there. The
 * controllers for memory, processes and I/O are delegated to us; not that for CPUs, which would
 * change the job's share of them.
 *
 * -EREMOTEIO: the manager refuses or fails; -EMSGSIZE: the name is too long. -EINPROGRESS: the
 * outcome is unknown, and the processes may be moved at any time. */
int systemd_start_scope(int fd, uint64_t deadline_ns, const char *unit, pid_t job,
                        pid_t keeper);

#endif
