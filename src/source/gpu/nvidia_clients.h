/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_clients.h - the busy time of each process on one device. Pure.
 *
 * The driver keeps a sample of the device every 200 ms or so. Each sample names one process:
 * the process that kept the device busy or, in a sample of 0 %, the process that last did so. A
 * query for the processes since a given time returns one answer for each process that is still
 * alive: the sum of its samples divided by the number of all samples that name a live process,
 * and the time of its own newest sample. Samples taken before the first process name no
 * process, and samples of an exited process count neither in the sum nor in the number. So the
 * answers, taken as shares of the whole time, are too large. Their sum is limited to the busy
 * time of the device.
 *
 * An exited process is missing from later answers, together with its work since the previous
 * answer. Busy time of the device that no answer explains is divided among the processes that
 * exited meanwhile.
 *
 * If two processes were busy within one sample, the driver names only one of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/gpu/nvidia_nvml.h"

#define NVIDIA_CLIENTS_MAX 4096

struct nvidia_client {
    pid_t pid;
    uint64_t last_us; /* timestamp of the newest sample of the process; 0: none */
    uint64_t busy_ns;
    uint64_t percent; /* percentage in the current answer */
    bool is_over;     /* the exit of the process was counted */
    bool is_named;    /* the process is in the last answer */
};

/* A zeroed struct is empty. Times are times of day. */
struct nvidia_clients {
    struct nvidia_client *list; /* sorted by PID, as seen in our namespace; owned */
    size_t count, capacity;
    uint64_t until_us;   /* everything until this time is counted */
    uint64_t covered_ns; /* see gpu_process.busy_covered_ns */
};

void nvidia_clients_done(struct nvidia_clients *clients);

/* Starts counting now. */
void nvidia_clients_begin(struct nvidia_clients *clients, uint64_t now_us);

/* Returns the time from which samples are missing, if samples are `period_us` apart (0:
 * unknown). */
uint64_t nvidia_clients_since_us(const struct nvidia_clients *clients, uint64_t period_us);

/* Adds a process that is on the device. Returns 0 or -ENOMEM. */
int nvidia_clients_expect(struct nvidia_clients *clients, pid_t pid);

struct nvidia_answer {
    const struct nvml_process_usage *list;
    size_t count;
    uint64_t now_us;    /* time of the request */
    uint64_t period_us; /* time between samples; 0: unknown */
    /* Busy time of the device since the previous answer, from the device's own samples; or
     * UNKNOWN. */
    uint64_t device_busy_ns;
    uint64_t device_last_us; /* time of the newest of those samples; 0: unknown */
    /* Returns whether a process that is not in the answer has stopped using the device. */
    bool (*has_ended)(pid_t pid, const void *data);
    const void *data;
};

/* Counts an answer. Returns 0, or -ENOMEM if a process could not be added. If there are more
 * processes than NVIDIA_CLIENTS_MAX, the process that has been idle for longest is dropped. */
int nvidia_clients_add(struct nvidia_clients *clients, const struct nvidia_answer *answer);

/* Finds a process. NULL: it was never on the device. Valid until the next call that adds a
 * process. */
const struct nvidia_client *nvidia_clients_find(const struct nvidia_clients *clients,
                                                pid_t pid);
