/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps_rollup.h - /proc/PID/smaps_rollup: how a process shares its memory.
 *
 * The kernel walks the page tables for it, 6-8 ms per GiB of small pages, and the
 * process's memory calls wait meanwhile: read it seldom. An open file of it dies
 * at exec, so it is opened anew each time. Needs the rights of a debugger.
 */
#ifndef SOURCE_PROC_SMAPS_ROLLUP_H
#define SOURCE_PROC_SMAPS_ROLLUP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* In bytes. Pss_Anon, Pss_File and Pss_Shmem are UNKNOWN before Linux 5.3, merged where
 * the kernel does not tell. Huge pages of hugetlbfs are in none of these figures. */
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
    uint64_t merged; /* pages of equal content that the kernel made one (KSM) */
};

/* -ESRCH where the text is empty: the process has ended. */
int smaps_rollup_parse(const char *text, struct smaps_rollup *ret);
int smaps_rollup_read(const struct root *root, pid_t pid, struct smaps_rollup *ret);

#endif
