/* SPDX-License-Identifier: Apache-2.0 */
/* meminfo.h - the memory of the whole machine: /proc/meminfo, memory in use, huge pages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

/* ---- The memory of the whole machine, from /proc/meminfo ------------------- */

/* A value is UNKNOWN if the kernel does not report it. */
struct meminfo {
    uint64_t total_bytes;
    uint64_t free_bytes;      /* not used at all */
    uint64_t available_bytes; /* available to programs without swapping */
    uint64_t cached_bytes;    /* page cache, buffers and reclaimable kernel memory */
    uint64_t buffers_bytes;   /* this and the next two are the parts of cached_bytes */
    uint64_t page_cache_bytes;
    uint64_t reclaimable_bytes;
    /* Memory that was used recently, and memory that was not. */
    uint64_t active_bytes, inactive_bytes;
    /* The anonymous parts of active_bytes and inactive_bytes. */
    uint64_t active_anon_bytes, inactive_anon_bytes;
    uint64_t swap_total_bytes;
    uint64_t swap_used_bytes;
    uint64_t hugetlb_bytes; /* all huge pages (hugetlbfs), used and free */
    uint64_t dirty_bytes;   /* written by programs, but not to storage yet */
};

/* Parses /proc/meminfo. -EBADMSG: even the total is missing. */
int meminfo_parse(const char *text, struct meminfo *ret);

/* ---- The memory and swap space of the machine in use ----------------------- */

/* Returns all anonymous and shared memory. A read takes 7 us. sysinfo() is cheaper, but its
 * figure of free memory does not show usage by programs: since Linux 6.7 each CPU keeps up to
 * an eighth of the memory in reserve, and these pages count as used. UNKNOWN: the file cannot
 * be read. */
uint64_t anonymous_bytes_read(struct cached_file *file, const struct root *root);

/* Returns the swap space in use. Takes one system call of 0.25 us. UNKNOWN if `root` is not the
 * live machine. */
uint64_t swap_in_use_bytes(const struct root *root);

/* The huge pages of the machine (hugetlbfs), of all sizes. They are not part of any resident
 * set size, nor of the memory of a cgroup. One read takes 1 us per page size. */

enum { HUGE_PAGE_SIZES_MAX = 8 };

struct huge_pages {
    struct huge_page_size {
        uint64_t kib;
        struct cached_file total_file, free_file;
    } sizes[HUGE_PAGE_SIZES_MAX];
    size_t count; /* 0: not opened yet */
};

/* Returns the bytes in use, or 0 if the machine has no huge pages. The first call finds the page sizes. */
uint64_t huge_pages_read(struct huge_pages *pages, const struct root *root);
void huge_pages_close(struct huge_pages *pages);
