/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_scan.h - which pages of a file a group of processes has mapped, exactly.
 *
 * A bit for every page of the file that lies in some area, set where a process has it:
 * the ones are the answer. No frame numbers and no privilege are needed.
 */
#ifndef JOB_MEMORY_PAGE_SCAN_H
#define JOB_MEMORY_PAGE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "job/memory/shared_files.h"

/* A file that was scanned. The answer stands while its resident size does. */
struct scanned_file {
    uint64_t device, inode;
    uint64_t rss;
    size_t area_count; /* 0: the entry is free */
    struct group_bytes mapped;
};

enum { SCANNED_FILES = 16 };

/* Zeroed is ready. */
struct page_scan {
    struct scanned_file files[SCANNED_FILES];
    size_t next; /* the entry to use next */
};

/* What one look may cost, and what it came to. */
struct page_scan_look {
    struct page_scan *scan;
    const struct root *root;
    uint64_t allowance_ns; /* files likely to cost more than what is left are not scanned */
    uint64_t refused_ns;   /* what those would have cost */
    uint64_t scan_count;   /* files that were scanned, not remembered */
};

/* A resolver for shared_files_estimate(); `data` is a struct page_scan_look. -EBUSY: it
 * would cost too much; -EFBIG: the file is too large; -ENOMEM; or the error of a read. */
int page_scan_resolve(void *data, const struct file_areas *file, struct group_bytes *ret);

#endif
