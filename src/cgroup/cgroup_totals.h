/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_totals.h - what a cgroup has used: the texts of its files, parsed. Pure.
 *
 * Versions 1 and 2 tell the same things in other words; here they are one struct.
 */
#ifndef CGROUP_CGROUP_TOTALS_H
#define CGROUP_CGROUP_TOTALS_H

#include <stdint.h>

/* Since the cgroup was made. UNKNOWN where the text does not say. */
struct cgroup_cpu {
    uint64_t total_ns, user_ns, system_ns;
};

/* cpu.stat of version 2. */
int cgroup_parse_cpu_stat(const char *text, struct cgroup_cpu *ret);

/* Scales user and system time of version 1, which are counted in ticks, so that they add up to the
 * total and neither is below what it was before. */
void cgroup_split_cpu(struct cgroup_cpu *cpu, uint64_t user_before_ns,
                      uint64_t system_before_ns);

struct cgroup_memory {
    uint64_t anon_bytes;       /* what no file backs, shared memory apart */
    uint64_t shmem_bytes;      /* shared memory and tmpfs */
    uint64_t page_cache_bytes; /* what files back */
    uint64_t dirty_bytes;      /* the part of it that is still to be written; or UNKNOWN */
};

/* memory.stat of either version. */
int cgroup_parse_memory_stat(const char *text, struct cgroup_memory *ret);

struct cgroup_io {
    uint64_t read_bytes, written_bytes;
};

/* io.stat of version 2: the sum over devices. An empty file is 0. */
int cgroup_parse_io_stat(const char *text, struct cgroup_io *ret);

#endif
