/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intel.c - Intel GPUs, through the files of the i915 and xe drivers.
 *
 * - Device: neither driver has a file with the busy time of the device, so it is UNKNOWN. The busy
 *   time of processes is known.
 * - Process: fdinfo (drm_clients.h). i915 counts nanoseconds, xe cycles of the device's clock.
 * - Memory: a discrete GPU has its own memory (local0, vram0). An integrated GPU uses the
 *   machine's memory: processes use a part of that memory, and there is no total.
 */
#include <errno.h>
#include <stdio.h>

#include "base/amount.h"
#include "source/gpu/drm_clients.h"
#include "source/gpu/drm_device.h"

/* The sensors of the card; if they do not exist, the sensors of its package. */
static const char *const energy[] = { "energy1_input", "energy2_input", NULL };
static const char *const power[] = { "power1_input", "power2_input", NULL };
static const char *const temperature[] = { "temp1_input", "temp2_input", NULL };

/* The files of i915, and of xe, which has a file for each part of the GPU: the first part has
 * the compute engines. */
static const char *const clock_mhz[] = { "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz",
                                         "device/tile0/gt0/freq0/act_freq", NULL };

static uint64_t first_number(const struct drm_device *device, const char *const *paths)
{
    uint64_t value = UNKNOWN;

    for (; *paths && !is_known(value); paths++)
        value = drm_device_number(device, *paths);
    return value;
}

/* Returns the total memory. xe reports the memory of each tile, some versions of i915 the
 * memory of the card. */
static uint64_t memory_total(const struct drm_device *device)
{
    enum { TILE_MAX = 8 };
    uint64_t sum = drm_device_number(device, "lmem_total_bytes");

    for (int i = 0; i < TILE_MAX; i++) {
        char path[64];
        uint64_t bytes;

        (void)snprintf(path, sizeof(path), "device/tile%d/physical_vram_size_bytes",
                       i); /* fits */
        bytes = drm_device_number(device, path);
        if (!is_known(bytes))
            break;
        sum = is_known(sum) ? sum_u64(sum, bytes) : bytes;
    }
    return sum == 0 ? UNKNOWN : sum; /* 0: an integrated GPU without memory */
}

static void describe(struct drm_device *device)
{
    (void)snprintf(device->gpu.name, sizeof(device->gpu.name), "Intel GPU %s",
                   device->pci_id); /* fits */
    device->gpu.memory_total_bytes = memory_total(device);
    if (!drm_device_is_suspended(device))
        (void)drm_device_energy(device, energy); /* starts the counter */
}

static int intel_open(const struct root *root, void **ret, struct spoor_error *err)
{
    struct drm_vendor *drm;
    int r = drm_vendor_open(sizeof(*drm), root, "0x8086", "Intel", false, ret, err);

    if (r < 0)
        return r;
    drm = *ret;
    for (size_t i = 0; i < drm->devices.count; i++)
        describe(&drm->devices.list[i]);
    return 0;
}

static uint64_t memory_used(const struct drm_device *device)
{
    uint64_t total = drm_device_number(device, "lmem_total_bytes");
    uint64_t free_bytes = drm_device_number(device, "lmem_avail_bytes");

    if (!is_known(total) || total == 0 || !is_known(free_bytes) || free_bytes > total)
        return UNKNOWN; /* an integrated GPU, which uses the machine's memory */
    return total - free_bytes;
}

static int intel_read(void *vendor, size_t index, uint64_t now_ns, struct gpu_reading *ret)
{
    struct drm_vendor *drm = vendor;
    struct drm_device *device = &drm->devices.list[index];
    struct gpu_reading reading = drm_reading_unknown();

    (void)now_ns;
    reading.busy_reason =
        "the Intel drivers report the busy time of processes, not of the device";
    reading.processes_reason = drm_vendor_reason(drm);
    if (drm_device_is_lost(device))
        return -ENODEV;
    if (!drm_device_is_suspended(device)) {
        reading.memory_used_bytes = memory_used(device);
        reading.energy.microjoules = drm_device_energy(device, energy);
        reading.energy.milliwatts = drm_device_sensor(device, power, 1000);
        reading.temperature_celsius = drm_device_sensor(device, temperature, 1000);
        reading.clock_mhz = first_number(device, clock_mhz);
    }
    *ret = reading;
    return 0;
}

const struct gpu_vendor gpu_intel = {
    .name = "intel",
    .sources = { "drm.fdinfo", "drm.fdinfo", "drm.fdinfo", "intel.sysfs", false, NULL },
    .may_be_here = drm_may_be_here,
    .open = intel_open,
    .close = drm_vendor_close,
    .device_count = drm_device_count,
    .device = drm_device,
    .read = intel_read,
    .processes = drm_processes,
    .read_busy = drm_read_busy,
};
