/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_files.h - memory of several processes, shared pages counted once, from their
 * mappings.
 *
 * Pure. Finer than shared_memory.h: every file is looked at by itself, and two mappings
 * can only share where they show the same part of the same file. That settles files
 * mapped at several places, or twice by one process, or by outsiders too. What remains
 * open is which of its pages a process touched: a resolver may be asked for that.
 */
#ifndef JOB_MEMORY_SHARED_FILES_H
#define JOB_MEMORY_SHARED_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "job/memory/memory_areas.h"
#include "job/memory/shared_memory.h"

/* The areas of one file: a slice of the list, in the order of their ends. */
struct file_areas {
    const struct memory_areas *all;
    const struct memory_area *list;
    size_t count;
    uint64_t span_bytes; /* of the file, covered by at least one area */
};

/* Finds out what is uncertain. */
struct file_resolver {
    /* 0 and the exact figures, or a negative value: the estimate stands. */
    int (*resolve)(void *data, const struct file_areas *file, struct group_bytes *ret);
    void *data;
    uint64_t threshold_bytes; /* not asked about less */
};

struct shared_files {
    struct group_bytes total;
    struct group_bytes rss;   /* sums, pages counted as often as they are mapped */
    uint64_t ambiguity_bytes; /* `combined` may be too low by this much */
    size_t resolved_count;
};

/* Sorts the areas. `resolver` may be NULL. -ENOMEM. */
int shared_files_estimate(struct memory_areas *areas, const struct file_resolver *resolver,
                          struct shared_files *ret);

#endif
