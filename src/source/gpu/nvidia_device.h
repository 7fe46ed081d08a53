/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_device.h - one NVIDIA device, or one part (MIG device) of it: what it is, and what
 * it is doing.
 */
#ifndef SOURCE_GPU_NVIDIA_DEVICE_H
#define SOURCE_GPU_NVIDIA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_clients.h"
#include "source/gpu/nvidia_list.h"
#include "source/gpu/nvidia_meters.h"
#include "source/gpu/nvidia_nvml.h"
#include "source/gpu/nvidia_pace.h"

#define NVIDIA_DEVICES_MAX 1024
#define NVIDIA_USAGE_LEAST_NS 900000000ull /* between two questions for samples of processes */

/* The counter as the driver has it, and what it grew by in our time. */
struct nvidia_energy {
    uint64_t last_millijoules; /* UNKNOWN: never read */
    uint64_t grown_microjoules;
    struct nvidia_pace pace;
    uint64_t idle_due_ns; /* when it is due though the device is idle */
    uint64_t gpu_busy_ns; /* what METER_GPU had counted when it was last read */
};

struct nvidia_device {
    struct gpu_device facts;
    nvml_device handle;
    nvml_device whole;     /* the device that a part belongs to, or itself */
    unsigned gpu_instance; /* of a part */
    bool has_parts;        /* MIG is on: processes are those of its parts */

    struct nvidia_meters meters;
    struct nvidia_energy energy;

    struct nvidia_lists lists;
    uint64_t listed_ns;    /* when they were last read; monotonic */
    uint64_t listed_bytes; /* memory in use then; UNKNOWN: it says nothing about processes */

    struct nvidia_clients clients;
    struct nvidia_pace clients_pace;
    uint64_t usage_busy_ns; /* of the device when processes were last counted */
    bool has_usage;         /* the driver has samples per process, or was not asked yet */
    bool is_usage_failing;  /* the last question for them */
    bool has_foreign;       /* the last samples have pids that are not ours */
    bool has_concluded;     /* samples under a foreign pid were attributed to a process */
};

/* All devices and their parts, in the driver's order, which is that of PCI addresses. */
struct nvidia_devices {
    struct nvidia_device *list; /* to be ended one by one and freed */
    size_t count;
    struct spoor_error trouble; /* of those that cannot be opened; code 0: there is none */
};

/* Devices that we may not touch are left out. On success *ret is the caller's. -ENODEV: there is
 * none. */
int nvidia_devices_find(const struct nvml *nvml, struct nvidia_devices *ret,
                        struct spoor_error *err);

/* Begins to count. */
void nvidia_device_begin(struct nvidia_device *device, const struct nvml *nvml, uint64_t now_ns,
                         struct nvidia_samples *room);
void nvidia_device_done(struct nvidia_device *device, const struct nvml *nvml);

/* Memory of the device; for one without memory of its own, the machine's. UNKNOWN where the
 * driver does not say. Returns 0, or -ENODEV where the device is lost. */
int nvidia_device_read_memory(nvml_device handle, const struct nvml *nvml,
                              const struct root *root, uint64_t *ret_total_bytes,
                              uint64_t *ret_used_bytes);

/* Memory of its own in use; UNKNOWN where it has none or the driver does not say. */
uint64_t nvidia_device_own_memory_used(nvml_device handle, const struct nvml *nvml);

/* What a process is told to hold; UNKNOWN where that is more than the device has. */
uint64_t nvidia_device_believe(const struct nvidia_device *device, uint64_t process_bytes);

/* Microjoules since the first call; as of the last time, where it is not due. */
uint64_t nvidia_device_read_energy(struct nvidia_device *device, const struct nvml *nvml,
                                   uint64_t now_ns);

/* It is due, idle or not. */
void nvidia_energy_refresh(struct nvidia_energy *energy);

/* See gpu_vendor.read; nothing is said of processes. */
int nvidia_device_read(struct nvidia_device *device, const struct nvml *nvml,
                       const struct root *root, uint64_t now_ns, struct nvidia_samples *room,
                       struct gpu_reading *ret);

#endif
