/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible.h - selects GPUs by a list: the option --gpus, and the variables with which
 * schedulers and containers assign GPUs to a job. Pure.
 *
 * Items are separated by commas. An item is
 *
 *     3                   the fourth device in order of PCI addresses; parts do not count
 *     0-3                 four devices
 *     0:1                 part (MIG device) 1, by the driver's number, of the first device
 *     GPU-8932f937, MIG-… a UUID, or an unambiguous prefix of one
 *     0000:3b:00.0        a PCI address; without its domain: 0000
 *
 * Case does not matter. A device includes its parts. The option may also be all or none.
 * Anything else matches no device; in a variable, "all", "none", "void" and "-1" match no
 * device either.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "source/gpu/gpu.h"

/* The origin of the list. */
enum visible_source {
    VISIBLE_OPTION, /* --gpus */
    /* CUDA_VISIBLE_DEVICES, interpreted as CUDA does: only numbers and UUIDs, up to the first
     * item that is not a device. */
    VISIBLE_CUDA,
    VISIBLE_NVIDIA, /* NVIDIA_VISIBLE_DEVICES */
    VISIBLE_ROCR,   /* ROCR_VISIBLE_DEVICES: as CUDA_VISIBLE_DEVICES */
    VISIBLE_SLURM,  /* SLURM_JOB_GPUS */
};

/* Returns the name of the source, such as "CUDA_VISIBLE_DEVICES". */
const char *visible_name(enum visible_source source);

/* Whether --gpus excludes all GPUs. `text` may be NULL. */
bool visible_is_none(const char *text);

/* Sets selected[i] for each of `count` devices: the devices of the source's vendors in order of
 * PCI addresses, parts after their device. Returns the number of items that match no device, or
 * more than one; `note`, which may be NULL, receives a message about the first such item. */
size_t visible_select(enum visible_source source, const char *text,
                      const struct gpu_device *const *devices, size_t count, bool *selected,
                      struct spoor_error *note);

/* Writes a message that the list selected no device. */
void visible_explain_none(enum visible_source source, const char *text, char *buf, size_t size);

/* Converts a PCI address to a number with the same sort order. UINT64_MAX: invalid or empty. */
uint64_t visible_pci_key(const char *text);
