/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_sweep.h - look through the descriptors of processes for those of DRM devices.
 *
 * /proc/PID/fd/N links to "/dev/dri/renderD128" where N is such a device: readlink tells it
 * without touching the file, while stat could hang on a dead network file system.
 * /proc/PID/fdinfo/N then tells what its client uses. Both need the rights to trace the process
 * (the same user will do); others are passed over.
 *
 * A full sweep lists all descriptors of all processes. A quick one reads the known clients anew
 * and lists the descriptors of those processes alone that are new or whose number of open files
 * changed (which the kernel tells since 6.2; before, every 16th quick sweep lists them all).
 */
#ifndef SOURCE_GPU_DRM_SWEEP_H
#define SOURCE_GPU_DRM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/gpu/drm_clients.h"
#include "source/gpu/drm_device.h"
#include "source/gpu/gpu.h"

/* Processes and descriptors of a process beyond these are not looked at. */
enum { DRM_SWEEP_PID_MAX = 1 << 16, DRM_SWEEP_FD_MAX = 1 << 16 };

struct drm_sweep_pid {
    pid_t pid;
    uint64_t open_files; /* when its descriptors were listed; UNKNOWN: not listed or not told */
    uint64_t sweep;      /* in which they were listed last; 0: never */
    bool holds_kfd;      /* it has /dev/kfd open: it computes past the DRM driver */
    bool holds_unreported; /* it has a device open whose driver tells nothing of it */
    bool must_list;        /* one of its known clients was not found any more */
    const char *refused;   /* why its open files do not show: static text; NULL: they do */
};

struct drm_sweep {
    const struct root *root;           /* borrowed */
    const struct drm_devices *devices; /* borrowed */
    struct drm_clients clients;
    struct drm_sweep_pid *pid, *spare; /* those of the last sweep, sorted */
    size_t pid_count, pid_capacity;
    unsigned quick_count;
    char text[16 << 10]; /* of one fdinfo file */
};

int drm_sweep_init(struct drm_sweep *sweep, const struct root *root,
                   const struct drm_devices *devices, bool hides_idle);
void drm_sweep_done(struct drm_sweep *sweep);

/* Why some of the job's processes are passed over: static text; NULL: none is. */
const char *drm_sweep_reason(const struct drm_sweep *sweep);

/* Begins a sweep of sweep->clients and looks at all processes. Other sources may add what they
 * know before drm_clients_end(). */
int drm_sweep_look(struct drm_sweep *sweep, const struct gpu_pids *pids, bool is_full);

#endif
