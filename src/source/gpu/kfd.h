/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kfd.h - memory of processes that compute on AMD GPUs through KFD (ROCm, HIP).
 *
 * Such work goes past the DRM driver: its engine counters do not show it, and its memory only
 * in part. /sys/class/kfd/kfd/proc/PID/vram_GPU tells the memory, for everyone to read; nothing
 * there tells time.
 *
 * The PIDs are those of the machine, not of our pid namespace. In a container they would name
 * strangers, so nothing is read there; what fdinfo tells stands.
 */
#ifndef SOURCE_GPU_KFD_H
#define SOURCE_GPU_KFD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/drm_device.h"

enum { KFD_NODE_MAX = 128 };

/* A GPU of KFD. One device may be several (partitions). */
struct kfd_node {
    uint64_t gpu_id;
    unsigned device; /* index in the list of devices */
};

struct kfd {
    size_t count; /* 0: there is no KFD, or its processes cannot be told */
    struct kfd_node node[KFD_NODE_MAX];
};

/* Finds which GPU of KFD is which device. GPUs that may not be looked at are left out, as in a
 * container that has some of the machine's. */
void kfd_find(const struct root *root, const struct drm_devices *devices, struct kfd *ret);

/* Memory of a process on a device; UNKNOWN: it does not use KFD there. */
uint64_t kfd_memory_bytes(const struct kfd *kfd, const struct root *root, pid_t pid,
                          unsigned device);

#endif
