/* SPDX-License-Identifier: Apache-2.0 */
/* fake_drm.h - graphics cards, and processes that hold them open, on a fake machine. */
#pragma once

#include "fake_root.h"
#include "source/gpu/gpu.h"

/* Adds a card: sys/class/drm/cardN, whose "device" links to a PCI device of this vendor. */
void fake_drm_card(struct fake_root *fake, unsigned card, const char *pci,
                   const char *vendor_id);

/* Adds a device node such as "renderD128" to sys/class/drm. */
void fake_drm_node(struct fake_root *fake, const char *node, const char *pci);

/* Writes a file of a card: fake_drm_file(&f, 0, "device/gpu_busy_percent", "50\n"). */
void fake_drm_file(struct fake_root *fake, unsigned card, const char *path, const char *text);

/* Opens descriptor `fd` in a process, or replaces it: creates a link to `target`, and an
 * fdinfo file with `text`. If `text` is NULL, writes no fdinfo. */
void fake_drm_fd(struct fake_root *fake, int pid, int fd, const char *target, const char *text);

/* Closes the descriptor: removes its link and its fdinfo. */
void fake_drm_close(struct fake_root *fake, int pid, int fd);

/* Removes a file or link. */
void fake_drm_remove(struct fake_root *fake, const char *path);

/* Returns the entry of this process on this device. Fails the test unless there is exactly
 * one. */
struct gpu_process fake_drm_process(const struct gpu_vendor *vendor, void *state,
                                    const struct gpu_pids *pids, int pid, unsigned device);
