/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amd.c - AMD GPUs, through the files of the amdgpu driver.
 *
 * - Device: gpu_busy_percent is how busy the GPU was in the last moment (the firmware's mean of
 *   some milliseconds). It is taken to hold since the reading before, so that the busy time of a
 *   device is sampled, not counted.
 * - Process: fdinfo (drm_sweep.h), exact; memory is what is resident in VRAM.
 * - ROCm and HIP compute past the driver's scheduler, so that no counter shows it: the busy time
 *   of a process that holds /dev/kfd is UNKNOWN. Its memory comes from KFD (kfd.h) too.
 */
#include "source/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/gpu/drm_device.h"
#include "source/gpu/drm_sweep.h"
#include "source/gpu/kfd.h"

/* As in struct gpu_reading. */
struct amd_busy {
    uint64_t read_at_ns; /* UNKNOWN: not read yet */
    uint64_t busy_ns, covered_ns;
};

struct amd {
    const struct root *root;
    struct drm_devices devices;
    struct drm_sweep sweep;
    struct kfd kfd;
    struct amd_busy busy[DRM_DEVICE_MAX];
};

static const char *const energy[] = { "energy1_input", NULL };
static const char *const power[] = { "power1_average", "power1_input", NULL };
static const char *const temperature[] = { "temp1_input", NULL };
static const char *const frequency[] = { "freq1_input", NULL };

/* ROCm names a device "GPU-" and its unique id, as in ROCR_VISIBLE_DEVICES. */
static void read_uuid(const struct root *root, struct drm_device *device)
{
    char id[32];
    ssize_t n = drm_device_text(root, device, "device/unique_id", id, sizeof(id));

    if (n > 0 && strspn(id, "0123456789abcdefABCDEF") == (size_t)n &&
        strspn(id, "0") != (size_t)n)
        (void)snprintf(device->gpu.uuid, sizeof(device->gpu.uuid), "GPU-%s", id); /* fits */
}

static uint64_t memory_total(const struct root *root, const struct drm_device *device)
{
    uint64_t total = drm_device_number(root, device, "device/mem_info_vram_total");

    return total == 0 ? UNKNOWN : total; /* 0: it has none of its own, and uses the machine's */
}

static void describe(const struct root *root, struct drm_device *device)
{
    read_uuid(root, device);
    if (drm_device_text(root, device, "device/product_name", device->gpu.name,
                        sizeof(device->gpu.name)) <= 0)
        (void)snprintf(device->gpu.name, sizeof(device->gpu.name), "AMD GPU %s",
                       device->pci_id); /* fits */
    device->gpu.memory_total_bytes = memory_total(root, device);
    if (!drm_device_is_suspended(root, device))
        (void)drm_device_energy(root, device, energy); /* starts it */
}

static void amd_close(void *vendor)
{
    struct amd *amd = vendor;

    if (!amd)
        return;
    drm_sweep_done(&amd->sweep);
    free(amd);
}

static int amd_open(const struct root *root, void **ret, struct spoor_error *err)
{
    struct drm_devices devices;
    struct amd *amd;
    int r = drm_devices_find(root, "0x1002", &devices);

    if (r < 0)
        return r == -ENODEV ? r : error_sys(err, r, "look for AMD GPUs");
    amd = calloc(1, sizeof(*amd));
    if (!amd)
        return error_set(err, ENOMEM, "out of memory");
    amd->root = root;
    amd->devices = devices;
    for (size_t i = 0; i < devices.count; i++) {
        describe(root, &amd->devices.list[i]);
        amd->busy[i].read_at_ns = UNKNOWN;
    }
    kfd_find(root, &amd->devices, &amd->kfd);
    r = drm_sweep_init(&amd->sweep, root, &amd->devices, true);
    if (r < 0) {
        amd_close(amd);
        return error_set(err, ENOMEM, "out of memory");
    }
    *ret = amd;
    return 0;
}

static size_t amd_device_count(const void *vendor)
{
    return ((const struct amd *)vendor)->devices.count;
}

static const struct gpu_device *amd_device(const void *vendor, size_t index)
{
    return &((const struct amd *)vendor)->devices.list[index].gpu;
}

/* The first reading speaks for no time. Where one fails, the next speaks for that of both. */
static void advance_busy(struct amd *amd, size_t device, uint64_t percent, uint64_t now_ns,
                         struct gpu_reading *reading)
{
    struct amd_busy *busy = &amd->busy[device];

    if (percent > 100) /* also UNKNOWN; some firmware answers 65535 */
        return;
    if (is_known(busy->read_at_ns) && now_ns > busy->read_at_ns) {
        busy->busy_ns += (now_ns - busy->read_at_ns) / 100 * percent;
        busy->covered_ns += now_ns - busy->read_at_ns;
    }
    busy->read_at_ns = now_ns;
    reading->busy_ns = busy->busy_ns;
    reading->busy_covered_ns = busy->covered_ns;
}

static int amd_read(void *vendor, size_t index, uint64_t now_ns, struct gpu_reading *ret)
{
    struct amd *amd = vendor;
    struct drm_device *device = &amd->devices.list[index];
    const struct root *root = amd->root;
    struct gpu_reading reading = drm_reading_unknown();

    if (drm_device_is_lost(root, device))
        return -ENODEV;
    reading.processes_reason = drm_sweep_reason(&amd->sweep);
    if (is_known(device->gpu.memory_total_bytes)) /* the kernel keeps count: wakes nothing */
        reading.memory_used_bytes =
            drm_device_number(root, device, "device/mem_info_vram_used");
    if (drm_device_is_suspended(root, device)) {
        advance_busy(amd, index, 0, now_ns, &reading); /* it does nothing, surely */
        *ret = reading;
        return 0;
    }
    advance_busy(amd, index, drm_device_number(root, device, "device/gpu_busy_percent"), now_ns,
                 &reading);
    reading.energy_microjoules = drm_device_energy(root, device, energy);
    reading.power_milliwatts = drm_device_sensor(root, device, power, 1000);
    reading.temperature_celsius = drm_device_sensor(root, device, temperature, 1000);
    reading.clock_mhz = drm_device_sensor(root, device, frequency, 1000000);
    if (!is_known(reading.busy_ns))
        reading.busy_reason = "the driver reports no gpu_busy_percent for this device";
    *ret = reading;
    return 0;
}

/* What KFD knows of the processes that use it, or that we may not look into. */
static int look_at_kfd(struct amd *amd)
{
    for (size_t i = 0; i < amd->sweep.pid_count; i++) {
        const struct drm_sweep_pid *entry = &amd->sweep.pid[i];
        bool uses_kfd = entry->holds_kfd;

        if (!entry->holds_kfd && !entry->refused)
            continue;
        for (unsigned device = 0; amd->kfd.count > 0 && device < amd->devices.count; device++) {
            uint64_t bytes = kfd_memory_bytes(&amd->kfd, amd->root, entry->pid, device);

            if (!is_known(bytes))
                continue;
            uses_kfd = true;
            if (drm_clients_see_memory(&amd->sweep.clients, device, entry->pid, bytes) ==
                -ENOMEM)
                return -ENOMEM;
        }
        if (uses_kfd)
            drm_clients_hide_busy(&amd->sweep.clients, entry->pid);
    }
    return 0;
}

static int look(struct amd *amd, const struct gpu_pids *pids, bool is_full)
{
    int r = drm_sweep_look(&amd->sweep, pids, is_full);

    if (r == 0)
        r = look_at_kfd(amd);
    if (r == 0)
        drm_clients_end(&amd->sweep.clients, pids->count > 0);
    return r;
}

static ssize_t amd_processes(void *vendor, const struct gpu_pids *pids,
                             struct gpu_process *list, size_t capacity)
{
    struct amd *amd = vendor;
    int r = look(amd, pids, false);

    return r < 0 ? r : (ssize_t)drm_clients_list(&amd->sweep.clients, list, capacity);
}

static int amd_read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns)
{
    struct amd *amd = vendor;
    int r = look(amd, pids, true);

    if (r == 0)
        drm_clients_count(&amd->sweep.clients, now_ns);
    return r;
}

const struct gpu_vendor gpu_amd = {
    .name = "amd",
    .sources = { "drm.fdinfo", "drm.fdinfo", "amdgpu.gpu_busy_percent", "amdgpu.sysfs", false },
    .may_be_here = drm_may_be_here,
    .open = amd_open,
    .close = amd_close,
    .device_count = amd_device_count,
    .device = amd_device,
    .read = amd_read,
    .processes = amd_processes,
    .read_busy = amd_read_busy,
};
