/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amd.c - AMD GPUs, through the files of the amdgpu driver.
 *
 * - Device: gpu_busy_percent is the firmware's mean utilization over some milliseconds. It is
 *   assumed to hold since the previous reading, so that the busy time of a device is sampled,
 *   not counted.
 * - Work and energy: gpu_metrics (amd_metrics.h), if the table contains them.
 * - Process: fdinfo (drm_clients.h), exact; memory is the part resident in VRAM.
 * - ROCm and HIP bypass the driver's scheduler, so that no counter includes their work: the
 *   busy time of a process that holds /dev/kfd is UNKNOWN. Its memory also comes from KFD:
 *   /sys/class/kfd/kfd/proc/PID/vram_GPU, readable by all users; KFD does not report time. KFD
 *   uses the host's PIDs: in a container they would be the PIDs of foreign processes, so only
 *   fdinfo is read there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "source/gpu/amd_metrics.h"
#include "source/gpu/drm_clients.h"
#include "source/gpu/drm_device.h"
#include "source/proc/pid_files.h"

enum { KFD_NODE_MAX = 128 };

/* A GPU in the list of KFD. The partitions of one device are several GPUs. */
struct kfd_node {
    uint64_t gpu_id;
    unsigned device; /* index in the list of devices */
};

struct kfd {
    size_t count; /* 0: there is no KFD, or its processes cannot be identified */
    struct kfd_node node[KFD_NODE_MAX];
};

/* Counters as in struct gpu_reading. */
struct amd_busy {
    uint64_t read_at_ns; /* UNKNOWN: not read yet */
    uint64_t busy_ns, covered_ns;
};

struct amd_work {
    int error; /* why gpu_metrics cannot be used; 0: it can */
    struct gpu_work counted;
    struct amd_metrics last;
    uint64_t read_at_ns; /* UNKNOWN: not counting */
};

struct amd {
    struct drm_vendor drm; /* must be first */
    struct kfd kfd;
    struct amd_busy busy[DRM_DEVICE_MAX];
    struct amd_work work[DRM_DEVICE_MAX];
};

static const char *const energy[] = { "energy1_input", NULL };
static const char *const power[] = { "power1_average", "power1_input", NULL };
static const char *const temperature[] = { "temp1_input", NULL };
static const char *const frequency[] = { "freq1_input", NULL };

/* ROCm's UUID of a device is "GPU-" and its unique id, as in ROCR_VISIBLE_DEVICES. */
static void read_uuid(struct drm_device *device)
{
    char id[32];
    ssize_t n = drm_device_text(device, "device/unique_id", id, sizeof(id));

    if (n > 0 && strspn(id, "0123456789abcdefABCDEF") == (size_t)n &&
        strspn(id, "0") != (size_t)n)
        (void)snprintf(device->gpu.uuid, sizeof(device->gpu.uuid), "GPU-%s", id); /* fits */
}

static uint64_t memory_total(const struct drm_device *device)
{
    uint64_t total = drm_device_number(device, "device/mem_info_vram_total");

    return total == 0 ? UNKNOWN : total; /* 0: the GPU uses the machine's memory */
}

static void describe(struct drm_device *device)
{
    read_uuid(device);
    if (drm_device_text(device, "device/product_name", device->gpu.name,
                        sizeof(device->gpu.name)) <= 0)
        (void)snprintf(device->gpu.name, sizeof(device->gpu.name), "AMD GPU %s",
                       device->pci_id); /* fits */
    device->gpu.memory_total_bytes = memory_total(device);
}

/* ---- KFD ------------------------------------------------------------------ */

static void add_node(const struct root *root, const struct drm_devices *devices,
                     const char *number, struct kfd *kfd)
{
    uint64_t gpu_id =
        root_read_number(root, "sys/class/kfd/kfd/topology/nodes/%s/gpu_id", number);
    uint64_t location, domain = 0;
    char text[4096];
    int device;

    if (kfd->count == KFD_NODE_MAX || !is_known(gpu_id) || gpu_id == 0) /* 0 is a CPU */
        return;
    if (root_read(root, text, sizeof(text), "sys/class/kfd/kfd/topology/nodes/%s/properties",
                  number) < 0 ||
        parse_key_u64(text, "location_id", &location) < 0 || location > UINT16_MAX)
        return;
    (void)parse_key_u64(text, "domain", &domain); /* missing in older kernels: stays 0 */
    if (domain > UINT32_MAX)
        return;
    device = drm_devices_at(devices, domain << 16 | location);
    if (device < 0)
        /* KFD numbers the partitions of a GPU in the bits of the PCI function. */
        device = drm_devices_at(devices, domain << 16 | (location & ~7ull));
    if (device >= 0)
        kfd->node[kfd->count++] = (struct kfd_node){ gpu_id, (unsigned)device };
}

/* Maps GPUs of KFD to devices. GPUs that we may not use, as in a container, are left out. */
static void kfd_find(const struct root *root, const struct drm_devices *devices,
                     struct kfd *ret)
{
    AUTO_CLOSEDIR DIR *folder = NULL;
    const struct dirent *entry;

    ret->count = 0;
    if (pid_namespace_is_first(root))
        folder = root_open_folder(root, "sys/class/kfd/kfd/topology/nodes");
    while (folder && (entry = readdir(folder))) {
        if (is_digit(entry->d_name[0]))
            add_node(root, devices, entry->d_name, ret);
    }
}

/* Returns the memory of a process on a device; UNKNOWN: the process does not use KFD there. */
static uint64_t kfd_memory_bytes(const struct kfd *kfd, const struct root *root, pid_t pid,
                                 unsigned device)
{
    uint64_t sum = UNKNOWN;

    for (size_t i = 0; i < kfd->count; i++) {
        uint64_t bytes;

        if (kfd->node[i].device != device)
            continue;
        bytes = root_read_number(root, "sys/class/kfd/kfd/proc/%d/vram_%" PRIu64, (int)pid,
                                 kfd->node[i].gpu_id);
        if (is_known(bytes))
            sum = sum_u64(first_known(sum, 0), bytes);
    }
    return sum;
}

/* Adds the memory of processes that use KFD, or whose open files cannot be read. */
static int look_at_kfd(void *vendor)
{
    struct amd *amd = vendor;
    struct drm_clients *clients = &amd->drm.clients;

    for (size_t i = 0; i < clients->pid_count; i++) {
        const struct drm_sweep_pid *entry = &clients->pid[i];
        bool uses_kfd = entry->holds_kfd;

        if (!entry->holds_kfd && !entry->refused)
            continue;
        for (unsigned device = 0; amd->kfd.count > 0 && device < clients->device_count;
             device++) {
            uint64_t bytes = kfd_memory_bytes(&amd->kfd, amd->drm.root, entry->pid, device);

            if (!is_known(bytes))
                continue;
            uses_kfd = true;
            if (drm_clients_see_memory(clients, device, entry->pid, bytes) == -ENOMEM)
                return -ENOMEM;
        }
        if (uses_kfd)
            drm_clients_hide_busy(clients, entry->pid);
    }
    return 0;
}

/* ---- gpu_metrics --------------------------------------------------------------- */

/* Reads the metrics of a GPU. After a failure the file is not read again. */
static int read_metrics(struct amd *amd, size_t index, struct amd_metrics *ret)
{
    struct amd_work *work = &amd->work[index];
    char table[AMD_METRICS_SIZE + 1];
    ssize_t n;

    if (work->error < 0)
        return work->error;
    n = root_read(amd->drm.root, table, sizeof(table),
                  "sys/class/drm/card%u/device/gpu_metrics", amd->drm.devices.list[index].card);
    work->error = n < 0 ? (int)n : amd_metrics_parse(table, (size_t)n, ret);
    return work->error;
}

static uint64_t read_energy(struct amd *amd, size_t index)
{
    static const char table[] = "gpu_metrics";
    struct drm_device *device = &amd->drm.devices.list[index];
    uint64_t energy_uj = drm_device_energy(device, energy);
    struct amd_metrics metrics;

    if ((!device->energy.sensor || device->energy.sensor == table) &&
        read_metrics(amd, index, &metrics) == 0)
        energy_uj = drm_counter_advance(&device->energy, table, metrics.energy_uj);
    return energy_uj;
}

static void forget_work(struct amd_work *work, const char *reason)
{
    work->read_at_ns = UNKNOWN;
    work->counted.reason = reason;
    for (int i = 0; i < GPU_WORK_KINDS; i++)
        work->counted.counts[i] = UNKNOWN;
}

/* Counts the work of a device. The share of the memory's bandwidth is assumed to hold since the
 * previous reading. */
static void count_work(struct amd_work *work, const struct amd_metrics *now, uint64_t now_ns)
{
    uint64_t span_ns = sub_floor0(now_ns, first_known(work->read_at_ns, now_ns));
    const struct amd_metrics *last = span_ns > 0 ? &work->last : now;
    uint64_t *counts = work->counted.counts;
    uint64_t *dram = &counts[GPU_WORK_DRAM], *sent = &counts[GPU_WORK_NVLINK_SENT],
             *received = &counts[GPU_WORK_NVLINK_RECEIVED];

    if (work->counted.covered_ns == 0)
        *dram = *sent = *received = 0;
    *dram = sum_u64(*dram, product_u64(now->dram_percent, span_ns / 100));
    *sent = sum_u64(*sent, sub_known(now->xgmi_written_bytes, last->xgmi_written_bytes));
    *received = sum_u64(*received, sub_known(now->xgmi_read_bytes, last->xgmi_read_bytes));
    work->counted.covered_ns += span_ns;
    work->counted.reason = "the driver does not report it";
    work->last = *now;
    work->read_at_ns = now_ns;
}

static void amd_work(void *vendor, size_t index, uint64_t now_ns, bool is_used, bool is_quick,
                     struct gpu_work *ret)
{
    struct amd *amd = vendor;
    struct amd_work *work = &amd->work[index];
    bool is_counting = is_known(work->read_at_ns);
    struct amd_metrics now;
    int r;

    if ((is_counting ? !is_quick : is_used) &&
        !drm_device_is_suspended(&amd->drm.devices.list[index])) {
        r = read_metrics(amd, index, &now);
        if (r == 0)
            count_work(work, &now, now_ns);
        else
            forget_work(work, r == -ENOTSUP
                                  ? "the driver reports it for MI300 and later devices"
                                  : "the driver's gpu_metrics is missing or damaged");
    }
    if (!is_used && !is_quick)
        work->read_at_ns = UNKNOWN;
    *ret = work->counted;
}

/* ---- the vendor ------------------------------------------------------------ */

static int amd_open(const struct root *root, void **ret, struct spoor_error *err)
{
    struct amd *amd;
    int r = drm_vendor_open(sizeof(*amd), root, "0x1002", "AMD", true, ret, err);

    if (r < 0)
        return r;
    amd = *ret;
    for (size_t i = 0; i < amd->drm.devices.count; i++) {
        describe(&amd->drm.devices.list[i]);
        amd->busy[i].read_at_ns = UNKNOWN;
        forget_work(&amd->work[i], "counted only while the job uses the GPU");
        if (drm_device_is_suspended(&amd->drm.devices.list[i]))
            continue;
        (void)read_energy(amd, i); /* starts the counter */
        amd->drm.devices.list[i].gpu.counts_work =
            read_metrics(amd, i, &(struct amd_metrics){ 0 }) == 0;
    }
    kfd_find(root, &amd->drm.devices, &amd->kfd);
    amd->drm.look_further = look_at_kfd;
    return 0;
}

/* Adds to the busy time. A reading covers the time since the previous one, or no time if it is
 * the first. After a failed reading, the next one covers the time of both. */
static void advance_busy(struct amd *amd, size_t device, uint64_t percent, uint64_t now_ns,
                         struct gpu_reading *reading)
{
    struct amd_busy *busy = &amd->busy[device];

    if (percent > 100) /* includes UNKNOWN; some firmware returns 65535 */
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
    struct drm_device *device = &amd->drm.devices.list[index];
    struct gpu_reading reading = drm_reading_unknown();

    if (drm_device_is_lost(device))
        return -ENODEV;
    reading.processes_reason = drm_vendor_reason(&amd->drm);
    /* Counted by the kernel: does not wake the device. */
    if (is_known(device->gpu.memory_total_bytes))
        reading.memory_used_bytes = drm_device_number(device, "device/mem_info_vram_used");
    if (drm_device_is_suspended(device)) {
        advance_busy(amd, index, 0, now_ns, &reading); /* a suspended device is idle */
        *ret = reading;
        return 0;
    }
    advance_busy(amd, index, drm_device_number(device, "device/gpu_busy_percent"), now_ns,
                 &reading);
    reading.energy.microjoules = read_energy(amd, index);
    reading.energy.milliwatts = drm_device_sensor(device, power, 1000);
    reading.temperature_celsius = drm_device_sensor(device, temperature, 1000);
    reading.clock_mhz = drm_device_sensor(device, frequency, 1000000);
    if (!is_known(reading.busy_ns))
        reading.busy_reason = "the driver reports no gpu_busy_percent for this device";
    *ret = reading;
    return 0;
}

const struct gpu_vendor gpu_amd = {
    .name = "amd",
    .sources = { "drm.fdinfo", "drm.fdinfo", "amdgpu.gpu_busy_percent", "amdgpu.sysfs", false,
                 "amdgpu.gpu_metrics" },
    .may_be_here = drm_may_be_here,
    .open = amd_open,
    .close = drm_vendor_close,
    .device_count = drm_device_count,
    .device = drm_device,
    .read = amd_read,
    .processes = drm_processes,
    .read_busy = drm_read_busy,
    .work = amd_work,
};
