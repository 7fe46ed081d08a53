/* SPDX-License-Identifier: Apache-2.0 */
/* meminfo.c - parse /proc/meminfo: "MemTotal:       49364832 kB". */
#include "source/host/meminfo.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"

/* In the kernel's order, since each is searched behind the one before. */
enum line {
    LINE_TOTAL,
    LINE_FREE,
    LINE_AVAILABLE,
    LINE_BUFFERS,
    LINE_CACHED,
    LINE_ACTIVE,
    LINE_INACTIVE,
    LINE_ACTIVE_ANON,
    LINE_INACTIVE_ANON,
    LINE_SWAP_TOTAL,
    LINE_SWAP_FREE,
    LINE_DIRTY,
    LINE_WRITEBACK,
    LINE_SLAB_RECLAIMABLE,
    LINE_HUGETLB,
    LINE_COUNT,
};

static const char *const keys[LINE_COUNT] = {
    [LINE_TOTAL] = "MemTotal:",
    [LINE_FREE] = "MemFree:",
    [LINE_AVAILABLE] = "MemAvailable:",
    [LINE_BUFFERS] = "Buffers:",
    [LINE_CACHED] = "Cached:",
    [LINE_ACTIVE] = "Active:",
    [LINE_INACTIVE] = "Inactive:",
    [LINE_ACTIVE_ANON] = "Active(anon):",
    [LINE_INACTIVE_ANON] = "Inactive(anon):",
    [LINE_SWAP_TOTAL] = "SwapTotal:",
    [LINE_SWAP_FREE] = "SwapFree:",
    [LINE_DIRTY] = "Dirty:",
    [LINE_WRITEBACK] = "Writeback:",
    [LINE_SLAB_RECLAIMABLE] = "SReclaimable:",
    [LINE_HUGETLB] = "Hugetlb:",
};

/* What the kernel calls kB is 1024 bytes. A number without it is cut short. */
static uint64_t line_bytes(const char *text, const char **cursor, const char *key)
{
    const char *value = parse_key(*cursor, key);
    uint64_t kib;

    if (!value)
        value = parse_key(text, key);
    if (value)
        *cursor = value;
    if (!value || parse_u64(&value, &kib) < 0 || strncmp(value, " kB", 3) != 0)
        return UNKNOWN;
    return product_u64(kib, 1024);
}

int meminfo_parse(const char *text, struct meminfo *ret)
{
    uint64_t bytes[LINE_COUNT];
    const char *cursor = text;
    struct meminfo info;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        bytes[i] = line_bytes(text, &cursor, keys[i]);
    if (!is_known(bytes[LINE_TOTAL]))
        return -EBADMSG;

    info = (struct meminfo){
        .total_bytes = bytes[LINE_TOTAL],
        .free_bytes = bytes[LINE_FREE],
        .available_bytes = bytes[LINE_AVAILABLE],
        .cached_bytes = sum_u64(sum_u64(bytes[LINE_BUFFERS], bytes[LINE_CACHED]),
                                bytes[LINE_SLAB_RECLAIMABLE]),
        .buffers_bytes = bytes[LINE_BUFFERS],
        .page_cache_bytes = bytes[LINE_CACHED],
        .reclaimable_bytes = bytes[LINE_SLAB_RECLAIMABLE],
        .active_bytes = bytes[LINE_ACTIVE],
        .inactive_bytes = bytes[LINE_INACTIVE],
        .active_anon_bytes = bytes[LINE_ACTIVE_ANON],
        .inactive_anon_bytes = bytes[LINE_INACTIVE_ANON],
        .swap_total_bytes = bytes[LINE_SWAP_TOTAL],
        .swap_used_bytes = UNKNOWN,
        .hugetlb_bytes = bytes[LINE_HUGETLB],
        .dirty_bytes = sum_u64(bytes[LINE_DIRTY], bytes[LINE_WRITEBACK]),
    };
    /* Kernels before 3.14 have no MemAvailable. */
    if (!is_known(info.available_bytes))
        info.available_bytes =
            sum_u64(sum_u64(bytes[LINE_FREE], bytes[LINE_BUFFERS]), bytes[LINE_CACHED]);
    if (is_known(bytes[LINE_SWAP_TOTAL]) && is_known(bytes[LINE_SWAP_FREE]) &&
        bytes[LINE_SWAP_FREE] <= bytes[LINE_SWAP_TOTAL])
        info.swap_used_bytes = bytes[LINE_SWAP_TOTAL] - bytes[LINE_SWAP_FREE];
    *ret = info;
    return 0;
}
