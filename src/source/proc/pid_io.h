/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_io.h - /proc/PID/io: what a process has read and written.
 *
 * The file of a process already holds what its waited-for children did. Needs
 * the rights of a debugger: -EACCES for a process of another user.
 */
#ifndef SOURCE_PROC_PID_IO_H
#define SOURCE_PROC_PID_IO_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

struct pid_io {
    uint64_t read_chars;    /* bytes that read calls returned */
    uint64_t written_chars; /* bytes that write calls took */
    uint64_t read_bytes;    /* fetched from storage */
    uint64_t written_bytes; /* sent to storage, counted when a page is dirtied */
};

int pid_io_parse(const char *text, struct pid_io *ret);
int pid_io_read(struct cached_file *kept, const struct root *root, pid_t pid,
                struct pid_io *ret);

#endif
