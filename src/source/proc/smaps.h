/* SPDX-License-Identifier: Apache-2.0 */
/* smaps.h - how a process shares its memory: area by area, or in one sum. Both need the rights of a debugger. */
#ifndef SOURCE_PROC_SMAPS_H
#define SOURCE_PROC_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"

/* /proc/PID/smaps: how a process shares its memory, area by area.
 *
 * The file may be megabytes long, so it is read in pieces and each area is handed on
 * as soon as it is complete. It costs what smaps_rollup does and about 3 us per area
 * more. Needs the rights of a debugger. */

/* One mapping. Sizes in bytes. The name is hostile text and is not read: device and
 * inode say which file it is. Inode 0: memory of no file. */
struct smaps_area {
    uint64_t start, end; /* addresses */
    uint64_t offset;     /* of `start` in the file */
    uint64_t device;     /* as this file shows it: compare it with nothing else */
    uint64_t inode;
    uint64_t rss;
    uint64_t pss;
    uint64_t shared_clean, shared_dirty;
    uint64_t private_clean, private_dirty;
    uint64_t anonymous;
    uint64_t merged; /* pages of equal content made one (KSM); 0 where the kernel is silent */
};

/* Called for each area in the order of addresses. What it returns, if not 0, ends the
 * reading and is returned by it. */
typedef int smaps_each(const struct smaps_area *area, void *data);

/* The text in pieces of any size: init, feed, feed, ..., finish. Of a long line only the
 * start is kept. */
struct smaps_parser {
    smaps_each *each;
    void *data;
    struct smaps_area area;
    bool has_area;
    size_t length; /* of the line that has begun; more than fits: the rest is lost */
    char line[160];
};

void smaps_parser_init(struct smaps_parser *parser, smaps_each *each, void *data);

/* -EBADMSG: not such a text. */
int smaps_parser_feed(struct smaps_parser *parser, const char *text, size_t size);

/* -ESRCH: there was no area at all; the process has ended. -EBADMSG: cut in mid-area. */
int smaps_parser_finish(struct smaps_parser *parser);

/* -ESRCH or -ENOENT: the process has ended; -EACCES: it is another user's. */
int smaps_read(const struct root *root, pid_t pid, smaps_each *each, void *data);

/* /proc/PID/smaps_rollup: how a process shares its memory.
 *
 * The kernel walks the page tables for it, 6-8 ms per GiB of small pages, and the
 * process's memory calls wait meanwhile: read it seldom. An open file of it dies
 * at exec, so it is opened anew each time. Needs the rights of a debugger. */

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
