/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_clock.h - the CPU clock of a process: nanoseconds of CPU time of all its
 * threads, ended ones included, its children apart.
 *
 * One system call, 0.2 us, for any process of any user, also one that has ended
 * and was not reaped. A pid says nothing of who it is: ask a kept file first.
 */
#ifndef SOURCE_PROC_CPU_CLOCK_H
#define SOURCE_PROC_CPU_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* -ENOTSUP: the root is not the live machine. -ESRCH: no such process. */
int cpu_clock_read(const struct root *root, pid_t pid, uint64_t *ret_ns);

#endif
