/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/cpu_spent.h"

#include "base/clock.h"

uint64_t cpu_spent_ns(const struct root *root)
{
    return root->is_live ? clock_thread_cpu_ns() : 0;
}
