/* SPDX-License-Identifier: Apache-2.0 */
/* fake_gpus.h - some GPUs, for tests of their figures. */
#ifndef FAKE_GPUS_H
#define FAKE_GPUS_H

#include "base/clock.h"
#include "job/gpu/gpu_account.h"

#define MS(n) ((n)*NS_PER_MS)
#define GB 1000000000ull

/* A whole GPU that is split into two parts, another that is not assigned to the job, and one
 * that is. */
enum { WHOLE, PART_0, PART_1, OTHER, ALONE, COUNT };

extern struct fake_gpus {
    struct gpu_unit units[COUNT];
    struct gpu_account account; /* of a run that begins at 0 */
} fake_gpus;

/* For cmocka, before and after each test. */
int fake_gpus_begin(void **state);
int fake_gpus_end(void **state);

/* Adds a reading of a GPU to the account. */
void fake_see(size_t unit, struct gpu_reading reading, uint64_t now_ns);

/* A reading of a GPU without other values. */
struct gpu_reading fake_reading(uint64_t used_bytes, uint64_t busy_ns, uint64_t covered_ns);

/* A process on a GPU: PIDs below 100 belong to the job, main is 10. Unreported values have
 * the reason "hidden". */
struct gpu_row fake_row(size_t unit, pid_t pid, uint64_t memory_bytes, uint64_t busy_ns,
                        uint64_t covered_ns);

#endif
