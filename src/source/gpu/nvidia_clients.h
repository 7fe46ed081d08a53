/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_clients.h - the busy time of each process on one device. Pure.
 *
 * Built from the driver's samples per process by the rules of nvidia_busy.h. A process that
 * ended is kept: what it did shows up in the samples after its end. A process without samples
 * did nothing, so the time covered goes on without them.
 */
#ifndef SOURCE_GPU_NVIDIA_CLIENTS_H
#define SOURCE_GPU_NVIDIA_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/gpu/nvidia_nvml.h"

#define NVIDIA_CLIENTS_MAX 4096

struct nvidia_client {
    pid_t pid;
    uint64_t last_us; /* stamp of its newest sample */
    uint64_t busy_ns;
};

/* Start from a zeroed one. */
struct nvidia_clients {
    struct nvidia_client *list; /* sorted by pid; ours */
    size_t count, capacity;
    uint64_t last_us;   /* stamp of the newest sample of all, to ask the driver from; 0: none */
    uint64_t period_us; /* as in struct busy_meter */
    uint64_t covered_ns;        /* see gpu_process.busy_covered_ns */
    uint64_t anchor_ns;         /* monotonic time when last_us was seen, or of the beginning */
    uint64_t anchor_covered_ns; /* covered_ns then */
};

void nvidia_clients_done(struct nvidia_clients *clients);

/* Counting begins now. What the driver keeps up to `stamp_us` (0: it keeps none) is older. */
void nvidia_clients_begin(struct nvidia_clients *clients, uint64_t stamp_us, uint64_t now_ns);

/* Counts samples, in order of time, which were asked for at `now_ns` (monotonic) and `now_us`
 * (time of day). Returns 0 or -ENOMEM, where some were lost. With more processes than
 * NVIDIA_CLIENTS_MAX the one that was idle for longest is forgotten. */
int nvidia_clients_add(struct nvidia_clients *clients, const struct nvml_process_usage *list,
                       size_t count, uint64_t now_ns, uint64_t now_us);

/* NULL: it had no sample. Valid until the next call that adds. */
const struct nvidia_client *nvidia_clients_find(const struct nvidia_clients *clients,
                                                pid_t pid);

#endif
