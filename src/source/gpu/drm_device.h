/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drm_device.h - the graphics cards of one PCI vendor, from /sys/class/drm.
 *
 * A card is /sys/class/drm/cardN; its "device" is the PCI device, which has the driver's files
 * and a folder hwmon/hwmonM with the sensors. In a container all cards of the host are visible
 * in /sys, even cards that are not assigned to the container.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/root.h"
#include "source/gpu/gpu.h"

enum { DRM_DEVICE_MAX = 64 };

/* A hardware counter relative to its first value. Only the sensor that provided the first value
 * is used: other sensors start at other values. */
struct drm_counter {
    const char *sensor; /* borrowed; NULL: no value yet */
    uint64_t last, sum;
};

struct drm_device {
    const struct root *root; /* borrowed */
    struct gpu_device gpu;
    uint64_t pci;              /* as gpu_pci_parse(); UNKNOWN: it has no PCI address */
    unsigned card;             /* the N of cardN */
    char hwmon[24];            /* "hwmonM"; empty: no sensors */
    char pci_id[16];           /* "0x744c", the model; empty: not reported */
    struct drm_counter energy; /* microjoules */
};

struct drm_devices {
    size_t count;
    struct drm_device list[DRM_DEVICE_MAX]; /* sorted by PCI address */
};

bool drm_may_be_here(const struct root *root);

/* Finds the cards of a vendor ("0x1002"). Their names, UUIDs and memory stay empty and
 * UNKNOWN. -ENODEV: there are none. */
int drm_devices_find(const struct root *root, const char *vendor_id, struct drm_devices *ret);

/* Returns the index of the device at this PCI address, or -ENODEV. */
int drm_devices_at(const struct drm_devices *devices, uint64_t pci);

/* Returns the index of the device of a node of /dev/dri ("card0", "renderD128"); -ENODEV: the
 * device is not in the list, or `node` is not a node. */
int drm_devices_of_node(const struct root *root, const struct drm_devices *devices,
                        const char *node);

/* Reads a file below cardN that contains one number, such as "device/mem_info_vram_used".
 * UNKNOWN: the file cannot be read, or contains something else. */
uint64_t drm_device_number(const struct drm_device *device, const char *path);

/* Reads a file below cardN that contains one line of text, without terminal control
 * characters. Truncated to fit. Returns its length, or -errno. */
ssize_t drm_device_text(const struct drm_device *device, const char *path, char *buf,
                        size_t size);

/* Returns the value of the first readable sensor in `names` (NULL-terminated), divided by
 * `divisor`; UNKNOWN: none is readable. */
uint64_t drm_device_sensor(const struct drm_device *device, const char *const *names,
                           uint64_t divisor);

/* Returns a reading with only unknown values. */
struct gpu_reading drm_reading_unknown(void);

/* Whether the device is off, or about to be. Reading its sensors would wake it. */
bool drm_device_is_suspended(const struct drm_device *device);

/* Whether the device was removed. Another device may have its number by now. */
bool drm_device_is_lost(const struct drm_device *device);

/* Advances a counter. Returns its increase since the first value; UNKNOWN: this value is the
 * first, is UNKNOWN, or is from another sensor. A value below the last one means that the
 * counter was reset. */
uint64_t drm_counter_advance(struct drm_counter *counter, const char *sensor, uint64_t value);

/* Returns the energy in microjoules since the first successful call, from the sensor that was
 * readable then. UNKNOWN: the sensor cannot be read now, or this is its first reading. */
uint64_t drm_device_energy(struct drm_device *device, const char *const *names);
