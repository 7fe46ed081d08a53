/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - takes one sample: asks the job and the host, fills the metrics.
 *
 * sampler_tick() is a plain function of the time it is given. It knows no thread and
 * no clock, so that a test can step it over a fixture machine.
 */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/root.h"
#include "job/gpu/gpu_view.h"
#include "job/job.h"
#include "sample/sample.h"
#include "source/host/devices.h"
#include "source/host/host.h"

/* Makes private and shared memory of a sample those of its totals.
 *
 * Sizes are read with every sample, but what is private and shared only from time to time, and the
 * highest values since the sample before are of different moments. In a sample private and shared
 * memory add up to the total, and the private memory of main and descendants to that of the job; where
 * what is known of the parts does not explain the total, they are unknown. */

/* The highest values of the parts stay in sample->highest. */
void memory_parts_settle(struct sample *sample);

/* Main's clock is read after the job's CPU time and may be ahead of it. Makes main and descendants add up to the job;
 * neither ever falls. `descendants_ns`: that of the previous sample, 0 before the first; updated. */
void cpu_parts_settle(struct sample *sample, uint64_t *descendants_ns);

/* Metrics that this run does not measure, from `first` to before `end`, and why. */
struct untracked_scope {
    enum metric first, end; /* equal: there are none */
    const char *reason;
};

struct sampler {
    const struct root *root; /* borrowed */
    struct job job;
    struct host host;
    struct cgroups cgroups; /* that the job was in when it began */
    bool has_cgroups;       /* they can be seen */
    struct untracked_scope untracked;
    struct job_reading reading; /* the latest, for warnings about it */
    struct host_reading host_reading;
    uint64_t descendants_cpu_ns;           /* as last reported */
    uint64_t gpu_busy_ns, job_gpu_busy_ns; /* as last said */
    uint64_t first_oom_kills;              /* of the machine, at the first sample */
    struct cpu_stat first_cpu;             /* of the machine, likewise */
    struct instant started;
    bool has_started;
};

/* As job_init(); without a process only the host is sampled. On success the caller ends it with sampler_done(). */
int sampler_init(struct sampler *sampler, const struct root *root,
                 const struct job_options *options, struct instant now);
void sampler_done(struct sampler *sampler);

/* At the border of a phase and at the end, all is read that is read once a second otherwise. Early samples
 * come before the regular ones: session/pace.h. */
enum sample_kind { SAMPLE_EARLY, SAMPLE_REGULAR, SAMPLE_BORDER, SAMPLE_LAST };

void sampler_tick(struct sampler *sampler, struct instant now, enum sample_kind kind,
                  struct sample *ret);

/* Adds what is known of the GPUs to a sample that was taken. */
void sampler_add_gpus(struct sampler *sampler, const struct gpu_view *view, bool is_last,
                      struct sample *ret);

/* A look between samples, for peaks: job_glance(). */
void sampler_glance(struct sampler *sampler, struct instant now);

/* ---- The machine device by device, for streams that list them -------------- */

/* Owns its lists. Zeroed is empty. */
struct device_sample {
    struct devices devices;
    struct cpu_busy *cpus; /* those that are online */
    size_t cpu_count;
};

/* Reads it anew. What cannot be read is left out. `space` as in devices_read(). */
void device_sample_read(struct device_sample *sample, const struct root *root,
                        struct space *space);
void device_sample_done(struct device_sample *sample);

/* The busy time of a CPU; UNKNOWN: it was not online. */
uint64_t device_sample_cpu_ns(const struct device_sample *sample, uint64_t number);

#endif
