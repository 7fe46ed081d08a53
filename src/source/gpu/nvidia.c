/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia.c - NVIDIA GPUs, through the management library that comes with the driver: finds the devices
 * and reads their figures.
 *
 * No process is started and nothing is locked: a call that the driver blocks delays only the
 * thread that made it. Each figure takes one call, and is UNKNOWN if the call fails.
 */
#include "source/gpu/nvidia.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "base/reserve.h"
#include "source/host/meminfo.h"
#include "source/proc/pid_files.h"

#define DEVICES_MAX 1024
#define SENSOR_GPU 0
#define CLOCK_SM 1

/* The energy counter is the most expensive to read: 3 to 4 ms. Between readings of the counter,
 * energy is estimated as power times time. */
#define ENERGY_EVERY_NS (60 * NS_PER_SECOND)
#define ENERGY_WITHOUT_POWER_NS (10 * NS_PER_SECOND)
/* Phases shorter than this share a reading of the energy counter. */
#define ENERGY_BORDER_NS (2 * NS_PER_SECOND)
/* Minimum time between readings of the power: the driver reports the mean of the last
 * second. */
#define POWER_EVERY_NS NS_PER_SECOND
/* Estimates are slightly low, so that the energy need not fall when the counter is read. */
#define ESTIMATED_SHARE 0.95

/* ---- finding devices ------------------------------------------------------ */

/* Reads a string from the driver, which may contain any bytes up to a NUL. */
static void read_text(int (*get)(nvml_device, char *, unsigned), nvml_device handle, char *text,
                      size_t size)
{
    text[0] = '\0';
    if (!get || get(handle, text, (unsigned)size) != NVML_SUCCESS)
        text[0] = '\0';
    text[size - 1] = '\0';
}

static void read_driver_version(const struct nvml *nvml, char *text, size_t size)
{
    if (!nvml->driver_version || nvml->driver_version(text, (unsigned)size) != NVML_SUCCESS)
        text[0] = '\0';
    text[size - 1] = '\0';
}

static void read_pci(const struct nvml *nvml, nvml_device handle, struct gpu_device *facts)
{
    struct nvml_pci pci = { .domain = 0 };
    int length;

    if (!nvml->pci || nvml->pci(handle, &pci) != NVML_SUCCESS)
        return;
    length = snprintf(facts->pci_address, sizeof(facts->pci_address), "%04x:%02x:%02x.0",
                      pci.domain, pci.bus, pci.device);
    if (length < 0 || (size_t)length >= sizeof(facts->pci_address))
        facts->pci_address[0] = '\0';
}

/* Adds a device or, with `part` >= 0, a part of `whole`. NULL: out of memory, or too many
 * devices. */
static struct nvidia_device *add(struct nvidia *nvidia, nvml_device handle, nvml_device whole,
                                 int part)
{
    const struct nvml *nvml = &nvidia->nvml;
    struct nvidia_device *device;

    if (nvidia->count == DEVICES_MAX ||
        reserve(&nvidia->devices, &nvidia->capacity, nvidia->count + 1, sizeof(*device)) < 0)
        return NULL;
    device = &nvidia->devices[nvidia->count++];
    *device = (struct nvidia_device){
        .facts = { .is_part = part >= 0,
                   .part = part >= 0 ? (unsigned)part : 0,
                   .memory_total_bytes = UNKNOWN },
        .of = { nvml, handle, whole, 0, &nvidia->buffers },
        .energy = { .last_millijoules = UNKNOWN, .last_milliwatts = UNKNOWN },
    };
    read_text(nvml->uuid, handle, device->facts.uuid, sizeof(device->facts.uuid));
    read_text(nvml->name, handle, device->facts.name, sizeof(device->facts.name));
    read_driver_version(nvml, device->facts.driver_version,
                        sizeof(device->facts.driver_version));
    if (part < 0)
        read_pci(nvml, handle, &device->facts);
    return device;
}

static bool has_mig(const struct nvml *nvml, nvml_device handle)
{
    unsigned current = 0, pending = 0;

    return nvml->mig_mode && nvml->mig_count && nvml->mig_by_index && nvml->gpu_instance &&
           nvml->mig_mode(handle, &current, &pending) == NVML_SUCCESS && current == 1;
}

static int add_with_parts(struct nvidia *nvidia, nvml_device whole)
{
    const struct nvml *nvml = &nvidia->nvml;
    size_t place = nvidia->count;
    unsigned count = 0;

    if (!add(nvidia, whole, whole, -1))
        return -ENOMEM;
    if (!has_mig(nvml, whole) || nvml->mig_count(whole, &count) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < count && i < DEVICES_MAX; i++) {
        struct nvidia_device *part;
        nvml_device handle;

        if (nvml->mig_by_index(whole, i, &handle) != NVML_SUCCESS)
            continue; /* slots may be empty */
        part = add(nvidia, handle, whole, (int)i);
        if (!part)
            return -ENOMEM;
        if (nvml->gpu_instance(handle, &part->of.gpu_instance) != NVML_SUCCESS)
            part->of.gpu_instance = 0;
        nvidia->devices[place].has_parts = true;
    }
    return 0;
}

/* Records a device that exists but cannot be opened. Only the first is kept. */
static void note_trouble(struct nvidia *nvidia, unsigned index, int status)
{
    if (nvidia->trouble.code == 0)
        (void)error_set(&nvidia->trouble, nvml_errno(status),
                        "cannot open the driver's GPU %u: %s (error %d); later GPUs have lower "
                        "numbers here than in nvidia-smi",
                        index, nvml_words(&nvidia->nvml, status), status);
}

/* Finds the devices. Those that we may not use are left out. -ENODEV: there are no others. */
static int find_devices(struct nvidia *nvidia, struct spoor_error *err)
{
    const struct nvml *nvml = &nvidia->nvml;
    unsigned count = 0;
    int status = nvml->device_count(&count);
    int r = nvml_errno(status);

    if (r < 0)
        return error_set(err, r == -ENODEV ? EIO : -r,
                         "the driver does not report the number of its GPUs: %s (error %d)",
                         nvml_words(nvml, status), status);
    for (unsigned i = 0; i < count && i < DEVICES_MAX; i++) {
        nvml_device handle;

        status = nvml->device_by_index(i, &handle);
        if (status == NVML_SUCCESS) {
            if (add_with_parts(nvidia, handle) < 0)
                return error_set(err, ENOMEM, "out of memory");
            /* A device that we have no permission for is not assigned to the job. */
        } else if (status != NVML_NO_PERMISSION) {
            note_trouble(nvidia, i, status);
        }
    }
    if (nvidia->count == 0 && nvidia->trouble.code != 0)
        return error_set(err, EIO, "%s", nvidia->trouble.message);
    if (nvidia->count == 0)
        return error_set(err, ENODEV, "the NVIDIA driver offers no GPU that we may use");
    return 0;
}

/* ---- figures of a device -------------------------------------------------- */

/* Reads the memory of the machine, which an integrated GPU uses. */
static void read_shared_memory(const struct root *root, uint64_t *ret_total_bytes,
                               uint64_t *ret_used_bytes)
{
    struct meminfo memory;
    char text[4096];

    if (root_read_start(root, text, sizeof(text), "proc/meminfo") < 0 ||
        meminfo_parse(text, &memory) < 0 || memory.available_bytes > memory.total_bytes)
        return;
    *ret_total_bytes = memory.total_bytes;
    *ret_used_bytes = memory.total_bytes - memory.available_bytes;
}

/* Reads the memory of a device. Memory reserved by the driver does not count as used; only
 * nvmlDeviceGetMemoryInfo_v2 reports it separately. */
static int read_own_memory(const struct nvidia_subject *of, uint64_t *ret_total_bytes,
                           uint64_t *ret_used_bytes)
{
    const struct nvml *nvml = of->nvml;
    struct nvml_memory_v2 newer = { .version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2) };
    struct nvml_memory older;
    int status = NVML_NOT_SUPPORTED;

    if (nvml->memory_v2)
        status = nvml->memory_v2(of->device, &newer);
    if (status == NVML_SUCCESS) {
        *ret_total_bytes = newer.total;
        *ret_used_bytes = newer.used;
    } else if (status != NVML_GPU_IS_LOST && nvml->memory) {
        status = nvml->memory(of->device, &older);
        if (status == NVML_SUCCESS) {
            *ret_total_bytes = older.total;
            *ret_used_bytes = older.used;
        }
    }
    return nvml_errno(status);
}

uint64_t nvidia_device_own_memory_used(const struct nvidia_device *device)
{
    uint64_t total_bytes, used_bytes;
    int r = read_own_memory(&device->of, &total_bytes, &used_bytes);

    return r < 0 ? UNKNOWN : used_bytes;
}

uint64_t nvidia_device_plausible_bytes(const struct nvidia_device *device,
                                       uint64_t process_bytes)
{
    uint64_t total_bytes = device->facts.memory_total_bytes; /* UNKNOWN is the largest number */

    return process_bytes <= total_bytes ? process_bytes : UNKNOWN;
}

/* Reads the memory of the device or, if it has no memory of its own, of the machine. UNKNOWN if
 * the driver does not report it. -ENODEV: the device is lost. */
static int read_memory(const struct nvidia *nvidia, const struct nvidia_device *device,
                       uint64_t *ret_total_bytes, uint64_t *ret_used_bytes)
{
    int r;

    *ret_total_bytes = *ret_used_bytes = UNKNOWN;
    r = read_own_memory(&device->of, ret_total_bytes, ret_used_bytes);
    if (r == -ENOTSUP && (nvidia->nvml.memory || nvidia->nvml.memory_v2))
        read_shared_memory(nvidia->root, ret_total_bytes, ret_used_bytes);
    return r == -ENODEV ? r : 0;
}

static uint64_t known_32(int status, unsigned value)
{
    return status == NVML_SUCCESS && value != NVML_NOT_AVAILABLE_32 ? value : UNKNOWN;
}

static uint64_t read_power(const struct nvidia_subject *of)
{
    unsigned milliwatts = 0;
    int status =
        of->nvml->power ? of->nvml->power(of->device, &milliwatts) : NVML_NOT_SUPPORTED;

    return known_32(status, milliwatts);
}

static uint64_t read_clock(const struct nvml *nvml, nvml_device handle)
{
    unsigned mhz = 0;
    int status = nvml->clock ? nvml->clock(handle, CLOCK_SM, &mhz) : NVML_NOT_SUPPORTED;

    return known_32(status, mhz);
}

/* Reads the temperature. Later drivers lack nvmlDeviceGetTemperature. */
static uint64_t read_temperature(const struct nvml *nvml, nvml_device handle)
{
    struct nvml_temperature newer = { .version =
                                          NVML_STRUCT_VERSION(struct nvml_temperature, 1),
                                      .sensor = SENSOR_GPU };
    unsigned celsius = 0;
    int status;

    if (nvml->temperature) {
        status = nvml->temperature(handle, SENSOR_GPU, &celsius);
        if (status == NVML_SUCCESS)
            return known_32(status, celsius);
    }
    if (nvml->temperature_v && nvml->temperature_v(handle, &newer) == NVML_SUCCESS &&
        newer.celsius >= 0)
        return (uint64_t)newer.celsius;
    return UNKNOWN;
}

static uint64_t read_throttle(const struct nvml *nvml, nvml_device handle)
{
    static const struct {
        unsigned long long bit;
        uint64_t reason;
    } reasons[] = {
        { NVML_CLOCKS_POWER_CAP, GPU_THROTTLE_POWER },
        { NVML_CLOCKS_POWER_BRAKE, GPU_THROTTLE_POWER | GPU_THROTTLE_HARDWARE },
        { NVML_CLOCKS_HARDWARE, GPU_THROTTLE_HARDWARE },
        { NVML_CLOCKS_THERMAL_SOFTWARE, GPU_THROTTLE_THERMAL },
        { NVML_CLOCKS_THERMAL_HARDWARE, GPU_THROTTLE_THERMAL | GPU_THROTTLE_HARDWARE },
    };
    unsigned long long bits = 0;
    uint64_t result = 0;

    if (!nvml->throttle || nvml->throttle(handle, &bits) != NVML_SUCCESS)
        return UNKNOWN;
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (bits & reasons[i].bit)
            result |= reasons[i].reason;
    return result;
}

/* Reads the power, and adds to the estimated energy. When a device starts or stops working, its
 * power draw changes within a second, so any longer time counts with the new value. */
static void note_power(struct nvidia_device *device, uint64_t now_ns)
{
    struct nvidia_energy *energy = &device->energy;
    uint64_t milliwatts = read_power(&device->of);
    uint64_t span_ns = sub_floor0(now_ns, energy->powered_ns);
    uint64_t changing_ns = smaller(span_ns, NS_PER_SECOND);

    if (is_known(milliwatts) && is_known(energy->last_milliwatts))
        energy->since_microjoules +=
            (uint64_t)(ESTIMATED_SHARE *
                       ((double)(milliwatts + energy->last_milliwatts) / 2 *
                            (double)changing_ns +
                        (double)milliwatts * (double)(span_ns - changing_ns)) /
                       1e6);
    energy->last_milliwatts = milliwatts;
    energy->powered_ns = now_ns;
}

/* Reads the energy counter. The driver counts from when it was loaded; a reloaded driver starts
 * again at 0, and the energy since the last reading is lost. */
static void read_counter(struct nvidia_device *device, uint64_t now_ns)
{
    const struct nvml *nvml = device->of.nvml;
    struct nvidia_energy *energy = &device->energy;
    unsigned long long millijoules = 0;

    if (!nvml->energy || now_ns < energy->due_ns)
        return;
    energy->read_ns = now_ns;
    energy->due_ns = now_ns + (is_known(energy->last_milliwatts) ? ENERGY_EVERY_NS
                                                                 : ENERGY_WITHOUT_POWER_NS);
    if (nvml->energy(device->of.device, &millijoules) != NVML_SUCCESS ||
        millijoules == NVML_NOT_AVAILABLE_64)
        return;
    if (is_known(energy->last_millijoules) && millijoules > energy->last_millijoules)
        energy->grown_microjoules += product_u64(millijoules - energy->last_millijoules, 1000);
    energy->last_millijoules = millijoules;
    energy->since_microjoules = 0;
}

static struct gpu_energy read_energy(struct nvidia_device *device, uint64_t now_ns,
                                     uint64_t power_gap_ns)
{
    struct nvidia_energy *energy = &device->energy;

    if (now_ns >= energy->powered_ns + power_gap_ns)
        note_power(device, now_ns);
    read_counter(device, now_ns);
    return (struct gpu_energy){
        .microjoules = is_known(energy->last_millijoules)
                           ? energy->grown_microjoules + energy->since_microjoules
                           : UNKNOWN,
        .is_estimated = energy->since_microjoules > 0,
        .milliwatts = energy->last_milliwatts,
    };
}

static const char *busy_reason(const struct nvidia_device *device)
{
    if (device->meters.list[METER_GPU].is_failing)
        return "the driver fails to report the utilization of this device";
    if (device->facts.is_part)
        return "the driver reports the utilization of MIG devices from Hopper on only";
    if (device->has_parts)
        return "MIG is on: the driver reports no utilization for the whole device";
    return "the driver reports no utilization for this device";
}

/* Copies a meter's counters. A meter that has not been read yet has counted 0. */
static void copy_meter(const struct nvidia_meter *meter, uint64_t *ret_busy_ns,
                       uint64_t *ret_covered_ns)
{
    bool has_source = meter->source != METER_NONE && !meter->is_failing;

    *ret_busy_ns = has_source ? meter->busy.busy_ns : UNKNOWN;
    *ret_covered_ns = has_source ? meter->busy.covered_ns : UNKNOWN;
}

static int read_device(void *vendor, size_t index, uint64_t now_ns, struct gpu_reading *ret)
{
    struct nvidia *nvidia = vendor;
    const struct nvml *nvml = &nvidia->nvml;
    struct nvidia_device *device = &nvidia->devices[index];
    const struct nvidia_meter *meters = device->meters.list;
    struct gpu_reading reading = { 0 };
    uint64_t total_bytes;
    int r = read_memory(nvidia, device, &total_bytes, &reading.memory_used_bytes);

    if (r < 0)
        return r;
    nvidia_meters_read(&device->meters, now_ns);
    copy_meter(&meters[METER_GPU], &reading.busy_ns, &reading.busy_covered_ns);
    copy_meter(&meters[METER_ENCODER], &reading.encoder_busy_ns, &reading.encoder_covered_ns);
    copy_meter(&meters[METER_DECODER], &reading.decoder_busy_ns, &reading.decoder_covered_ns);
    reading.busy_reason = is_known(reading.busy_ns) ? NULL : busy_reason(device);
    reading.busy_source = nvidia_meters_source(&device->meters);
    reading.energy = read_energy(device, now_ns, 0);
    reading.temperature_celsius = read_temperature(nvml, device->of.device);
    reading.clock_mhz = read_clock(nvml, device->of.device);
    reading.throttle_reasons = read_throttle(nvml, device->of.device);
    nvidia_processes_explain(nvidia, index, &reading);
    *ret = reading;
    return 0;
}

/* ---- the vendor ----------------------------------------------------------- */

static void close_vendor(void *vendor)
{
    struct nvidia *nvidia = vendor;

    if (!nvidia)
        return;
    for (size_t i = 0; i < nvidia->count; i++) {
        nvidia_gpm_close(&nvidia->devices[i].meters.gpm, &nvidia->nvml);
        nvidia_gpm_close(&nvidia->devices[i].work.gpm, &nvidia->nvml);
        nvidia_lists_done(&nvidia->devices[i].lists);
        nvidia_clients_done(&nvidia->devices[i].clients);
    }
    free(nvidia->devices);
    nvidia_buffers_done(&nvidia->buffers);
    nvml_close(&nvidia->nvml);
    free(nvidia);
}

static void cleanup_vendor(struct nvidia **nvidia)
{
    close_vendor(*nvidia);
}

/* Whether a driver does not report the usage of processes in a container. Drivers before 565.57
 * list them with the host's PIDs, or without their memory. If the version is missing, the
 * driver counts as new. */
bool nvidia_driver_is_too_old(const char *version)
{
    uint64_t major, minor = 0;

    if (parse_digits(&version, &major) < 0)
        return false;
    if (*version++ == '.')
        (void)parse_u64(&version, &minor); /* stays 0 on failure */
    return major < 565 || (major == 565 && minor < 57);
}

/* Whether the machine may have an NVIDIA GPU. The library always reports this machine, even if
 * the root folder is a fixture of another one. */
static bool may_be_here(const struct root *root)
{
    return root->is_live && nvml_may_be_here(root);
}

static int open_vendor(const struct root *root, void **ret, struct spoor_error *err)
{
    CLEANUP(cleanup_vendor) struct nvidia *nvidia = NULL;
    int r;

    if (!may_be_here(root))
        return error_set(err, ENODEV, "the NVIDIA driver is not installed");
    nvidia = calloc(1, sizeof(*nvidia));
    if (!nvidia)
        return error_set(err, ENOMEM, "out of memory");
    nvidia->root = root;
    r = nvml_open(&nvidia->nvml, err);
    if (r == 0)
        r = find_devices(nvidia, err);
    if (r < 0)
        return r;
    nvidia->is_nested = !pid_namespace_is_first(root);
    nvidia->is_too_old =
        nvidia->is_nested && nvidia_driver_is_too_old(nvidia->devices[0].facts.driver_version);
    nvidia->opened_us = clock_now().realtime_ns / NS_PER_US;
    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];
        struct gpu_device *facts = &device->facts;
        uint64_t used_bytes;

        (void)read_memory(nvidia, device, &facts->memory_total_bytes,
                          &used_bytes); /* stays UNKNOWN on failure */
        facts->keeps_accounts = nvidia_has_accounts(nvidia, i);
        facts->counts_work =
            !facts->is_part && !device->has_parts && nvidia_gpm_is_supported(&device->of);
    }
    *ret = take_ptr(nvidia);
    return 0;
}

static void begin_device(struct nvidia_device *device, uint64_t now_ns)
{
    nvidia_meters_init(&device->meters, &device->of, now_ns);
    /* GPM counts from its first reading. */
    if (device->facts.is_part || device->has_parts)
        nvidia_meters_find_sources(&device->meters, now_ns);
    nvidia_work_init(&device->work);
    note_power(device, now_ns);
    read_counter(device, now_ns);
    if (device->has_parts)
        return;
    device->has_usage = device->of.nvml->process_usage;
    nvidia_clients_begin(&device->clients, clock_now().realtime_ns / NS_PER_US);
    device->clients_pace.due_ns = now_ns + NVIDIA_USAGE_LEAST_NS;
}

static void begin(void *vendor)
{
    struct nvidia *nvidia = vendor;
    uint64_t now_ns = clock_now().monotonic_ns;

    for (size_t i = 0; i < nvidia->count; i++)
        begin_device(&nvidia->devices[i], now_ns);
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

static void energy(void *vendor, size_t index, uint64_t now_ns, bool is_border,
                   struct gpu_energy *ret)
{
    struct nvidia *nvidia = vendor;
    struct nvidia_device *device = &nvidia->devices[index];
    bool reads_all = is_border && now_ns >= device->energy.read_ns + ENERGY_BORDER_NS;

    if (reads_all)
        device->energy.due_ns = device->work.due_ns = 0;
    *ret = read_energy(device, now_ns, reads_all ? 0 : POWER_EVERY_NS);
}

/* Counts the work of a device, unless it is or has MIG devices: they have counters of their
 * own, which DCGM reads and which we leave alone. */
static void work(void *vendor, size_t index, uint64_t now_ns, bool is_used, bool is_quick,
                 struct gpu_work *ret)
{
    struct nvidia *nvidia = vendor;
    struct nvidia_device *device = &nvidia->devices[index];

    if (!device->facts.is_part && !device->has_parts)
        nvidia_work_look(&device->work, &device->of, now_ns, is_used, is_quick);
    *ret = device->work.counted;
}

static void refresh(void *vendor)
{
    struct nvidia *nvidia = vendor;

    for (size_t i = 0; i < nvidia->count; i++) {
        struct nvidia_device *device = &nvidia->devices[i];

        nvidia_meters_refresh(&device->meters);
        device->listed_ns = 0;
        device->energy.due_ns = device->work.due_ns = 0;
        device->clients_pace.due_ns = 0;
    }
}

const struct gpu_vendor gpu_nvidia = {
    .name = "nvidia",
    .sources = { "nvml.processes", "nvml.process_samples", "nvml.samples", "nvml.device", true,
                 "nvml.gpm" },
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
    .read_busy = nvidia_read_busy,
    .energy = energy,
    .work = work,
    .refresh = refresh,
    .accounts = nvidia_accounts,
};
