/* SPDX-License-Identifier: Apache-2.0 */
/* fake_memory.h - processes of a fixture machine with memory, and the job's shared memory. */
#ifndef TESTS_FAKE_MEMORY_H
#define TESTS_FAKE_MEMORY_H

#include <stdint.h>

#include "base/clock.h"
#include "fake_root.h"
#include "job/memory/memory_sharing.h"

#define MB ((uint64_t)1024 * 1024)

/* The job's main process, and the first of the others. */
enum { MAIN = 10, CHILD = 11 };

/* A process, in MB: private memory, and a part of a file that is shared with others,
 * `file_pss` of it in PSS. */
struct fake_memory {
    int pid;
    unsigned own, shared, shared_pss; /* anonymous memory */
    unsigned file, file_pss, file_offset;
    unsigned twice; /* the file is mapped a second time, this much later */
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

/* Adds a member that has called exec, without any file. */
struct member *memory_add(struct memory_fixture *f, int pid, uint64_t rss_bytes);

/* Adds or changes a process: its files, and its size in the table. */
void memory_put(struct memory_fixture *f, const struct fake_memory *m);

/* Single files of a process. */
void memory_write(struct memory_fixture *f, int pid, const char *name, const char *text);
void memory_put_statm(struct memory_fixture *f, int pid, unsigned megabytes, unsigned mapped);

/* Main and two children that map parts of a file which an outsider maps too: the children
 * map megabytes 0-100 and 100-200, but the sums only show that the total is at least 100. */
void memory_put_file_job(struct memory_fixture *f);

/* Updates a second later. */
void memory_update(struct memory_fixture *f);
/* Updates at once, as a glance does. */
void memory_follow(struct memory_fixture *f);

#endif
