/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spent.h - what a look at the job costs. */
#ifndef JOB_CPU_SPENT_H
#define JOB_CPU_SPENT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/root.h"

/* CPU time of the calling thread so far. A look is charged by it: time that it waits for a
 * processor is no burden on the job, which has that processor. 0 on a fixture machine, where
 * there is no job to burden, and what is read must not depend on how fast we are. */
static inline uint64_t cpu_spent_ns(const struct root *root)
{
    return root->is_live ? clock_thread_cpu_ns() : 0;
}

#endif
