/* SPDX-License-Identifier: Apache-2.0 */
/* schedstat.h - what a thread had of the processors (/proc/TID/schedstat). */
#ifndef SOURCE_PROC_SCHEDSTAT_H
#define SOURCE_PROC_SCHEDSTAT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* In all its life. */
struct schedstat {
    uint64_t run_ns;    /* CPU time */
    uint64_t waited_ns; /* for a processor, up to the last time that it got one */
};

/* -ENOENT: there is no such thread, or the kernel does not count. */
int schedstat_read(const struct root *root, pid_t thread_id, struct schedstat *ret);

int schedstat_parse(const char *text, struct schedstat *ret);

#endif
