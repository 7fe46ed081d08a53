/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_inventory.h - the GPUs of this machine, of all vendors in one list, and which of them
 * are the job's.
 */
#ifndef JOB_GPU_GPU_INVENTORY_H
#define JOB_GPU_GPU_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "job/gpu/gpu_choice.h"
#include "source/gpu/gpu.h"

enum { GPU_VENDORS_MAX = 8 };

/* What a GPU is called, by --gpus and in every output: 1, or 0:1 for a part. */
struct gpu_place {
    unsigned index; /* of the whole GPU: parts do not count */
    int part;       /* which of its parts; -1: it is the whole */
};

/* A GPU, or a part of one (MIG device), which follows it. */
struct gpu_unit {
    struct gpu_device device; /* texts are hostile */
    struct gpu_place place;
    const char *vendor;                /* "nvidia" */
    const struct gpu_sources *sources; /* static */
    size_t opened;                     /* which of the vendors that are open */
    size_t number;                     /* which of that vendor's devices */
    bool is_selected;                  /* it is one of the job's */
};

struct gpu_opened {
    const struct gpu_vendor *vendor;
    void *state;
};

/* A vendor that cannot be used though its GPUs may be there, or some GPUs of one. */
struct gpu_refusal {
    const char *vendor;
    struct spoor_error error;
    bool is_partial; /* others of this vendor serve */
};

struct gpu_inventory {
    struct gpu_opened opened[GPU_VENDORS_MAX];
    size_t opened_count;
    struct gpu_refusal refusals[GPU_VENDORS_MAX];
    size_t refusal_count;
    struct spoor_error
        absent;             /* why a vendor has no GPU here; ENXIO: its driver is not loaded */
    struct gpu_unit *units; /* whole ones in order of PCI addresses; ours */
    size_t count;
    struct spoor_error unmatched; /* of the option; code 0: all of it was found */
    char none_reason[192];        /* why no GPU is the job's; empty: some are */
};

/* Opens the vendors of the list and selects. -ENODEV: there is no GPU. On success the caller
 * closes it. `root` must stay open. May take long: drivers are asked. */
int gpu_inventory_open(struct gpu_inventory *inventory, const struct root *root,
                       const struct gpu_vendor *const *vendors, size_t vendor_count,
                       const struct gpu_choice *choice);
void gpu_inventory_close(struct gpu_inventory *inventory);

/* The vendors this build knows, less the rungs that are switched off. Returns how many. */
size_t gpu_vendors_enabled(unsigned disabled, const struct gpu_vendor *ret[GPU_VENDORS_MAX]);

/* May one of them have a GPU on this machine? Costs little: no driver is asked. */
bool gpu_vendors_may_be_here(const struct root *root, const struct gpu_vendor *const *vendors,
                             size_t count);

/* Whole GPUs: parts are not counted. */
size_t gpu_units_count_whole(const struct gpu_unit *units, size_t count);

/* What a GPU is called where it needs a name: its UUID, or PCI address. */
const char *gpu_unit_id(const struct gpu_unit *unit);

/* A place as text: "1", "0:1". `between` stands before the part's number. */
struct gpu_place_text {
    char text[24];
} gpu_place_text(struct gpu_place place, char between);

#endif
