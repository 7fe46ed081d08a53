/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_files.h - memory of several processes, shared pages counted once, from their
 * mappings.
 *
 * Pure. Finer than shared_memory.h: every file is examined by itself, and two mappings can only
 * share if they show the same part of the same file. That settles files mapped at several
 * offsets, twice by one process, or by outsiders too. It does not tell which pages of a mapping a
 * process has touched.
 */
#ifndef JOB_MEMORY_SHARED_FILES_H
#define JOB_MEMORY_SHARED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/memory/shared_memory.h"
#include "source/proc/smaps.h"

/*
 * The mappings of several processes, as far as sharing goes. Areas of files are kept one by one where anything of them is resident. Memory of no
 * file is only added up per process: its addresses say nothing about sharing, since a
 * child may have moved (mremap) what it inherited.
 */

/* More than this many areas in all are not looked at. */
enum { MEMORY_AREAS_MAX = 200000 };

/* Bytes of an area or of several. */
struct area_bytes {
    uint64_t own;          /* pages no other process and no other area maps */
    uint64_t shared;       /* pages that are mapped more than once, merged ones apart */
    uint64_t proportional; /* the part in PSS of all pages that are mapped more than once */
};

/* A mapping of a file or of shared memory. */
struct memory_area {
    uint64_t device, inode;
    uint64_t offset, offset_end; /* in the file */
    struct area_bytes bytes;
    uint32_t process; /* index */
};

struct area_process {
    pid_t pid;
    bool is_main;
    uint64_t rss;                /* merged pages apart */
    struct area_bytes anonymous; /* of the areas that no file backs */
};

/* Zeroed is empty. */
struct memory_areas {
    struct memory_area *list; /* owned */
    size_t count, capacity;
    struct area_process *processes; /* owned */
    size_t process_count, process_capacity;
    size_t seen_count; /* areas that were read, including those without resident pages */
};

void memory_areas_done(struct memory_areas *areas);

/* Empties it for a new read. */
void memory_areas_clear(struct memory_areas *areas);

/* Adds a process without areas. -ENOMEM. */
int memory_areas_add_process(struct memory_areas *areas, pid_t pid, bool is_main);

/* Adds an area to the process that was added last. -E2BIG: too many; -ENOMEM. */
int memory_areas_add(struct memory_areas *areas, const struct smaps_area *area);

/* Adds a process with all its areas. As smaps_read(), or -E2BIG, -ENOMEM. */
int memory_areas_read(struct memory_areas *areas, const struct root *root, pid_t pid,
                      bool is_main);

struct shared_files {
    struct group_bytes total;
    struct group_bytes rss; /* sums, pages counted as often as they are mapped */
};

/* Sorts the areas. -ENOMEM. */
int shared_files_estimate(struct memory_areas *areas, struct shared_files *ret);

/* Corrects what shared_memory_estimate() made of the views of the same processes, with the same
 * `gained_bytes`. */
void shared_files_correct(const struct shared_files *files, const struct memory_view *views,
                          size_t count, uint64_t gained_bytes,
                          struct memory_estimate *estimate);

#endif
