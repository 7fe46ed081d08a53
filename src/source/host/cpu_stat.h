/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_stat.h - the CPU time of the whole machine, from /proc/stat.
 *
 * Time spent in guests is part of user time in the kernel's own count, and is
 * not added again.
 */
#ifndef SOURCE_HOST_CPU_STAT_H
#define SOURCE_HOST_CPU_STAT_H

#include <stddef.h>
#include <stdint.h>

/* Totals over all CPUs since boot. UNKNOWN where the kernel does not say, or
 * where the figure does not fit (584 years of CPU time). */
struct cpu_stat {
    uint64_t user_ns;   /* programs, niced ones included */
    uint64_t system_ns; /* the kernel, interrupts included */
    uint64_t idle_ns;
    uint64_t iowait_ns;
    uint64_t steal_ns;
    uint64_t interrupt_ns; /* a part of system_ns */
    uint64_t cpus;         /* how many are online */
};

/* Parses /proc/stat, or the start of it: what stands behind the cut is UNKNOWN.
 * `ticks_per_second` is sysconf(_SC_CLK_TCK). -EBADMSG: no whole "cpu" line. */
int cpu_stat_parse(const char *text, uint64_t ticks_per_second, struct cpu_stat *ret);

/* The time since boot that a CPU was not idle: of programs, the kernel and the hypervisor. */
struct cpu_busy {
    uint64_t number; /* cpu0 has 0 */
    uint64_t busy_ns;
};

/* The CPUs that are online, in the order of the text. Returns how many were stored. */
size_t cpu_stat_parse_each(const char *text, uint64_t ticks_per_second, struct cpu_busy *list,
                           size_t capacity);

#endif
