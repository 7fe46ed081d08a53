/* SPDX-License-Identifier: Apache-2.0 */
/* fake_job.h - a job whose processes are files in a fake root, sampled step by step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fake_root.h"
#include "job/job.h"

/* One process. A clock tick is 10 ms. */
struct fake_process {
    int pid, parent, threads;
    char state;
    unsigned user_ticks, child_user_ticks, resident_pages, start_ticks;
    bool ignores_children;
    bool has_no_exec; /* has not called exec: still a copy of its parent */
    const char *children;
    unsigned written_chars;
    unsigned minor_faults, child_minor_faults, major_faults, child_major_faults;
    const char *name; /* NULL: "x" */
};

/* Write and remove the files of one process in /proc. */
void fake_process_put(struct fake_root *fake, const struct fake_process *process);
void fake_process_end(struct fake_root *fake, int pid);

struct fake_job {
    struct fake_root fake;
    struct job job;
    struct job_reading reading; /* the last sample */
    uint64_t now_ns;
};

/* Creates the main process and attaches to it. `lists_children`: whether the kernel has
 * /proc/PID/task/TID/children. */
void fake_job_begin(struct fake_job *f, const struct fake_process *main_process,
                    bool lists_children);
/* Does what a sample does after the look: collects, reads, and begins an interval. */
void read_sample(struct job *job, uint64_t now_ns, struct job_reading *ret);
/* Advances the clock by a second and takes a sample. */
void fake_job_look(struct fake_job *f);
void fake_job_end(struct fake_job *f);

uint64_t fake_job_cpu_ticks(const struct fake_job *f);
