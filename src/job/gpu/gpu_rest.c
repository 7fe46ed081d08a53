/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_rest.h"

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"

#define HARDLY_NS (100 * NS_PER_US)
#define HARDLY_SHARE 1000

void gpu_rest_init(struct gpu_rest *rest)
{
    *rest = (struct gpu_rest){ { .cpu_ns = UNKNOWN }, { .cpu_ns = UNKNOWN } };
}

bool gpu_rest_note(struct gpu_rest *rest, uint64_t cpu_ns, uint64_t now_ns)
{
    struct gpu_rest_mark since = rest->before;
    uint64_t hardly_ns = HARDLY_NS + less(now_ns, since.at_ns) / HARDLY_SHARE;

    rest->before = rest->last;
    rest->last = (struct gpu_rest_mark){ cpu_ns, now_ns };
    return is_known(cpu_ns) && is_known(since.cpu_ns) &&
           apart(cpu_ns, since.cpu_ns) < hardly_ns;
}
