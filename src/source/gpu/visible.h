/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible.h - which GPUs a list of them means: the option --gpus, and the variables by which
 * schedulers and containers give a job its GPUs. Pure.
 *
 * Items stand between commas. An item is
 *
 *     3                   the fourth device in order of PCI addresses; parts do not count
 *     0-3                 four devices
 *     0:1                 of the first device the part (MIG device) that the driver calls 1
 *     GPU-8932f937, MIG-… a UUID, or the start of one where no other device's starts so
 *     0000:3b:00.0        a PCI address; without its domain: 0000
 *
 * with letters in any case. A device comes with its parts. The option may be all, or none,
 * instead. Anything else names no device, in a variable also all, none, void and -1.
 */
#ifndef SOURCE_GPU_VISIBLE_H
#define SOURCE_GPU_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "source/gpu/gpu.h"

/* Who wrote the list. */
enum visible_source {
    VISIBLE_OPTION, /* --gpus */
    VISIBLE_CUDA, /* CUDA_VISIBLE_DEVICES: as CUDA takes it: numbers and UUIDs alone, up to the
                       first that is no device */
    VISIBLE_NVIDIA, /* NVIDIA_VISIBLE_DEVICES */
    VISIBLE_ROCR,   /* ROCR_VISIBLE_DEVICES: as CUDA's */
    VISIBLE_SLURM,  /* SLURM_JOB_GPUS */
};

/* How the source is called, as "CUDA_VISIBLE_DEVICES". */
const char *visible_name(enum visible_source source);

/* Whether --gpus excludes all GPUs. `text` may be NULL. */
bool visible_is_none(const char *text);

/* Sets selected[i] for each of `count` devices. Devices are those
 * of the vendors that the source speaks of, parts behind the device they belong to. Returns
 * how many items match no device (or several), 0 where all is well; of the first of them
 * `note`, which may be NULL, has a sentence. */
size_t visible_select(enum visible_source source, const char *text,
                      const struct gpu_device *const *devices, size_t count, bool *selected,
                      struct spoor_error *note);

/* Says of a list that selected no device which one it was. */
void visible_explain_none(enum visible_source source, const char *text, char *buf, size_t size);

/* Compares two devices by PCI address, as for qsort(); those without come last. */
int visible_compare_pci(const struct gpu_device *a, const struct gpu_device *b);

#endif
