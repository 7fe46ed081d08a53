/* SPDX-License-Identifier: Apache-2.0 */
/* smaps.h - how a process shares its memory: by area, or as a sum. Both need ptrace permission. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* Sizes of all mappings or of one, in bytes. Pss_Anon, Pss_File and Pss_Shmem are UNKNOWN before
 * Linux 5.3 and for a single mapping, `merged` and `shared_huge` if the kernel does not report
 * them. Huge pages of hugetlbfs are only in `shared_huge`. */
struct smaps_rollup {
    uint64_t rss;
    uint64_t pss;
    uint64_t pss_anon;
    uint64_t pss_file;
    uint64_t pss_shmem;
    uint64_t shared_clean;
    uint64_t shared_dirty;
    uint64_t private_clean;
    uint64_t private_dirty;
    uint64_t anonymous;
    uint64_t merged;      /* pages of equal content merged by the kernel (KSM) */
    uint64_t shared_huge; /* huge pages of hugetlbfs that other processes map too */
};

/* /proc/PID/smaps: how a process shares its memory, area by area.
 *
 * The file may be megabytes long, so each area is passed on as soon as it is complete.
 * Reading the file costs as much as smaps_rollup, plus about 3 us per area. */

/* One mapping. The name is hostile text and is not read: device and inode identify the file. Inode
 * 0: no file. */
struct smaps_area {
    uint64_t start, end; /* addresses */
    uint64_t offset;     /* offset of `start` in the file */
    uint64_t device;     /* device number as in this file: not comparable with other numbers */
    uint64_t inode;
    struct smaps_rollup sizes; /* `merged` is 0 if not reported */
};

/* Called for each area in order of addresses. A result other than 0 ends the reading and is
 * returned. */
typedef int smaps_each(const struct smaps_area *area, void *data);

/* Parses an open file. -EBADMSG: the text has another format, or is truncated within an area;
 * -ESRCH: no area, the process has exited. */
int smaps_parse(int fd, smaps_each *each, void *data);

/* Reads the areas of a process. -ESRCH or -ENOENT: the process has exited; -EACCES: it belongs
 * to another user. */
int smaps_read(const struct root *root, pid_t pid, smaps_each *each, void *data);

/* /proc/PID/smaps_rollup: how a process shares its memory.
 *
 * To write this file the kernel walks the page tables, which takes 6-8 ms per GiB of small
 * pages and blocks memory calls of the process: read it rarely. An open file becomes invalid
 * at exec, so it is opened each time. */

/* Parses the text. -ESRCH if it is empty: the process has exited. */
int smaps_rollup_parse(const char *text, struct smaps_rollup *ret);
int smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret);
