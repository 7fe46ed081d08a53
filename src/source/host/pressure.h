/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pressure.h - how long processes were stalled, from /proc/pressure/cpu, memory
 * and io, and from the same files of a cgroup.
 */
#ifndef SOURCE_HOST_PRESSURE_H
#define SOURCE_HOST_PRESSURE_H

#include <stdint.h>

/* Time since boot in which some process was stalled. -EBADMSG: no such figure. */
int pressure_parse(const char *text, uint64_t *ret_some_ns);

#endif
