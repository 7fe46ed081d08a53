/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - takes one sample: reads the job and the host, fills the metrics.
 *
 * sampler_tick() depends only on the given time. It uses no thread and no clock, so that a test
 * can step it over a fixture machine.
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "base/root.h"
#include "job/gpu/gpu_view.h"
#include "job/job.h"
#include "sample/sample.h"
#include "source/host/devices.h"
#include "source/host/energy.h"
#include "source/host/host.h"

/* Makes private and shared memory of a sample consistent with the total.
 *
 * Totals are read with every sample, the private and shared parts less often, and the maxima
 * since the previous sample are of different moments. In a sample, private and shared memory
 * add up to the total, and private memory of main and descendants to the job's private memory.
 * If the known parts do not explain the total, they are set to unknown. */

/* Keeps the highest values of the parts in sample->highest. */
void memory_parts_reconcile(struct sample *sample);

/* The metrics that this run does not measure, from `first` to before `end`, and why. */
struct untracked_scope {
    enum metric first, end; /* equal: there are none */
    const char *reason;
};

/* The job's share of the energy of the CPUs. Pure.
 *
 * In each step, the job gets a share of the energy: its share of all busy CPU time. The CPUs
 * use energy at rest, too, which the job did not cause: the lower bound leaves it out. Power at
 * rest is not known, but at most as high as the lowest power of all steps. */

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

struct sampler {
    const struct root *root; /* borrowed */
    struct job job;
    struct host host;
    struct cgroups cgroups; /* cgroups of the job at its start */
    bool has_cgroups;       /* `cgroups` is valid */
    struct untracked_scope untracked;
    struct job_reading reading; /* the latest reading; used by warnings */
    struct host_reading host_reading;
    struct energy energy; /* energy of the machine */
    struct cpu_energy cpu_energy;
    uint64_t gpu_counts[GPU_TOTAL_COUNT - GPU_TOTAL_LEVELS]; /* as last reported */
    uint64_t first_oom_kills;  /* count of the machine at the first sample */
    struct cpu_stat first_cpu; /* CPU times of the machine at the first sample */
    struct instant started;
    bool has_started;
};

/* Like job_init(); without a job it samples the host. If it succeeds, call sampler_done(). */
int sampler_init(struct sampler *sampler, const struct root *root,
                 const struct job_options *options, struct instant now);
void sampler_done(struct sampler *sampler);

/* Samples at phase borders and at the end also read values that are otherwise read once a
 * second. Early samples: see session/pace.h. */
enum sample_kind { SAMPLE_EARLY, SAMPLE_REGULAR, SAMPLE_BORDER, SAMPLE_LAST };

void sampler_tick(struct sampler *sampler, struct instant now, enum sample_kind kind,
                  struct sample *ret);

/* Adds the GPU figures to a finished sample. */
void sampler_add_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret);

/* ---- The machine by device, for streams that list devices ------------------- */

/* Owns its lists. A zeroed struct is empty. */
struct device_sample {
    struct devices devices;
    struct cpu_busy *cpus; /* CPUs that are online */
    size_t cpu_count;
};

/* Reads the devices again. Unreadable ones are left out. `space` as in devices_read(). */
void device_sample_read(struct device_sample *sample, const struct root *root,
                        struct space *space);
void device_sample_done(struct device_sample *sample);

/* Returns the busy time of a CPU; UNKNOWN: it was not online. */
uint64_t device_sample_cpu_ns(const struct device_sample *sample, uint64_t number);
