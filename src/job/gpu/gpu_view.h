/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_view.h - what is known of the GPUs at the moment: for samples and reports. */
#ifndef JOB_GPU_GPU_VIEW_H
#define JOB_GPU_GPU_VIEW_H

#include <stddef.h>

#include "job/gpu/gpu_inventory.h"
#include "job/gpu/gpu_totals.h"

enum gpu_state {
    GPU_PENDING, /* the drivers have not answered yet */
    GPU_NONE,    /* there is none, or none is to be looked at */
    GPU_READY,
    GPU_SILENT, /* a driver has stopped answering: of the totals those levels alone are known
                   that it told since the last sample */
};

/* Where figures come from. */
struct gpu_origin_names {
    char process_memory[64];
    char process_busy[64];
    char device_busy[64];
    char device[64];
};

struct gpu_view {
    enum gpu_state state;
    const char *reason;           /* why it is not GPU_READY, or in `info` some GPU is missing:
                                     static text; NULL: it is, and none is */
    const struct gpu_unit *units; /* borrowed; NULL before they are known */
    size_t count;
    struct gpu_device_view *devices;        /* one of each; borrowed */
    struct gpu_totals totals;               /* levels are the largest since they were taken */
    struct gpu_levels now;                  /* the levels of the last look */
    const struct gpu_origin_names *sources; /* NULL as long as units are */
};

#endif
