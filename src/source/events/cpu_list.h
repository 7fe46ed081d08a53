/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_list.h - on which CPUs a process may come to run. */
#ifndef SOURCE_EVENTS_CPU_LIST_H
#define SOURCE_EVENTS_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/root.h"

/* From a list as "0-3,8". Returns how many there are, -E2BIG: more than `capacity`,
 * -EBADMSG: not such a list. */
int cpu_list_parse(const char *text, unsigned *cpus, size_t capacity);

/* All CPUs that are online or, where those do not fit, the ones the process is bound to: what
 * is bound can unbind itself, so the first are the surer answer. Returns how many, -E2BIG
 * where neither fits, or another -errno. `*ret_is_partial`: it may come to run on others. */
int cpu_list_of_process(const struct root *root, pid_t pid, unsigned *cpus, size_t capacity,
                        bool *ret_is_partial);

#endif
