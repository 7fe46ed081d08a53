/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrounding.h - the cgroup that the tracker was started in, for a job that gets no cgroup of
 * its own.
 *
 * A Slurm step, a container, a pod and a service have a cgroup in which spoor may not create
 * another one, or must not. If it contains only the tracker and its descendants, its counters
 * give the usage of the job: their increase minus the tracker's usage. Other processes make the
 * cgroup useless, except for an upper bound of the job's memory. Membership is checked at the
 * start and at every sample; a process that comes and goes between two samples is not noticed.
 *
 * - CPU time: the kernel adds it to the cgroup and to the clock of a process in one place, so that
 *   the difference is exact to a few microseconds.
 * - Memory: the memory in the cgroup at the start is subtracted from its peak. Page cache and
 *   kernel memory may have been freed between the start and the peak: the peak is uncertain by
 *   this much.
 * - Threads: unknown, because threads of the tracker start and exit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/cgroup.h"
#include "job/job_cgroup.h"

/* Zeroed: not in use. */
struct surrounding {
    /* Cgroup that counts the job's memory, and perhaps memory of others; empty: none. */
    struct cgroup memory;
    struct tracker_usage {
        uint64_t cpu_ns, user_ns, system_ns, anon_bytes;
    } tracker;                        /* at the start */
    struct job_cgroup_reading before; /* the cgroup at the start */
    uint64_t memory_before_bytes;     /* memory in use at the start */
    uint64_t
        peak_bytes; /* the kernel's peak of `memory` at the last thorough look; or UNKNOWN */
};

struct job;
struct job_reading;

/* Uses the cgroups of the tracker, if they contain no other processes and the job has no cgroup. */
void surrounding_open(struct job *job, const struct cgroups *cgroups);

/* Called before the cgroup is read: drops it if other processes have entered it, and updates
 * the usage of the tracker. After a thorough look, checks the cgroups below it, too. */
void surrounding_update(struct job *job);

/* Returns the CPU time of the job according to the surrounding cgroup, without checking its
 * processes; or UNKNOWN. */
uint64_t surrounding_cpu_ns(struct job *job);

/* Reads the peak of the cgroup that counts the job's memory, after a thorough look. */
void surrounding_read_peak(struct job *job);

/* Call after surrounding_update(): sets the peak's upper bound, and whether it is uncertain. */
void surrounding_bound(const struct job *job, struct job_reading *reading);
