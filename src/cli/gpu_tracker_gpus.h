/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_tracker_gpus.h - the GPUs of this machine, as far as gpu-tracker speaks of them. */
#ifndef CLI_GPU_TRACKER_GPUS_H
#define CLI_GPU_TRACKER_GPUS_H

#include <stdint.h>

#include "spoor/spoor.h"

struct gpu_tracker_gpus {
    uint64_t count;          /* on the machine */
    uint64_t expected_count; /* those that were asked for */
    double memory_bytes;     /* of all */
};

/* Looks for GPUs. `uuids` is the list of --guuids, NULL: all; `brand` is "nvidia", "amd" or
 * NULL. Fails, with the message for the user, where a list names a GPU that is not there. No
 * GPU at all is no failure. */
int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret,
                          struct spoor_error *err);

#endif
