/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exactness.h - whether a count of the job is exact: the one rule for CPU time, I/O, page
 * faults, context switches and processes. Memory peaks are exact only for the main process
 * (memory_totals.c), for the memory charged to the job cgroup (read_memory_peak() in totals.c),
 * on GPUs (gpu/gpu_account.c), or if their bounds are equal (series/figure.c). Pure.
 *
 * Exact: the kernel counted it, it was read at this moment, and the count includes every
 * process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The source of a count. */
enum counted_by {
    COUNTED_BY_CGROUP,
    COUNTED_BY_PROCESSES,    /* the sum over processes, each with the children it waited for */
    COUNTED_BY_CPU_CLOCKS,   /* the same for CPU time */
    COUNTED_BY_EXIT_RECORDS, /* records of every thread that has exited */
    COUNTED_BY_EVENTS,       /* forks and exits */
    COUNTED_BY_PERF,
};

struct evidence {
    /* circumstances of the reading */
    bool was_spawned; /* the tracker started the job, and so reaps its orphans */
    bool has_begun;   /* a program of the job may have run */
    bool has_ended;   /* every process has exited and was reaped */
    bool is_alone;    /* the job never had a second process */
    bool is_fresh;    /* every process that ran was read in full for this reading */

    /* the processes */
    bool has_unwaited;    /* some processes were never waited for */
    bool may_be_unwaited; /* a process that ignores SIGCHLD had children */
    bool is_confirmed;    /* a second count of the processes' CPU time agrees */
    uint64_t cpu_ns;      /* CPU time of the processes; may be UNKNOWN */
    uint64_t exits_ns;    /* upper bound of the time exiting threads used, see cpu_counts */

    /* the other counts */
    bool left_cgroup;     /* a process was seen outside the job cgroup */
    bool cgroup_is_gone;  /* the job cgroup was removed */
    bool has_all_records; /* an exit record came for every thread that was started */
    bool has_all_events;  /* every fork and exit was reported */
};

bool count_is_exact(const struct evidence *evidence, enum counted_by counted_by);
