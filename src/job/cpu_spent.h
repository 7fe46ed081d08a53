/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_spent.h - CPU time of the calling thread, to charge the budget. */
#ifndef JOB_CPU_SPENT_H
#define JOB_CPU_SPENT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/root.h"

/* CPU time of the calling thread so far. Time spent waiting for a CPU is not charged: the
 * job may be using that CPU. 0 on a fixture machine, where results must not depend on the
 * speed of the tracker. */
static inline uint64_t cpu_spent_ns(const struct root *root)
{
    return root->is_live ? clock_thread_cpu_ns() : 0;
}

#endif
