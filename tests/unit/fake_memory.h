/* SPDX-License-Identifier: Apache-2.0 */
/* fake_memory.h - processes with memory in a fake root, and the job's memory estimate. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "fake_root.h"
#include "job/memory/memory_sharing.h"

#define MB ((uint64_t)1024 * 1024)

/* PIDs of the main process and of the first descendant. */
enum { MAIN = 10, CHILD = 11 };

/* A process; sizes are in MB. The process has anonymous memory and maps a part of a file
 * that other processes map too; `file_pss` is its proportional share of that part. */
struct fake_memory {
    int pid;
    unsigned own, shared, shared_pss; /* anonymous */
    unsigned file, file_pss, file_offset;
    unsigned twice; /* if not 0, also maps a second part, this far after the first */
    unsigned merged, hugetlb;
};

struct memory_fixture {
    struct fake_root fake;
    struct budget budget;
    struct memory_sharing sharing;
    struct roster roster;
    struct memory_estimate estimate; /* the last result */
    uint64_t now_ns;
};

void memory_begin(struct memory_fixture *f, enum spoor_detail mode);
void memory_end(struct memory_fixture *f);

/* Adds a member that has called exec, but no files in /proc. */
struct member *memory_add(struct memory_fixture *f, int pid, uint64_t rss_bytes);

/* Adds or changes a process: its files in /proc and its size in the roster. */
void memory_put(struct memory_fixture *f, const struct fake_memory *m);

/* Write a single file of a process. */
void memory_write(struct memory_fixture *f, int pid, const char *name, const char *text);
void memory_put_statm(struct memory_fixture *f, int pid, unsigned megabytes, unsigned mapped);

/* Adds main and two children. The children map megabytes 0-100 and 100-200 of a file that a
 * process outside the job maps too. Their sums show only that the job maps at least 100 MB. */
void memory_put_file_job(struct memory_fixture *f);

/* Advances the clock by a second and updates the estimate. */
void memory_update(struct memory_fixture *f);
/* Updates the estimate without advancing the clock, as a glance does. */
void memory_follow(struct memory_fixture *f);
