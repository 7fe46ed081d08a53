/* SPDX-License-Identifier: Apache-2.0 */
/* run_delay.h - how long a thread had to wait for a processor (/proc/TID/schedstat). */
#ifndef SOURCE_PROC_RUN_DELAY_H
#define SOURCE_PROC_RUN_DELAY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* In all its life, up to the last time that it got one. -ENOENT: there is no such thread, or the
 * kernel does not count. */
int run_delay_read(const struct root *root, pid_t thread_id, uint64_t *ret_ns);

int run_delay_parse(const char *text, uint64_t *ret_ns);

#endif
