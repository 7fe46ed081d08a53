/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_memory.h - do two processes have one memory?
 *
 * A child made by vfork() or posix_spawn() runs in its parent's memory until it calls
 * exec. Each of the two seems to have all of it, mapped by nobody else.
 */
#ifndef SOURCE_PROC_SAME_MEMORY_H
#define SOURCE_PROC_SAME_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"

/* One system call, 0.3 us. False where it cannot be told: not the live machine, another
 * user's process, a kernel without kcmp. */
bool same_memory(const struct root *root, pid_t a, pid_t b);

#endif
