/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_device.h - the graphics cards of one PCI vendor, as /sys/class/drm shows them.
 *
 * A card is /sys/class/drm/cardN; its "device" is the PCI device, which has the figures of the
 * driver and a folder hwmon/hwmonM with the sensors. In a container all cards of the host show
 * here, also those that were not given to it.
 */
#ifndef SOURCE_GPU_DRM_DEVICE_H
#define SOURCE_GPU_DRM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/gpu/gpu.h"

enum { DRM_DEVICE_MAX = 64 };

/* A counter of the hardware, counted from the first value it had. It stays with the sensor that
 * gave that one, as others count from elsewhere. */
struct drm_counter {
    const char *sensor; /* borrowed; NULL: no value yet */
    uint64_t last, sum;
};

struct drm_device {
    struct gpu_device gpu;
    uint64_t pci;              /* as gpu_pci_parse(); UNKNOWN: it has no PCI address */
    unsigned card;             /* N of cardN */
    char hwmon[24];            /* "hwmonM"; empty: no sensors */
    char pci_id[16];           /* "0x744c", the model; empty: not reported */
    struct drm_counter energy; /* microjoules */
};

struct drm_devices {
    size_t count;
    struct drm_device list[DRM_DEVICE_MAX]; /* sorted by PCI address */
};

/* Does this machine have any card at all? */
bool drm_may_be_here(const struct root *root);

/* Finds the cards of a vendor ("0x1002"). Their names, UUIDs and memory are left empty and
 * UNKNOWN. -ENODEV: there are none. */
int drm_devices_find(const struct root *root, const char *vendor_id, struct drm_devices *ret);

/* The index of the device with this PCI address, or -ENODEV. */
int drm_devices_at(const struct drm_devices *devices, uint64_t pci);

/* The index of the device that a node of /dev/dri belongs to ("card0", "renderD128"), or
 * -ENODEV: it is not one of these, or no node. */
int drm_devices_of_node(const struct root *root, const struct drm_devices *devices,
                        const char *node);

/* A file below cardN that is one number: "device/mem_info_vram_used". UNKNOWN: it cannot be
 * read, or is none (negative, say). */
uint64_t drm_device_number(const struct root *root, const struct drm_device *device,
                           const char *path);

/* A file below cardN that is one line of text, without bytes that could steer a terminal. It
 * is cut where it does not fit. Returns its length, or -errno. */
ssize_t drm_device_text(const struct root *root, const struct drm_device *device,
                        const char *path, char *buf, size_t size);

/* The first of these sensors (a list that NULL ends) that can be read, divided, or UNKNOWN. */
uint64_t drm_device_sensor(const struct root *root, const struct drm_device *device,
                           const char *const *names, uint64_t divisor);

/* A reading of which nothing is known yet. */
struct gpu_reading drm_reading_unknown(void);

/* Has the driver switched the device off, or is about to? Reading its sensors would wake it. */
bool drm_device_is_suspended(const struct root *root, const struct drm_device *device);

/* Is the device itself gone (unplugged, driver unbound)? Another one may have its number by now. */
bool drm_device_is_lost(const struct root *root, const struct drm_device *device);

/* Energy in microjoules since the first call that could read it, from the first of these sensors
 * that could be read then. UNKNOWN: it cannot be read now, or is read for the first time, which
 * is the beginning. A value below the last one is a counter that began anew. */
uint64_t drm_device_energy(const struct root *root, struct drm_device *device,
                           const char *const *names);

#endif
