/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd_scope.h - requests a scope, a cgroup for processes that systemd did not start, from a
 * systemd manager.
 *
 * An ordinary user may not move a process out of the cgroup of a login session. The user's
 * manager may, and delegates the new cgroup to the user. The scope is removed when its last
 * process exits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The D-Bus messages of one conversation: the call for a scope, and the replies to it. Pure.
 *
 * A message is a head of 16 bytes, an array of header fields, padding to 8 bytes, and a body.
 * The signature field names the types in the body. Every value is aligned to its size; a text
 * is its length, its bytes and a NUL. The byte order is the machine's own, which systemd uses
 * too. */

enum { SCOPE_HEAD_SIZE = 16, SCOPE_CALL_SIZE = 512 };

/* Writes the call that moves two processes into a new scope `unit`. Returns its length;
 * -EMSGSIZE: the name is too long. */
ssize_t scope_call_write(const char *unit, pid_t job, pid_t keeper,
                         uint8_t data[SCOPE_CALL_SIZE]);

/* Returns the length of a whole message, at least SCOPE_HEAD_SIZE, from its head. -EBADMSG:
 * not a message in this machine's byte order. */
int scope_message_length(const uint8_t head[SCOPE_HEAD_SIZE], size_t *ret);

/* Finds the outcome for the scope `unit` in a whole message. 0: the scope exists and holds the
 * processes; -EREMOTEIO: the scope was refused, or creating it failed; -EAGAIN: the message is
 * about another unit or event; -EBADMSG: damaged. */
int scope_message_outcome(const uint8_t *data, size_t length, const char *unit);

/* Deadlines are monotonic times. */

/* Connects to a manager's own socket and logs in. Returns a descriptor for the caller to close.
 * -ECONNREFUSED, -ENOENT: no manager is listening; -EACCES: permission denied; -EXDEV: the
 * manager belongs to another PID namespace or user, so that our PIDs name other processes
 * there; -ETIMEDOUT; -EBADMSG: the peer does not speak D-Bus. */
int systemd_connect(const char *path, uint64_t deadline_ns);

/* Moves `job` and `keeper` into a new scope `unit` ("x.scope") and waits until both are in it.
 * The controllers for memory, processes and I/O are delegated to us, but not the CPU
 * controller, which would change the job's share of the CPUs.
 *
 * -EREMOTEIO: the manager refused or failed; -EMSGSIZE: the name is too long. -EINPROGRESS:
 * the outcome is unknown, and the processes may be moved at any time. */
int systemd_start_scope(int fd, uint64_t deadline_ns, const char *unit, pid_t job,
                        pid_t keeper);

/* A process that does nothing but keep a systemd scope alive.
 *
 * systemd removes a scope, and with it the kernel's counts for the job, as soon as its last
 * process has exited, before the counts can be read. So a hidden child (hidden_child.h)
 * stays in a cgroup next to the job's. It exits on request, or when the tracker exits for
 * any reason. */

/* Zeroed: no keeper. */
struct scope_keeper {
    pid_t pid;
    int fd; /* the keeper lives until all copies of this are closed */
};

/* Starts a keeper. -ENOSYS: the kernel is older than 5.9. */
int scope_keeper_start(struct scope_keeper *ret);

/* Ends the keeper and waits for its exit. */
void scope_keeper_stop(struct scope_keeper *keeper);
