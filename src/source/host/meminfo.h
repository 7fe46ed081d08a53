/* SPDX-License-Identifier: Apache-2.0 */
/* meminfo.h - the memory of the whole machine, from /proc/meminfo. */
#ifndef SOURCE_HOST_MEMINFO_H
#define SOURCE_HOST_MEMINFO_H

#include <stdint.h>

/* UNKNOWN where the kernel does not say. */
struct meminfo {
    uint64_t total_bytes;
    uint64_t free_bytes;      /* in no use at all */
    uint64_t available_bytes; /* what programs can have without swapping */
    uint64_t cached_bytes;    /* page cache, buffers and reclaimable kernel memory */
    uint64_t buffers_bytes;   /* these three are the parts of it */
    uint64_t page_cache_bytes;
    uint64_t reclaimable_bytes;
    uint64_t active_bytes, inactive_bytes;           /* used recently or not */
    uint64_t active_anon_bytes, inactive_anon_bytes; /* the parts of it that no file backs */
    uint64_t swap_total_bytes;
    uint64_t swap_used_bytes;
    uint64_t hugetlb_bytes; /* of all huge pages (hugetlbfs), used and free */
    uint64_t dirty_bytes;   /* written by programs, and not yet to storage */
};

/* -EBADMSG: it does not even tell the total. */
int meminfo_parse(const char *text, struct meminfo *ret);

#endif
