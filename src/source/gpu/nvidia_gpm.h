/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_gpm.h - NVIDIA's performance monitor (GPM, Hopper and later): means over the time
 * between two snapshots of the device's counters. Needs no privileges.
 *
 * A snapshot takes 50 us, comparing two takes 1 to 5 ms. DCGM and profilers use the same
 * counters, and may refuse to share them.
 */
#pragma once

#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_nvml.h"

/* The measured device; all pointers are borrowed. */
struct nvidia_subject {
    const struct nvml *nvml;
    nvml_device device;
    nvml_device whole; /* the device to which a part belongs; otherwise the same as `device` */
    unsigned gpu_instance; /* of a part */
    struct nvidia_buffers *buffers;
};

/* A zeroed struct is closed. */
struct nvidia_gpm {
    nvml_gpm_sample samples[2]; /* allocated by the driver */
    unsigned newest;            /* index of the newest sample */
    uint64_t taken_ns;          /* time of the newest sample; monotonic */
    struct nvml_gpm_metrics *metrics;
};

/* Whether the device and the driver have GPM. */
bool nvidia_gpm_is_supported(const struct nvidia_subject *of);

/* Takes the first snapshot. -ENOTSUP: the device or the driver has no GPM. */
int nvidia_gpm_open(struct nvidia_gpm *gpm, const struct nvidia_subject *of, uint64_t now_ns);
void nvidia_gpm_close(struct nvidia_gpm *gpm, const struct nvml *nvml);

/* Compares the device's counters with their values at the last successful call: gpm->metrics
 * receives the status and value of each metric, *ret_span_ns the time between the two calls.
 * -EAGAIN: the last call was less than 100 ms ago, which is too short. */
int nvidia_gpm_read(struct nvidia_gpm *gpm, const struct nvidia_subject *of, uint64_t now_ns,
                    const enum nvml_gpm_id *ids, unsigned count, uint64_t *ret_span_ns);

struct nvidia_work {
    struct gpu_work counted;

    /* Private. */
    struct nvidia_gpm gpm; /* open while the job uses the device */
    uint64_t due_ns;       /* when to read the counters next; 0: at once */
    bool is_off;           /* the counters cannot be used */
};

void nvidia_work_init(struct nvidia_work *work);

/* See gpu_vendor. After a failure the counters are not used again during the run. */
void nvidia_work_look(struct nvidia_work *work, const struct nvidia_subject *of,
                      uint64_t now_ns, bool is_used, bool is_quick);
