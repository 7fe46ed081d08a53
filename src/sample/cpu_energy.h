/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_energy.h - the job's share of the energy of the CPUs. Pure.
 *
 * In each step, the job gets a share of the energy: its share of all busy CPU time. The CPUs
 * use energy at rest, too, which the job did not cause: the lower bound leaves it out. Power at
 * rest is not known, but at most as high as the lowest power of all steps.
 */
#ifndef SAMPLE_CPU_ENERGY_H
#define SAMPLE_CPU_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

/* Counters; each may be UNKNOWN. */
struct energy_point {
    uint64_t now_ns, energy_uj, job_ns, busy_ns;
};

/* A zeroed struct is empty. */
struct cpu_energy {
    struct energy_point last;
    bool has_begun;
    double job_uj;
    double share_seconds; /* time, weighted by the job's share */
    double least_watts;   /* lowest power of a step; 0: none yet */
};

/* Steps are at least a fifth of a second long, because busy time comes in ticks; the last one
 * (`is_last`) may be shorter. */
void cpu_energy_add(struct cpu_energy *energy, const struct energy_point *point, bool is_last);

/* The lower bound of job_uj. */
double cpu_energy_low_uj(const struct cpu_energy *energy);

#endif
