/* SPDX-License-Identifier: Apache-2.0 */
/* vmstat.h - what /proc/vmstat counts and we report. */
#ifndef SOURCE_HOST_VMSTAT_H
#define SOURCE_HOST_VMSTAT_H

#include <stdint.h>

/* Processes killed by the kernel for want of memory, since boot, on the whole
 * machine. -ENOENT: the kernel (before 4.13) does not count them. */
int vmstat_parse_oom_kills(const char *text, uint64_t *ret_count);

#endif
