/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_samples.h - fetch what the driver has buffered: utilisation of a device and of its
 * processes. One sample comes every 200 ms or so, and some 14 s of them are kept.
 */
#ifndef SOURCE_GPU_NVIDIA_SAMPLES_H
#define SOURCE_GPU_NVIDIA_SAMPLES_H

#include <stdint.h>
#include <sys/types.h>

#include "source/gpu/nvidia_nvml.h"

#define NVIDIA_SAMPLES_MAX 65536

/* Room that is used by every call. Start from a zeroed one. */
struct nvidia_samples {
    struct nvml_sample *device;
    size_t device_capacity;
    struct nvml_process_usage *usage;
    size_t usage_capacity;
    struct nvml_process_sample *old_usage; /* of drivers without the newer call */
    size_t old_usage_capacity;
};

void nvidia_samples_done(struct nvidia_samples *samples);

/* Fetches the samples of a kind that are newer than `last_us`, in order of time. Returns how
 * many stand in samples->device, 0 where there is none, or -errno: -ENOTSUP where this device
 * or driver has none of that kind. */
ssize_t nvidia_samples_get(struct nvidia_samples *samples, const struct nvml *nvml,
                           nvml_device device, enum nvml_sampling type, uint64_t last_us,
                           int *ret_value_type);

/* Likewise for the processes of a device: into samples->usage. */
ssize_t nvidia_samples_get_usage(struct nvidia_samples *samples, const struct nvml *nvml,
                                 nvml_device device, uint64_t last_us);

/* The percentage in a sample's value; NaN where it is of a type we do not know. Pure. */
double nvidia_sample_percent(union nvml_value value, int value_type);

#endif
