/* SPDX-License-Identifier: Apache-2.0 */
/* loadavg.h - /proc/loadavg: the pid that was given last. */
#ifndef SOURCE_HOST_LOADAVG_H
#define SOURCE_HOST_LOADAVG_H

#include <stdint.h>

/* The last number of "0.00 0.01 0.05 1/89 4242": the newest pid or thread id of our pid
 * namespace. While it stands still, no process has been made. */
int loadavg_parse_last_pid(const char *text, uint64_t *ret);

#endif
