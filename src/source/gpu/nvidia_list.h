/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_list.h - the processes of one device and the memory each holds.
 *
 * The driver has three lists: of compute, graphics and MPS clients. A process may be in more
 * than one with the same memory, so the largest counts, not the sum.
 *
 * A list that is refused leaves what was seen last for a second, as some troubles pass. After that
 * the memory of those in it is unknown, and there may be others. Where a driver has no list of
 * graphics or MPS clients there are none.
 *
 * The lists are asked up to 40 times a second. One that holds none of the job is asked less often, as a
 * process cannot start using a GPU within that time.
 */
#ifndef SOURCE_GPU_NVIDIA_LIST_H
#define SOURCE_GPU_NVIDIA_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/gpu/gpu.h"
#include "source/gpu/nvidia_nvml.h"

/* The kernel's driver keeps no more than 950. */
#define NVIDIA_LIST_MAX 4096

struct nvidia_entry {
    unsigned pid; /* as the driver calls it */
    uint64_t memory_bytes;
    bool computes; /* it is in another list than that of graphics */
};

/* Start from a zeroed one. */
struct nvidia_list {
    struct nvidia_entry *entries; /* ours */
    size_t count, capacity;
};

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

/* Reads those lists that are due. `scratch` is the caller's, to be freed by it. Returns 0 or -errno: -ENODEV
 * where the device is lost; what was read before stays. */
struct nvidia_scratch {
    char *bytes;
    size_t size;
};
int nvidia_lists_read(struct nvidia_lists *lists, const struct nvml *nvml, nvml_device device,
                      const struct gpu_pids *pids, uint64_t now_ns,
                      struct nvidia_scratch *scratch);

/* All lists are due. */
void nvidia_lists_refresh(struct nvidia_lists *lists);

/* Is the process one of those asked for? */
bool gpu_pids_have(const struct gpu_pids *pids, unsigned pid);

/* Makes `size` bytes of room. -ENOMEM. */
int nvidia_scratch_reserve(struct nvidia_scratch *scratch, size_t size);

#endif
