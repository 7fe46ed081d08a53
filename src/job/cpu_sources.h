/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_sources.h - selects the right one of several counts of a job's CPU time. Pure.
 *
 * - The job cgroup counts every process that is in it, however it ends.
 * - The tree is the sum over processes: the time of each, with the children it waited for. It
 *   misses children that were never waited for.
 * - perf counts all processes, but stops before the memory of an exiting process is freed, and
 *   its clock keeps running while the hypervisor or an interrupt has the CPU.
 *
 * The cgroup is right unless a process was seen outside it, or wait4 reported more for the
 * processes we reaped. The tree is right unless a count of all processes shows more. Either
 * perf or the cgroup is used, not both: perf slows the job down. exactness.h decides whether
 * the count is exact.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cpu_source { CPU_FROM_TREE, CPU_FROM_CGROUP, CPU_FROM_PERF, CPU_SOURCE_COUNT };

/* Times are UNKNOWN if there is no such source. */
struct cpu_counts {
    uint64_t tree_ns;
    uint64_t waited_ns; /* the part of tree_ns that wait4 reported */
    uint64_t cgroup_ns;
    uint64_t perf_ns;
    /* Upper bound of the part of perf_ns stolen by interrupts and the hypervisor. */
    uint64_t stolen_ns;
    /* Upper bound of the time exiting threads used, which only a cgroup counts. */
    uint64_t exits_ns;
    bool awaits_wait4; /* the job runs, and wait4 will report the time of its processes */
    bool is_alone;     /* the job never had a second process */
    bool is_cgroup;    /* the job is a cgroup: its count is authoritative */
    bool left_cgroup;  /* a process was seen outside the job cgroup */
    bool saw_unwaited; /* a process was seen to end without being waited for */
    /* A process that ignores SIGCHLD had children, which may be missing from the count. */
    bool is_suspect;
};

struct cpu_choice {
    enum cpu_source source;
    bool has_unwaited; /* processes were never waited for */
    /* The tree is complete: a count of all processes agrees, or there is only one process. */
    bool is_confirmed;
    bool left_cgroup; /* the cgroup misses processes */
};

struct cpu_choice cpu_sources_choose(const struct cpu_counts *counts);

/* CPU time reported while a job runs. It grows with the selected counter. If another counter
 * is selected, it does not jump: a jump would look like work done in an instant. If the
 * cgroup is lost, its count is kept. Zeroed: not started. */
struct cpu_total {
    uint64_t reported_ns;
    uint64_t base_ns; /* time missing from the smaller counter when the cgroup was lost */
    uint64_t last_ns[CPU_SOURCE_COUNT]; /* values at the previous reading */
    enum cpu_source source;
    bool has_begun;
};

/* Returns by how much the total is below the selected counter: time used at an unknown
 * moment. */
uint64_t cpu_total_add(struct cpu_total *total, const struct cpu_counts *counts,
                       enum cpu_source source);

/* The parts of a CPU time, which add up to it: user and system, or main and descendants. */
struct cpu_split {
    uint64_t first_ns, second_ns;
};

/* Sets both parts. Neither falls below its last value. */
void cpu_split_set(struct cpu_split *split, uint64_t total_ns, uint64_t first_ns);

/* Divides a CPU time in proportion to two counts, as the kernel does: the counts are in ticks
 * or incomplete. Neither part falls below its last value. UNKNOWN: a time is unknown. */
struct cpu_split cpu_split_divide(struct cpu_split *last, uint64_t total_ns,
                                  struct cpu_split counted);
