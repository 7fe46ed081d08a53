/* SPDX-License-Identifier: Apache-2.0 */
/* fake_gpus.h - a few GPUs for tests of GPU figures. */
#pragma once

#include "base/clock.h"
#include "job/gpu/gpu_account.h"

#define MS(n) ((n)*NS_PER_MS)
#define GB 1000000000ull

/* A GPU with two parts, a GPU that is not assigned to the job (OTHER), and an undivided GPU
 * that is (ALONE). */
enum { WHOLE, PART_0, PART_1, OTHER, ALONE, COUNT };

extern struct fake_gpus {
    struct gpu_unit units[COUNT];
    struct gpu_account account; /* the run starts at time 0 */
} fake_gpus;

/* Setup and teardown functions for cmocka. */
int fake_gpus_begin(void **state);
int fake_gpus_end(void **state);

/* Adds a reading of a GPU to the account. */
void fake_see(size_t unit, struct gpu_reading reading, uint64_t now_ns);

/* Returns a reading in which all other values are unknown. */
struct gpu_reading fake_reading(uint64_t used_bytes, uint64_t busy_ns, uint64_t covered_ns);

/* Returns a process on a GPU. PIDs below 100 belong to the job; main has PID 10. The reason for
 * unknown values is "hidden". */
struct gpu_row fake_row(size_t unit, pid_t pid, uint64_t memory_bytes, uint64_t busy_ns,
                        uint64_t covered_ns);
