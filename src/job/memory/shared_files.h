/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_files.h - memory of several processes, shared pages counted once, from their
 * mappings.
 *
 * Pure. Finer than shared_memory.h: every file is examined separately, and two mappings can
 * only share pages if they show the same part of the same file. That handles files mapped at
 * several offsets, twice by one process, or by outsiders too. It does not show which pages of a
 * mapping a process has touched.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/memory/shared_memory.h"
#include "source/proc/smaps.h"

/*
 * The mappings of several processes, reduced to the values that determine sharing. Areas of
 * files are kept individually if they have resident pages. Anonymous memory is only summed per
 * process: its addresses do not show sharing, since a child may have moved (mremap) inherited
 * memory.
 */

/* If there are more areas in total, none is examined. */
enum { MEMORY_AREAS_MAX = 200000 };

/* Bytes of one or more areas. */
struct area_bytes {
    uint64_t own;          /* pages mapped by no other process or area */
    uint64_t shared;       /* pages mapped more than once, except merged ones */
    uint64_t proportional; /* the part of PSS for all pages mapped more than once */
};

/* A mapping of a file or of shared memory. */
struct memory_area {
    uint64_t device, inode;
    uint64_t offset, offset_end; /* in the file */
    struct area_bytes bytes;
    uint32_t process; /* index */
};

struct area_process {
    enum member_group group;
    uint64_t rss;                /* without merged pages */
    struct area_bytes anonymous; /* sums of the areas without a file */
};

/* A zeroed struct is empty. */
struct memory_areas {
    struct memory_area *list; /* owned */
    size_t count, capacity;
    struct area_process *processes; /* owned */
    size_t process_count, process_capacity;
    size_t seen_count; /* areas read, including those without resident pages */
};

void memory_areas_done(struct memory_areas *areas);

/* Empties the list for a new read. */
void memory_areas_clear(struct memory_areas *areas);

/* Adds a process without areas. -ENOMEM. */
int memory_areas_add_process(struct memory_areas *areas, enum member_group group);

/* Adds an area to the last added process. -E2BIG: too many; -ENOMEM. */
int memory_areas_add(struct memory_areas *areas, const struct smaps_area *area);

/* Adds a process with all its areas. Returns the same values as smaps_read(), or -E2BIG,
 * -ENOMEM. */
int memory_areas_read(struct memory_areas *areas, const struct root *root, pid_t pid,
                      enum member_group group);

struct shared_files {
    uint64_t total[GROUP_COUNT];
    uint64_t rss[GROUP_COUNT]; /* sums: a page counts once per mapping */
};

/* Sorts the areas. -ENOMEM. */
int shared_files_estimate(struct memory_areas *areas, struct shared_files *ret);

/* Corrects the result of shared_memory_estimate() for the same processes, with the same
 * `gained_bytes`. */
void shared_files_correct(const struct shared_files *files, const struct memory_view *views,
                          size_t count, uint64_t gained_bytes,
                          struct memory_estimate *estimate);
