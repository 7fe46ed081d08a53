/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia.h - the state of the NVIDIA vendor, for its own files. Others use gpu_nvidia alone.
 *
 * nvidia_nvml.c opens the driver's library, nvidia.c finds the devices and reads their figures,
 * nvidia_meters.c how busy they were; nvidia_processes.c reads what processes use, of which
 * nvidia_clients.c counts the busy time.
 */
#ifndef SOURCE_GPU_NVIDIA_H
#define SOURCE_GPU_NVIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_clients.h"
#include "source/gpu/nvidia_meters.h"
#include "source/gpu/nvidia_nvml.h"

#define NVIDIA_USAGE_LEAST_NS 900000000ull /* between two questions for samples of processes */

struct nvidia_entry {
    unsigned pid; /* as the driver calls it */
    uint64_t memory_bytes;
    bool computes; /* it is in another list than that of graphics */
};

/* Start from a zeroed one. */
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
 * If a list is refused, its last content stands for a second, as some failures pass. After that the
 * memory of those in it is unknown, and there may be others. A driver that has no list of graphics or
 * MPS clients has no such clients.
 *
 * The lists are asked up to 40 times a second. One that holds none of the job is asked less often, as a
 * process cannot start using a GPU within that time.
 */
struct nvidia_lists {
    struct nvidia_list kinds[NVML_LIST_COUNT];
    uint64_t due_ns[NVML_LIST_COUNT];
    uint64_t answered_ns[NVML_LIST_COUNT]; /* when it last was; 0: never */
    int errors[NVML_LIST_COUNT];           /* of the last question: negative errno; 0: none */
    struct nvidia_list merged;             /* sorted by pid, each once */
    /* Why not all processes are listed with the memory they hold: static text. NULL: they are. */
    const char *reason;
};

void nvidia_lists_done(struct nvidia_lists *lists);

/* All lists are due. */
void nvidia_lists_refresh(struct nvidia_lists *lists);

/* The counter as the driver has it, and what it grew by in our time. */
struct nvidia_energy {
    uint64_t last_millijoules; /* UNKNOWN: never read */
    uint64_t grown_microjoules;
    struct nvidia_pace pace;
    uint64_t idle_due_ns; /* when it is due though the device is idle */
    uint64_t gpu_busy_ns; /* what METER_GPU had counted when it was last read */
};

/* A device, or a part (MIG device) of it. */
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
    uint64_t listed_bytes; /* memory in use then; UNKNOWN: not comparable */

    struct nvidia_clients clients;
    struct nvidia_pace clients_pace;
    uint64_t usage_busy_ns; /* of the device when processes were last counted */
    bool has_usage;         /* the driver has samples per process, or was not asked yet */
    bool is_usage_failing;  /* the last question for them */
    bool has_foreign;       /* the last samples have pids that are not ours */
    bool has_concluded;     /* samples under a foreign pid were attributed to a process */
};

struct nvidia {
    const struct root *root; /* borrowed */
    struct nvml nvml;
    struct nvidia_device
        *devices; /* in the driver's order, which is that of PCI addresses; owned */
    size_t count, capacity;
    struct spoor_error trouble; /* see gpu_vendor */
    uint64_t opened_us;         /* time of day */
    bool is_nested;             /* we are in a container: the host has other pids */
    bool is_too_old;            /* and the driver does not report the use of processes there */
    struct nvidia_rooms rooms;
};

/* Memory of its own in use; UNKNOWN if it has none or the driver does not report it. */
uint64_t nvidia_device_own_memory_used(const struct nvidia *nvidia,
                                       const struct nvidia_device *device);

/* The memory that a process is reported to hold; UNKNOWN if that is more than the device has. */
uint64_t nvidia_device_believe(const struct nvidia_device *device, uint64_t process_bytes);

/* Why nothing is known about processes if is_too_old. */
extern const char nvidia_needs_newer_driver[];

/* Whether a driver of this version does not report the use of processes inside a container. Pure. */
bool nvidia_driver_is_too_old(const char *version);

/* See gpu_vendor. */
ssize_t nvidia_processes(struct nvidia *nvidia, const struct gpu_pids *pids,
                         struct gpu_process *list, size_t capacity, uint64_t now_ns);
int nvidia_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns);
ssize_t nvidia_accounts(void *vendor, const struct gpu_pids *pids, struct gpu_record *list,
                        size_t capacity);

/* Sets the reasons of a reading why processes are missing. */
void nvidia_processes_explain(const struct nvidia *nvidia, size_t index,
                              struct gpu_reading *reading);

/* Does the driver keep accounts of a device that may be believed here? */
bool nvidia_has_accounts(const struct nvidia *nvidia, size_t index);

/* Is it an account of this run? One that ended before us belongs to an earlier process with the same pid.
 * Pure. */
bool nvidia_account_is_ours(const struct nvml_accounting *stats, uint64_t opened_us);

#endif
