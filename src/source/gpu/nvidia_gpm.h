/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_gpm.h - utilisation by GPM, the performance monitor of Hopper and later.
 *
 * Two snapshots of hardware counters give the share of the time between them in which a
 * kernel ran. It is the only source for a MIG device, whose driver samples do not exist. A
 * snapshot is of a GPU instance: compute instances that share one have the same figure.
 */
#ifndef SOURCE_GPU_NVIDIA_GPM_H
#define SOURCE_GPU_NVIDIA_GPM_H

#include <stdbool.h>
#include <stdint.h>

#include "source/gpu/nvidia_nvml.h"

/* Start from a zeroed one. */
struct nvidia_gpm {
    nvml_gpm_sample samples[2]; /* the driver's */
    unsigned newest;            /* which of them */
    uint64_t taken_ns;          /* when it was taken, monotonic */
    nvml_device device;         /* the whole one */
    bool is_part;
    unsigned gpu_instance; /* of a part */
    struct nvml_gpm_metrics *metrics;
};

/* Takes the first snapshot. `device` is the whole device; `gpu_instance` NULL: all of it.
 * -ENOTSUP: it has no GPM, or the driver has not. */
int nvidia_gpm_init(struct nvidia_gpm *ret, const struct nvml *nvml, nvml_device device,
                    const unsigned *gpu_instance, uint64_t now_ns);
void nvidia_gpm_done(struct nvidia_gpm *gpm, const struct nvml *nvml);

/* The share of the time since the last successful call in which a kernel ran. -EAGAIN: that
 * was less than 100 ms ago, which is too short. */
int nvidia_gpm_read(struct nvidia_gpm *gpm, const struct nvml *nvml, uint64_t now_ns,
                    uint64_t *ret_span_ns, double *ret_percent);

#endif
