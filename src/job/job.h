/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a process and everything it started: who belongs, and what they used.
 *
 * job_refresh() looks at all processes; job_read() adds up what was seen. Later
 * sources of exact totals (a cgroup of the job's own) join here: each quantity is
 * taken from the best source that serves, and says which.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "job/detail.h"
#include "job/members.h"
#include "job/shared_memory.h"
#include "job/usage.h"
#include "source/proc/children.h"
#include "spoor/spoor.h"

struct job {
    const struct root *root; /* borrowed */
    pid_t main_pid;
    pid_t tracker_pid;   /* our own, where we spawned the job; else 0 */
    bool lists_children; /* the kernel has children files */
    bool has_program;    /* the main process has called exec, or was attached to */
    bool has_clock;      /* processes have CPU clocks here */
    bool main_has_ended;
    int task_clock_fd; /* perf's count of the job's CPU time; -1: none */
    struct members members;
    struct detail detail;
    struct children_buffer children;

    struct usage departed; /* of ended processes that no living one inherited */
    struct usage reported; /* what was last reported: totals never step back */
    uint64_t main_cpu_ns;  /* also after its end */
    uint64_t main_rss_peak_bytes;
    uint64_t largest_peak_bytes; /* of any process of the job, main apart */
    uint64_t spawn_rss_bytes; /* what we ourselves had when we forked: a floor of ru_maxrss */
    uint64_t started_count;
    uint64_t fork_count; /* of the machine, at the last search for children */
    unsigned refresh_count;
    bool main_peak_is_exact;
    bool saw_main, saw_descendant; /* with memory of its own, at least once */
    bool saw_denied_io;
    bool saw_unwaited; /* a parent that does not wait for its children */
    bool is_full;      /* more processes than the table holds */
};

/* `caller_spawned`: see SPOOR_CALLER_SPAWNED. -ESRCH: no such process. */
int job_init(struct job *job, const struct root *root, pid_t main_pid, bool caller_spawned,
             enum spoor_detail detail, uint64_t now_ns);
void job_done(struct job *job);

/* Looks at every process, finds new ones and settles those that ended. `fork_count` is
 * the machine's count of processes ever made: while it stands still nobody can have a
 * new child. UNKNOWN: always search. `is_thorough` reads the slow files too. */
void job_refresh(struct job *job, uint64_t now_ns, uint64_t fork_count, bool is_thorough);

/* A child of ours has ended and is about to be reaped: takes its last figures. */
void job_child_ended(struct job *job, pid_t pid, uint64_t now_ns);

struct job_reading {
    struct usage usage;
    const char *cpu_source;
    bool cpu_is_exact;
    bool io_is_exact;
    uint64_t tree_cpu_ns; /* by adding up processes; UNKNOWN where nothing could be read */
    uint64_t perf_cpu_ns; /* by perf; UNKNOWN: none */

    uint64_t main_cpu_ns;
    struct memory_estimate memory;
    uint64_t swap_bytes;
    uint64_t main_rss_peak_bytes;
    uint64_t descendants_rss_peak_bytes; /* the largest of one process */
    uint64_t rss_bound_bytes;            /* sum over the living */
    uint64_t descendants_rss_bound_bytes;
    uint64_t main_threads, descendants_threads;
    uint64_t process_count, started_count;
};

void job_read(struct job *job, uint64_t now_ns, struct job_reading *ret);

#endif
