/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagemap.h - /proc/PID/pagemap: which pages of a mapping are there.
 *
 * Of interest are the pages that are present and belong to a file or to shared memory,
 * not the private copies of them. Linux 6.7 tells them by ranges (PAGEMAP_SCAN), 16 ns
 * a page; before, each page has an entry of 8 bytes. Neither needs more rights than
 * smaps: frame numbers are not asked for.
 */
#ifndef SOURCE_PROC_PAGEMAP_H
#define SOURCE_PROC_PAGEMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* A range of addresses whose pages are all there. */
typedef void pagemap_each(uint64_t start, uint64_t end, void *data);

/* Returns a descriptor or -errno; the caller closes it. */
int pagemap_open(const struct root *root, pid_t pid);

/* Calls `each` for the ranges between start and end, in order. -ESRCH: the process has
 * ended, or runs another program since the file was opened. */
int pagemap_scan(int fd, uint64_t start, uint64_t end, pagemap_each *each, void *data);

/* Likewise by the entries of the single pages; the way before Linux 6.7. */
int pagemap_read(int fd, uint64_t start, uint64_t end, pagemap_each *each, void *data);

#endif
