/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - the GPUs of this machine, as gpu-tracker reports them. */
#ifndef COMPAT_GPU_TRACKER_GPUS_H
#define COMPAT_GPU_TRACKER_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "spoor/spoor.h"

struct gpu_tracker_gpus {
    uint64_t count;          /* on the machine, or of the brand */
    uint64_t expected_count; /* those whose utilization counts */
    double memory_bytes;     /* of all */
    char *selection;         /* for spoor_options.gpus; owned; NULL after a failure */
    bool is_silent;          /* the driver does not respond: the number of GPUs is unknown */
    char message[1024];      /* why it failed, or why there is no GPU; else empty */
};

/* Looks for GPUs. `uuids` is the list of --guuids, NULL: all; `brand` is "nvidia", "amd" or
 * NULL. Finding no GPU is not a failure: the list is ignored, as by the predecessor. Nor is a
 * driver that does not respond within 2 s.
 * -EINVAL: the list is empty or names a GPU that does not exist; -ENODEV: no GPU of that brand.
 * The message is for the user. */
int gpu_tracker_gpus_find(const char *uuids, const char *brand, struct gpu_tracker_gpus *ret);

/* The same from what the session has found since: it waits for drivers as long as it runs. */
int gpu_tracker_gpus_ask(spoor_session *session, const char *uuids, const char *brand,
                         struct gpu_tracker_gpus *ret);
void gpu_tracker_gpus_done(struct gpu_tracker_gpus *gpus);

/* The same for a list of GPUs that is known. Pure. */
int gpu_tracker_gpus_choose(const struct spoor_gpu *list, size_t count, const char *uuids,
                            const char *brand, struct gpu_tracker_gpus *ret);

#endif
