/* SPDX-License-Identifier: Apache-2.0 */
/* pid_cmdline.h - the arguments of a process, for a run that did not start it. */
#ifndef SOURCE_PROC_PID_CMDLINE_H
#define SOURCE_PROC_PID_CMDLINE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"

/* Splits the file's text, arguments that each end with a NUL, into at most
 * `capacity` - 1 pointers and a NULL. Returns how many. The pointers lead into `text`,
 * which must be followed by one more NUL. */
size_t cmdline_split(char *text, size_t length, const char **arguments, size_t capacity);

/* Reads the arguments, cut to `size`, and ends them with a NUL. Returns the length; 0: there are none (a zombie,
 * a process during exec). Hostile text. */
ssize_t pid_cmdline_read(const struct root *root, pid_t pid, char *text, size_t size);

#endif
