/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia.c - NVIDIA GPUs, through the management library that comes with the driver.
 *
 * No process is started and nothing is locked: a call that the driver blocks holds up the
 * thread that made it and no other. What the driver refuses costs a figure.
 */
#include "source/gpu/nvidia.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/unknown.h"

static void close_vendor(void *vendor)
{
    struct nvidia *nvidia = vendor;

    if (!nvidia)
        return;
    for (size_t i = 0; i < nvidia->count; i++)
        nvidia_device_done(&nvidia->devices[i], &nvidia->nvml);
    free(nvidia->devices);
    free(nvidia->scratch.bytes);
    nvidia_samples_done(&nvidia->samples);
    nvml_close(&nvidia->nvml);
    free(nvidia);
}

static void cleanup_vendor(struct nvidia **nvidia)
{
    close_vendor(*nvidia);
}

/* Inside containers: before 565.57 lists have the host's pids, or no memory. A driver without a version
 * passes as new. */
bool nvidia_driver_is_too_old(const char *version)
{
    uint64_t major, minor = 0;

    if (*version < '0' || *version > '9' || parse_u64(&version, &major) < 0)
        return false;
    if (*version++ == '.')
        (void)parse_u64(&version, &minor); /* else it stays 0 */
    return major < 565 || (major == 565 && minor < 57);
}

/* The library speaks of this machine, whatever folder stands for another one. */
static bool may_be_here(const struct root *root)
{
    return root->is_live && nvml_may_be_here(root);
}

static int open_vendor(const struct root *root, void **ret, struct spoor_error *err)
{
    CLEANUP(cleanup_vendor) struct nvidia *nvidia = NULL;
    struct nvidia_devices found;
    int r;

    if (!may_be_here(root))
        return error_set(err, ENODEV, "the NVIDIA driver is not installed");
    nvidia = calloc(1, sizeof(*nvidia));
    if (!nvidia)
        return error_set(err, ENOMEM, "out of memory");
    nvidia->root = root;
    r = nvml_open(&nvidia->nvml, err);
    if (r < 0)
        return r;
    r = nvidia_devices_find(&nvidia->nvml, &found, err);
    if (r < 0)
        return r;
    nvidia->devices = found.list;
    nvidia->count = found.count;
    nvidia->trouble = found.trouble;
    nvidia->is_nested = !gpu_sees_host_pids(root);
    nvidia->is_too_old =
        nvidia->is_nested && nvidia_driver_is_too_old(found.list[0].facts.driver_version);
    nvidia->opened_us = clock_now().realtime_ns / NS_PER_US;
    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];
        uint64_t used_bytes;

        (void)nvidia_device_read_memory(device->handle, &nvidia->nvml, root,
                                        &device->facts.memory_total_bytes,
                                        &used_bytes); /* stays UNKNOWN */
        device->facts.keeps_accounts = nvidia_has_accounts(nvidia, i);
    }
    *ret = take_ptr(nvidia);
    return 0;
}

static void begin(void *vendor)
{
    struct nvidia *nvidia = vendor;
    uint64_t now_ns = clock_now().monotonic_ns;

    for (size_t i = 0; i < nvidia->count; i++)
        nvidia_device_begin(&nvidia->devices[i], &nvidia->nvml, now_ns, &nvidia->samples);
}

static size_t device_count(const void *vendor)
{
    const struct nvidia *nvidia = vendor;

    return nvidia->count;
}

static const struct gpu_device *device_facts(const void *vendor, size_t index)
{
    const struct nvidia *nvidia = vendor;

    return &nvidia->devices[index].facts;
}

static const struct spoor_error *trouble(const void *vendor)
{
    const struct nvidia *nvidia = vendor;

    return &nvidia->trouble;
}

static int read_device(void *vendor, size_t device, uint64_t now_ns, struct gpu_reading *ret)
{
    struct nvidia *nvidia = vendor;

    int r = nvidia_device_read(&nvidia->devices[device], &nvidia->nvml, nvidia->root, now_ns,
                               &nvidia->samples, ret);

    if (r == 0)
        nvidia_processes_explain(nvidia, device, ret);
    return r;
}

static ssize_t processes(void *vendor, const struct gpu_pids *pids, struct gpu_process *list,
                         size_t capacity)
{
    return nvidia_processes(vendor, pids, list, capacity, clock_now().monotonic_ns);
}

static uint64_t memory_used(const void *vendor, size_t device)
{
    const struct nvidia *nvidia = vendor;

    return nvidia->devices[device].has_parts ? UNKNOWN : nvidia->devices[device].listed_bytes;
}

static int read_busy(void *vendor, const struct gpu_pids *pids, uint64_t now_ns)
{
    return nvidia_processes_read_busy(vendor, pids, now_ns);
}

static void refresh(void *vendor)
{
    struct nvidia *nvidia = vendor;

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];

        nvidia_meters_refresh(&device->meters);
        nvidia_lists_refresh(&device->lists);
        device->listed_ns = 0;
        nvidia_energy_refresh(&device->energy);
        device->clients_pace.due_ns = 0;
    }
}

static ssize_t accounts(void *vendor, const struct gpu_pids *pids, struct gpu_record *list,
                        size_t capacity)
{
    return nvidia_accounts(vendor, pids, list, capacity);
}

const struct gpu_vendor gpu_nvidia = {
    .name = "nvidia",
    .sources = { "nvml.processes", "nvml.process_samples", "nvml.samples", "nvml.device",
                 true },
    .may_be_here = may_be_here,
    .open = open_vendor,
    .close = close_vendor,
    .device_count = device_count,
    .device = device_facts,
    .trouble = trouble,
    .read = read_device,
    .processes = processes,
    .begin = begin,
    .memory_used = memory_used,
    .read_busy = read_busy,
    .refresh = refresh,
    .accounts = accounts,
};
