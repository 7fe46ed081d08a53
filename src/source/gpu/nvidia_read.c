/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_read.c - the figures of a device. Each is one call, and UNKNOWN where that fails. */
#include <errno.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "source/gpu/nvidia_device.h"

#define SENSOR_GPU 0
#define CLOCK_SM 1

/* The costliest call of all: 3 to 4 ms. */
#define ENERGY_LEAST_NS (10 * NS_PER_SECOND)
#define ENERGY_MOST_NS (10 * NS_PER_SECOND)
#define ENERGY_IDLE_NS (60 * NS_PER_SECOND)

/* An integrated GPU has the machine's memory. */
static void read_shared_memory(const struct root *root, uint64_t *ret_total_bytes,
                               uint64_t *ret_used_bytes)
{
    uint64_t total_kib, available_kib;
    char text[4096];

    if (root_read_start(root, text, sizeof(text), "proc/meminfo") < 0 ||
        parse_key_u64(text, "MemTotal:", &total_kib) < 0 ||
        parse_key_u64(text, "MemAvailable:", &available_kib) < 0 || available_kib > total_kib)
        return;
    *ret_total_bytes = product_u64(total_kib, 1024);
    *ret_used_bytes = product_u64(total_kib - available_kib, 1024);
}

/* What the driver keeps for itself is not in use; only the second version tells it apart. */
static int read_own_memory(nvml_device handle, const struct nvml *nvml,
                           uint64_t *ret_total_bytes, uint64_t *ret_used_bytes)
{
    struct nvml_memory_v2 newer = { .version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2) };
    struct nvml_memory older;
    int status = NVML_NOT_SUPPORTED;

    if (nvml->memory_v2)
        status = nvml->memory_v2(handle, &newer);
    if (status == NVML_SUCCESS) {
        *ret_total_bytes = newer.total;
        *ret_used_bytes = newer.used;
    } else if (status != NVML_GPU_IS_LOST && nvml->memory) {
        status = nvml->memory(handle, &older);
        if (status == NVML_SUCCESS) {
            *ret_total_bytes = older.total;
            *ret_used_bytes = older.used;
        }
    }
    return nvml_errno(status);
}

uint64_t nvidia_device_own_memory_used(nvml_device handle, const struct nvml *nvml)
{
    uint64_t total_bytes, used_bytes;

    return read_own_memory(handle, nvml, &total_bytes, &used_bytes) < 0 ? UNKNOWN : used_bytes;
}

uint64_t nvidia_device_believe(const struct nvidia_device *device, uint64_t process_bytes)
{
    uint64_t total_bytes = device->facts.memory_total_bytes; /* UNKNOWN is the largest of all */

    return process_bytes <= total_bytes ? process_bytes : UNKNOWN;
}

int nvidia_device_read_memory(nvml_device handle, const struct nvml *nvml,
                              const struct root *root, uint64_t *ret_total_bytes,
                              uint64_t *ret_used_bytes)
{
    int r;

    *ret_total_bytes = *ret_used_bytes = UNKNOWN;
    r = read_own_memory(handle, nvml, ret_total_bytes, ret_used_bytes);
    if (r == -ENOTSUP && (nvml->memory || nvml->memory_v2))
        read_shared_memory(root, ret_total_bytes, ret_used_bytes);
    return r == -ENODEV ? r : 0;
}

static uint64_t known_32(int status, unsigned value)
{
    return status == NVML_SUCCESS && value != NVML_NOT_AVAILABLE_32 ? value : UNKNOWN;
}

static uint64_t read_power(const struct nvml *nvml, nvml_device handle)
{
    unsigned milliwatts = 0;
    int status = nvml->power ? nvml->power(handle, &milliwatts) : NVML_NOT_SUPPORTED;

    return known_32(status, milliwatts);
}

static uint64_t read_clock(const struct nvml *nvml, nvml_device handle)
{
    unsigned mhz = 0;
    int status = nvml->clock ? nvml->clock(handle, CLOCK_SM, &mhz) : NVML_NOT_SUPPORTED;

    return known_32(status, mhz);
}

/* The older call is left out of later drivers. */
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

void nvidia_energy_refresh(struct nvidia_energy *energy)
{
    energy->pace.due_ns = energy->idle_due_ns = 0;
}

/* What an idle device draws hardly changes. */
static bool may_rest(const struct nvidia_device *device, uint64_t now_ns)
{
    return now_ns < device->energy.idle_due_ns &&
           nvidia_meters_idle_since(&device->meters, device->energy.gpu_busy_ns);
}

static int ask_energy(struct nvidia_device *device, const struct nvml *nvml, uint64_t now_ns,
                      unsigned long long *ret_millijoules)
{
    int status = nvml->energy(device->handle, ret_millijoules);

    nvidia_pace_end(&device->energy.pace, now_ns, ENERGY_LEAST_NS, ENERGY_MOST_NS);
    device->energy.idle_due_ns = now_ns + ENERGY_IDLE_NS;
    device->energy.gpu_busy_ns = device->meters.list[METER_GPU].busy.busy_ns;
    return status;
}

/* The driver counts from when it was loaded; one that was loaded anew begins at 0 again, and
 * what it had counted since we last asked is lost. */
uint64_t nvidia_device_read_energy(struct nvidia_device *device, const struct nvml *nvml,
                                   uint64_t now_ns)
{
    struct nvidia_energy *energy = &device->energy;
    unsigned long long millijoules = 0;

    if (!nvml->energy)
        return UNKNOWN;
    if (!may_rest(device, now_ns) && nvidia_pace_begin(&energy->pace, now_ns) &&
        ask_energy(device, nvml, now_ns, &millijoules) == NVML_SUCCESS &&
        millijoules != NVML_NOT_AVAILABLE_64) {
        if (is_known(energy->last_millijoules) && millijoules > energy->last_millijoules)
            energy->grown_microjoules +=
                product_u64(millijoules - energy->last_millijoules, 1000);
        energy->last_millijoules = millijoules;
    }
    return is_known(energy->last_millijoules) ? energy->grown_microjoules : UNKNOWN;
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

/* One that was not read yet has a source that has not spoken yet. */
static void copy_meter(const struct nvidia_meter *meter, uint64_t *ret_busy_ns,
                       uint64_t *ret_covered_ns)
{
    bool has_source = meter->source != METER_NONE && !meter->is_failing;

    *ret_busy_ns = has_source ? meter->busy.busy_ns : UNKNOWN;
    *ret_covered_ns = has_source ? meter->busy.covered_ns : UNKNOWN;
}

int nvidia_device_read(struct nvidia_device *device, const struct nvml *nvml,
                       const struct root *root, uint64_t now_ns, struct nvidia_samples *room,
                       struct gpu_reading *ret)
{
    const struct nvidia_meter *meters = device->meters.list;
    struct gpu_reading reading;
    uint64_t total_bytes;
    int r = nvidia_device_read_memory(device->handle, nvml, root, &total_bytes,
                                      &reading.memory_used_bytes);

    if (r < 0)
        return r;
    nvidia_meters_read(&device->meters, nvml, device->handle, now_ns, room);
    copy_meter(&meters[METER_GPU], &reading.busy_ns, &reading.busy_covered_ns);
    copy_meter(&meters[METER_ENCODER], &reading.encoder_busy_ns, &reading.encoder_covered_ns);
    copy_meter(&meters[METER_DECODER], &reading.decoder_busy_ns, &reading.decoder_covered_ns);
    reading.busy_reason = is_known(reading.busy_ns) ? NULL : busy_reason(device);
    reading.busy_source = nvidia_meters_source(&device->meters);
    reading.processes_reason = reading.process_memory_reason = NULL;
    reading.energy_microjoules = nvidia_device_read_energy(device, nvml, now_ns);
    reading.power_milliwatts = read_power(nvml, device->handle);
    reading.temperature_celsius = read_temperature(nvml, device->handle);
    reading.clock_mhz = read_clock(nvml, device->handle);
    reading.throttle_reasons = read_throttle(nvml, device->handle);
    *ret = reading;
    return 0;
}
