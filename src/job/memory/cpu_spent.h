/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spent.h - what a look at memory costs. */
#ifndef JOB_MEMORY_CPU_SPENT_H
#define JOB_MEMORY_CPU_SPENT_H

#include <stdint.h>

#include "base/root.h"

/* CPU time of the calling thread so far. A look is charged by it: time that it waits for a
 * processor is no burden on the job, which has that processor. 0 on a fixture machine, where
 * there is no job to burden, and what is read must not depend on how fast we are. */
uint64_t cpu_spent_ns(const struct root *root);

#endif
