/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_inquiry.h - the list of GPUs, for who asks once and cannot wait for a driver that does not
 * answer.
 */
#ifndef JOB_GPU_GPU_INQUIRY_H
#define JOB_GPU_GPU_INQUIRY_H

#include "job/gpu/gpu_inventory.h"

/* What to say of a driver that does not answer. */
extern const char gpu_inquiry_silence[];

/* As gpu_inventory_open(), with `gpus` as the option (or NULL) and our own environment. The
 * drivers are closed again, so that *ret is the list alone, which gpu_inventory_close() frees.
 * -ETIMEDOUT: no answer within 2 s; the thread that waits for it is left behind. Whatever comes
 * back, *ret is set: the refusals of vendors are told even where there is no GPU. */
int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret);

#endif
