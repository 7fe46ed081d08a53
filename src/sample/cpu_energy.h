/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_energy.h - the job's share of the energy of the CPUs. Pure.
 *
 * In each step, the job gets a share of the energy: its share of all busy CPU time. The lower
 * bound leaves out the energy that the CPUs use at rest, which the job did not cause. The power
 * at rest is not known, but it is at most the lowest power of all steps.
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

/* Returns the lower bound of job_uj. */
double cpu_energy_low_uj(const struct cpu_energy *energy);

#endif
