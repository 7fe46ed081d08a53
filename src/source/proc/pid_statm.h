/* SPDX-License-Identifier: Apache-2.0 */
/* pid_statm.h - /proc/PID/statm: the cheapest look at a process's memory. */
#ifndef SOURCE_PROC_PID_STATM_H
#define SOURCE_PROC_PID_STATM_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* All 0 for a process that has ended and was not reaped yet. */
struct pid_statm {
    uint64_t size_pages;
    uint64_t resident_pages;
    uint64_t shared_pages; /* the part of resident that a file or shared memory backs */
};

int pid_statm_parse(const char *text, struct pid_statm *ret);
int pid_statm_read(struct cached_file *kept, const struct root *root, pid_t pid,
                   struct pid_statm *ret);

#endif
