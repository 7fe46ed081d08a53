/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_cost.h - what it is likely to take to walk the page tables of processes, which the kernel
 * does for whoever reads smaps_rollup. Pure.
 */
#ifndef JOB_MEMORY_WALK_COST_H
#define JOB_MEMORY_WALK_COST_H

#include <stddef.h>
#include <stdint.h>

struct walk_cost {
    double page_ns; /* per 4 KiB: huge pages cost next to nothing */
};

/* What is assumed until a walk was measured. */
void walk_cost_init(struct walk_cost *cost);

/* CPU time, in nanoseconds, for so many processes with this much resident memory in all. */
uint64_t walk_cost_ns(const struct walk_cost *cost, size_t process_count, uint64_t rss_bytes);

/* A walk has taken so long. */
void walk_cost_learn(struct walk_cost *cost, size_t process_count, uint64_t rss_bytes,
                     uint64_t spent_ns);

#endif
