/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spent.h - what a look at memory costs. */
#ifndef JOB_MEMORY_CPU_SPENT_H
#define JOB_MEMORY_CPU_SPENT_H

#include <stdint.h>

/* CPU time of the calling thread so far. A look is charged by it: time that it waits for a
 * processor is no burden on the job, which has that processor. */
uint64_t cpu_spent_ns(void);

#endif
