/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h - the command of a process as one safe line in shell syntax. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"

enum { COMMAND_LINE_MAX = 256 }; /* bytes; longer lines are truncated and end in "..." */

/* Formats the arguments. `is_cut`: the arguments are incomplete. The caller frees the result;
 * NULL: out of memory. */
char *command_line_make(const char *const *arguments, bool is_cut);

/* Like command_line_make(), for a running process. NULL: its command cannot be read, or exec
 * has not set it up yet. */
char *command_line_read(const struct root *root, pid_t pid);
