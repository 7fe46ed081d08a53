/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_fdinfo.h - parses /proc/PID/fdinfo/N of an open DRM device (card0, renderD128).
 *
 * Every driver writes the keys of the kernel's drm-usage-stats: the client, how long each class
 * of engine worked for it, and its memory in each region. amdgpu before Linux 5.19 had other
 * keys ("pdev", "vram mem", "gfx0: 12.5%"), which are read into the same fields.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Engines and regions beyond these limits are left out; drivers have at most half as many. */
enum { DRM_NAME_SIZE = 24, DRM_ENGINE_MAX = 16, DRM_REGION_MAX = 12 };

/* A class of engines ("gfx", "render", "rcs"). Every figure may be UNKNOWN. */
struct drm_fdinfo_engine {
    char name[DRM_NAME_SIZE];
    uint64_t busy_ns;      /* counter: work of this client, summed over the class's engines */
    uint64_t cycles;       /* counter: the same work in cycles of a clock */
    uint64_t total_cycles; /* counter: all cycles of that clock, which always runs */
    uint64_t max_hz;       /* maximum frequency of that clock */
    uint64_t capacity;     /* engines in the class; UNKNOWN means one */
    uint64_t busy_percent_x100; /* old amdgpu: share of recent time, in 1/100 percent */
};

enum drm_memory {
    DRM_MEMORY_TOTAL,
    DRM_MEMORY_SHARED,
    DRM_MEMORY_RESIDENT,
    DRM_MEMORY_RESIDENT_OLD, /* the same under the older key drm-memory-REGION */
    DRM_MEMORY_PURGEABLE,
    DRM_MEMORY_ACTIVE,
    DRM_MEMORY_COUNT,
};

/* A region of memory ("vram", "gtt", "system0", "local0"). */
struct drm_fdinfo_region {
    char name[DRM_NAME_SIZE];
    uint64_t bytes[DRM_MEMORY_COUNT]; /* UNKNOWN: not reported */
};

struct drm_fdinfo {
    char driver[DRM_NAME_SIZE]; /* empty: amdgpu before 5.19 */
    uint64_t pci;               /* as gpu_pci_parse(); UNKNOWN: not a PCI device */
    uint64_t client_id;         /* ID of this client on this device */
    size_t engine_count, region_count;
    struct drm_fdinfo_engine engine[DRM_ENGINE_MAX];
    struct drm_fdinfo_region region[DRM_REGION_MAX];
};

/* Parses a file. -ENOENT: not a DRM file. -EBADMSG: a DRM file without a client id, so copies
 * of a descriptor could not be recognized. Damaged or unknown lines are skipped. */
int drm_fdinfo_parse(const char *text, struct drm_fdinfo *ret);

/* Returns the memory of the client on the device: the part resident in the device's own memory
 * (vram*, local*). An integrated GPU has no memory of its own: for it, the resident memory in
 * the regions system* and gtt counts. Memory that clients share counts for each of them.
 * UNKNOWN: none is reported. */
uint64_t drm_fdinfo_memory(const struct drm_fdinfo *info);
