/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.h - whom a process has started: /proc/PID/task/TID/children.
 *
 * The file of a thread lists the children of that thread alone, so every thread
 * must be asked. It may skip a child while others end; the next look finds it.
 * Kernels without CONFIG_PROC_CHILDREN have no such file: then all of /proc is
 * searched for processes whose parent is ours.
 */
#ifndef SOURCE_PROC_CHILDREN_H
#define SOURCE_PROC_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

typedef void child_found(pid_t child, void *data);

/* Calls `found` for each pid of a list as "12 15 9 ". Returns how many; -EBADMSG: it
 * holds something else (what stood before it was found). */
int children_parse(const char *text, child_found *found, void *data);

/* Text that grows with the longest list seen. Zeroed is empty. */
struct children_buffer {
    char *text;
    size_t size;
};
void children_buffer_done(struct children_buffer *buffer);

/* Doubles it. -EFBIG: it is as large as it may get. */
int children_buffer_grow(struct children_buffer *buffer);

/* The children of every thread of a process. `leader` is the kept file of its first
 * thread; `thread_count` > 1 has the others listed and asked. -ENOENT: the process
 * has ended, or the kernel has no such file. */
int children_read(struct cached_file *leader, const struct root *root, pid_t pid,
                  uint64_t thread_count, struct children_buffer *buffer, child_found *found,
                  void *data);

/* Calls `found` for every thread of a process. */
int proc_each_thread(const struct root *root, pid_t pid, child_found *found, void *data);

/* Does this kernel have the files? */
bool children_are_listed(const struct root *root);

/* Calls `found` for every process of the machine: the way without children files. */
int proc_each_pid(const struct root *root, child_found *found, void *data);

#endif
