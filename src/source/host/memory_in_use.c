/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/memory_in_use.h"

#include <sys/sysinfo.h>

#include "base/unknown.h"

uint64_t memory_in_use_bytes(const struct root *root)
{
    struct sysinfo info;

    if (!root->is_live || sysinfo(&info) != 0)
        return UNKNOWN;
    return (uint64_t)(info.totalram - info.freeram) * info.mem_unit;
}

uint64_t swap_in_use_bytes(const struct root *root)
{
    struct sysinfo info;

    if (!root->is_live || sysinfo(&info) != 0)
        return UNKNOWN;
    return (uint64_t)(info.totalswap - info.freeswap) * info.mem_unit;
}
