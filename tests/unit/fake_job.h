/* SPDX-License-Identifier: Apache-2.0 */
/* fake_job.h - a job whose processes are files of a fixture machine, read step by step. */
#ifndef TESTS_UNIT_FAKE_JOB_H
#define TESTS_UNIT_FAKE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_root.h"
#include "job/job.h"

/* Ticks are hundredths of a second. */
struct fake_process {
    int pid, parent, threads;
    char state;
    unsigned user_ticks, child_user_ticks, resident_pages, start_ticks;
    bool ignores_children;
    bool has_no_exec; /* a copy of its parent */
    const char *children;
    unsigned written_chars;
    unsigned minor_faults, child_minor_faults, major_faults, child_major_faults;
    const char *name; /* NULL: "x" */
};

/* Creates or changes its files; and removes them. */
void fake_process_put(struct fake_root *fake, const struct fake_process *process);
void fake_process_end(struct fake_root *fake, int pid);

struct fake_job {
    struct fake_root fake;
    struct job job;
    struct job_reading reading; /* of the last look */
    uint64_t now_ns;
};

/* Attaches to the main process. */
void fake_job_begin(struct fake_job *f, const struct fake_process *main_process,
                    bool lists_children);
/* Takes a sample, a second later. */
void fake_job_look(struct fake_job *f);
void fake_job_end(struct fake_job *f);

uint64_t fake_job_cpu_ticks(const struct fake_job *f);

#endif
