/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - the command of a process as one line, as a shell takes it; safe for a terminal. */
#ifndef JOB_COMMAND_LINE_H
#define JOB_COMMAND_LINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"

enum { COMMAND_LINE_MAX = 256 }; /* bytes; a longer one is cut and ends in "..." */

/* `is_cut`: the arguments are not complete. The caller frees it; NULL: out of memory. */
char *command_line_make(const char *const *arguments, bool is_cut);

/* The same for a process that runs. NULL: it cannot be read, or exec has not laid it out yet. */
char *command_line_read(const struct root *root, pid_t pid);

#endif
