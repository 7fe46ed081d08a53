/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_sources.h - which of several counts of a job's CPU time is right. Pure.
 *
 * - The job cgroup counts every process that is in it, however it ends.
 * - The tree is the sum over processes: what each one used, with the children it waited for. It
 *   misses children that were never waited for.
 * - perf counts all processes, but stops before the memory of an exiting process is freed, and
 *   its clock keeps running while the hypervisor or an interrupt has the CPU.
 *
 * The cgroup is right unless a process was seen outside it, or what wait4 reported of the processes we reaped
 * is more. The sum is right unless a count of all processes shows more. There is perf or the cgroup, not
 * both: perf costs the job time. Whether the count is exact: exactness.h.
 */
#ifndef JOB_CPU_SOURCES_H
#define JOB_CPU_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

enum cpu_source { CPU_FROM_TREE, CPU_FROM_CGROUP, CPU_FROM_PERF, CPU_SOURCE_COUNT };

/* Times are UNKNOWN if there is no such source. */
struct cpu_counts {
    uint64_t tree_ns;
    uint64_t waited_ns; /* the part of it that wait4 reported */
    uint64_t cgroup_ns;
    uint64_t perf_ns;
    uint64_t stolen_ns; /* of perf_ns at most, by interrupts and the hypervisor */
    uint64_t
        exits_ns;     /* what exiting threads have used at most, of which only a cgroup knows */
    bool is_alone;    /* the job never had a second process */
    bool is_cgroup;   /* the job is a cgroup: what it counts is the truth */
    bool left_cgroup; /* a process was seen outside the job cgroup */
    bool saw_unwaited; /* a process was seen to end without being waited for */
    bool is_suspect;   /* a process that ignores SIGCHLD had children */
};

struct cpu_choice {
    enum cpu_source source;
    bool has_unwaited; /* processes were never waited for */
    bool
        is_confirmed; /* the tree has everything: a count of all processes agrees, or there is one */
    bool left_cgroup; /* the cgroup misses processes */
};

struct cpu_choice cpu_sources_choose(const struct cpu_counts *counts);

/* CPU time that is reported while a job runs. It grows as the chosen counter grows; if another
 * counter is chosen, it does not jump: such a jump would look like work done in an instant. If the
 * cgroup is lost, what it had counted stays. Zeroed: it has not begun. */
struct cpu_total {
    uint64_t reported_ns;
    uint64_t base_ns; /* what the lesser counter had not counted when the cgroup was lost */
    uint64_t last_ns[CPU_SOURCE_COUNT]; /* at the previous reading */
    enum cpu_source source;
    bool has_begun;
};

/* Returns how far the total is below the chosen counter: time that was used, but it is not known
 * when. */
uint64_t cpu_total_add(struct cpu_total *total, const struct cpu_counts *counts,
                       enum cpu_source source);

#endif
