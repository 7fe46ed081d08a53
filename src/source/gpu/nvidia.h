/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia.h - the state of the NVIDIA vendor, for its own files. Others see gpu_nvidia alone.
 */
#ifndef SOURCE_GPU_NVIDIA_H
#define SOURCE_GPU_NVIDIA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/root.h"
#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_device.h"
#include "source/gpu/nvidia_list.h"
#include "source/gpu/nvidia_nvml.h"
#include "source/gpu/nvidia_pace.h"
#include "source/gpu/nvidia_samples.h"

struct nvidia {
    const struct root *root; /* borrowed */
    struct nvml nvml;
    struct nvidia_device *devices;
    size_t count;
    struct spoor_error trouble; /* see gpu_vendor */
    uint64_t opened_us;         /* time of day */

    bool is_nested;  /* we are in a container: the host has other pids */
    bool is_too_old; /* and the driver does not report the use of processes there */

    struct nvidia_samples samples;
    struct nvidia_scratch scratch;
};

/* Why nothing is known about processes if is_too_old. */
extern const char nvidia_needs_newer_driver[];

/* See gpu_vendor. */
ssize_t nvidia_processes(struct nvidia *nvidia, const struct gpu_pids *pids,
                         struct gpu_process *list, size_t capacity, uint64_t now_ns);
/* Sets what a reading says of processes. */
void nvidia_processes_explain(const struct nvidia *nvidia, size_t index,
                              struct gpu_reading *reading);
int nvidia_processes_read_busy(struct nvidia *nvidia, const struct gpu_pids *pids,
                               uint64_t now_ns);
/* Does the driver keep accounts of a device that may be believed here? */
bool nvidia_has_accounts(const struct nvidia *nvidia, size_t index);
ssize_t nvidia_accounts(struct nvidia *nvidia, const struct gpu_pids *pids,
                        struct gpu_record *list, size_t capacity);

/* Whether a driver of this version does not report the use of processes inside a container. Pure. */
bool nvidia_driver_is_too_old(const char *version);

/* Is it an account of this run? One that ended before us is of a process that had the same
 * number. Pure. */
bool nvidia_account_is_ours(const struct nvml_accounting *stats, uint64_t opened_us);

/* The vendor. */
extern const struct gpu_vendor gpu_nvidia;

#endif
