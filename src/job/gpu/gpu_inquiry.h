/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_inquiry.h - the list of GPUs for one-shot callers, which must not wait for a driver that
 * does not respond.
 */
#ifndef JOB_GPU_GPU_INQUIRY_H
#define JOB_GPU_GPU_INQUIRY_H

#include "job/gpu/gpu_inventory.h"

/* The message for a driver that does not respond. */
extern const char gpu_inquiry_silence[];

/* As gpu_inventory_open(), with `gpus` as the option (or NULL) and our own environment. The
 * drivers are closed again: *ret holds only the list, which gpu_inventory_close() frees.
 * -ETIMEDOUT: no response within 2 s; the thread that waits for it is abandoned. *ret is always
 * set, also on failure: it has the errors of vendors even if there is no GPU. */
int gpu_inquire(const struct root *root, const struct gpu_vendor *const *vendors,
                size_t vendor_count, const char *gpus, struct gpu_inventory *ret);

#endif
