/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_rest.h"

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"

#define HARDLY_NS (100 * NS_PER_US)

void gpu_rest_init(struct gpu_rest *rest)
{
    *rest = (struct gpu_rest){ UNKNOWN, UNKNOWN };
}

bool gpu_rest_note(struct gpu_rest *rest, uint64_t cpu_ns)
{
    uint64_t since_ns = rest->before_ns;

    rest->before_ns = rest->last_ns;
    rest->last_ns = cpu_ns;
    return is_known(cpu_ns) && is_known(since_ns) && apart(cpu_ns, since_ns) < HARDLY_NS;
}
