/* SPDX-License-Identifier: Apache-2.0 */
/*
 * huge_pages.h - the huge pages of the machine (hugetlbfs), of all sizes. A resident size does not include them, nor
 * does the memory of a cgroup. One read takes 1 us per page size.
 */
#ifndef SOURCE_HOST_HUGE_PAGES_H
#define SOURCE_HOST_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"

enum { HUGE_PAGE_SIZES_MAX = 8 };

struct huge_pages {
    struct huge_page_size {
        uint64_t kib;
        struct cached_file total_file, free_file;
    } sizes[HUGE_PAGE_SIZES_MAX];
    size_t count; /* 0: not opened yet */
};

/* How many bytes of them are in use. Finds the page sizes at the first read. 0 if there are none. */
uint64_t huge_pages_read(struct huge_pages *pages, const struct root *root);
void huge_pages_close(struct huge_pages *pages);

#endif
