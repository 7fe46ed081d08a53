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

#include <stddef.h>
#include <stdint.h>

#include "job/memory/memory_areas.h"
#include "job/memory/shared_memory.h"

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
