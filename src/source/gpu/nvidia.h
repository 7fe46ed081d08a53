/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia.h - the state of the NVIDIA vendor, for its own files. Other files use only
 * gpu_nvidia.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_clients.h"
#include "source/gpu/nvidia_meters.h"
#include "source/gpu/nvidia_nvml.h"

/* Minimum time between two requests for samples of processes. */
#define NVIDIA_USAGE_LEAST_NS 900000000ull

struct nvidia_entry {
    unsigned pid; /* as reported by the driver */
    uint64_t memory_bytes;
    bool computes; /* the process is in a list other than the list of graphics clients */
};

/* A zeroed struct is empty. */
struct nvidia_list {
    struct nvidia_entry *entries; /* owned */
    size_t count, capacity;
};

/*
 * The processes of a device and the memory each holds.
 *
 * The driver has three lists: of compute, graphics and MPS clients. A process may be in more than one
 * with the same memory, so the largest counts, not the sum.
 *
 * If a list is refused, its last content is used for a second, as some failures are temporary.
 * After that, the memory of its processes is unknown, and other processes may be missing. A
 * driver without a list of graphics or MPS clients has no such clients.
 */
struct nvidia_lists {
    struct nvidia_list kinds[NVML_LIST_COUNT];
    uint64_t answered_ns[NVML_LIST_COUNT]; /* when the list was last read; 0: never */
    int errors[NVML_LIST_COUNT];           /* error of the last call: negative errno; 0: none */
    struct nvidia_list merged;             /* all lists merged, sorted by PID, each PID once */
    /* Why some processes are missing or lack their memory: static text; or NULL. */
    const char *reason;
};

void nvidia_lists_done(struct nvidia_lists *lists);

/* The driver's energy counter, and its increase during the run. */
struct nvidia_energy {
    uint64_t last_millijoules; /* UNKNOWN: never read */
    uint64_t grown_microjoules;
    uint64_t read_ns, due_ns;
    /* Estimated energy since the last reading: power times time. */
    uint64_t since_microjoules;
    uint64_t powered_ns;      /* when the power was last read; 0: never */
    uint64_t last_milliwatts; /* or UNKNOWN */
};

/* A device, or a part (MIG device) of it. */
struct nvidia_device {
    struct gpu_device facts;
    struct nvidia_subject of;
    bool has_parts; /* MIG is on: processes use the parts of the device */

    struct nvidia_meters meters;
    struct nvidia_energy energy;
    struct nvidia_work work;

    struct nvidia_lists lists;
    uint64_t listed_ns;    /* when the lists were last read; monotonic */
    uint64_t listed_bytes; /* memory in use at that time; UNKNOWN: not comparable */

    struct nvidia_clients clients;
    struct nvidia_pace clients_pace;
    uint64_t usage_busy_ns; /* busy time of the device when processes were last counted */
    bool has_usage; /* the driver has samples per process, or no call has been made yet */
    bool is_usage_failing; /* the last call for samples per process failed */
    bool has_foreign;      /* the last samples contain PIDs that are not ours */
    bool has_concluded;    /* samples under a foreign PID were attributed to a process */
};

struct nvidia {
    const struct root *root; /* borrowed */
    struct nvml nvml;
    /* In the driver's order, by PCI address; owned. */
    struct nvidia_device *devices;
    size_t count, capacity;
    struct spoor_error trouble; /* see gpu_vendor */
    uint64_t opened_us;         /* microseconds since 1970 */
    bool is_nested;             /* we are in a container: the host has other PIDs */
    bool is_too_old; /* the driver does not report the usage of processes in a container */
    struct nvidia_buffers buffers;
};

/* Returns the device's own memory in use; UNKNOWN if the device has none or the driver does not
 * report it. */
uint64_t nvidia_device_own_memory_used(const struct nvidia_device *device);

/* Returns the reported memory of a process; UNKNOWN if it is more than the device has. */
uint64_t nvidia_device_plausible_bytes(const struct nvidia_device *device,
                                       uint64_t process_bytes);

/* The reason for missing figures of processes if is_too_old. */
extern const char nvidia_needs_newer_driver[];

/* Whether a driver of this version does not report the use of processes inside a container. Pure. */
bool nvidia_driver_is_too_old(const char *version);

/* See gpu_vendor. */
ssize_t nvidia_processes(struct nvidia *nvidia, const struct gpu_pids *pids,
                         struct gpu_process *list, size_t capacity, uint64_t now_ns);
int nvidia_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns);
ssize_t nvidia_accounts(void *vendor, const struct gpu_pids *pids, struct gpu_record *list,
                        size_t capacity);

/* Sets the reasons for missing processes in a reading. */
void nvidia_processes_explain(const struct nvidia *nvidia, size_t index,
                              struct gpu_reading *reading);

/* Whether the driver keeps accounting records of a device, under our PIDs. */
bool nvidia_has_accounts(const struct nvidia *nvidia, size_t index);
