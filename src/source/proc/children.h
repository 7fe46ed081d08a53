/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - the children of a process: /proc/PID/task/TID/children.
 *
 * The file of a thread lists only the children of that thread, so the files of all threads must
 * be read. A file may omit a child while others exit; the next look finds the child. Kernels
 * without CONFIG_PROC_CHILDREN have no such file: on these, all of /proc is searched for
 * processes whose parent belongs to the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

typedef void child_found(pid_t child, void *data);

/* Calls `found` for each PID of a list such as "12 15 9 ". Returns their number; -EBADMSG: the
 * list contains something else (after reporting the PIDs before that). */
int children_parse(const char *text, child_found *found, void *data);

/* A buffer that grows with the longest list. A zeroed struct is empty. */
struct children_buffer {
    char *text;
    size_t size;
};
void children_buffer_done(struct children_buffer *buffer);

/* Whether a list must be read into the buffer, for the first time or again with a larger buffer: *n is
 * the result of the last read. If the buffer cannot grow, sets *n to the error. */
enum { CHILDREN_UNREAD = -4096 }; /* no read yet; not an errno value */
bool children_buffer_try(struct children_buffer *buffer, ssize_t *n);

/* Finds the children of every thread of a process. `leader` is the open file of its first
 * thread; if `thread_count` > 1, the files of the other threads are read too. -ENOENT: the
 * process has exited, or the kernel has no such file. */
int children_read(struct cached_file *leader, const struct root *root, pid_t pid,
                  uint64_t thread_count, struct children_buffer *buffer, child_found *found,
                  void *data);

/* Calls `each` for every entry of an open folder whose name is a number, for `most` at most: the
 * rest is not listed. */
int proc_each_number(int folder, size_t most, child_found *each, void *data);

/* Calls `found` for every thread of a process. */
int proc_each_thread(const struct root *root, pid_t pid, child_found *found, void *data);

/* Calls `found` for every descriptor of a process. -EACCES: no permission to read its
 * descriptors. */
int proc_each_fd(const struct root *root, pid_t pid, child_found *found, void *data);

bool children_are_listed(const struct root *root);

/* Calls `found` for every process of the machine. Used if there are no children files. */
int proc_each_pid(const struct root *root, child_found *found, void *data);
