/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_message.h - the D-Bus messages of one conversation: the call that asks a systemd manager
 * for a scope, and the answers to it. Pure.
 *
 * A message is a head of 16 bytes, an array of header fields, padding to 8 bytes, and a body
 * whose types its signature names. Every value is aligned to its size; a text is its length, its
 * bytes and a NUL. The byte order is the machine's own, as systemd's is.
 */
#ifndef CGROUP_SCOPE_MESSAGE_H
#define CGROUP_SCOPE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SCOPE_HEAD_SIZE = 16, SCOPE_CALL_SIZE = 512 };

/* Writes the call that moves two processes into a new scope `unit`. Returns its length;
 * -EMSGSIZE: the name is too long. */
ssize_t scope_call_write(const char *unit, pid_t job, pid_t keeper,
                         uint8_t data[SCOPE_CALL_SIZE]);

/* The length of a whole message, at least SCOPE_HEAD_SIZE, from its head. -EBADMSG: it is not a
 * message of this machine's byte order. */
int scope_message_length(const uint8_t head[SCOPE_HEAD_SIZE], size_t *ret);

/* What a whole message says about the scope `unit`. 0: it exists and holds the processes;
 * -EREMOTEIO: it was refused, or creating it failed; -EAGAIN: nothing; -EBADMSG: damaged. */
int scope_message_outcome(const uint8_t *data, size_t length, const char *unit);

#endif
