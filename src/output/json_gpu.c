/* SPDX-License-Identifier: Apache-2.0 */
#include "output/json_gpu.h"

#include <math.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "output/measure.h"

static const char not_told[] = "the driver does not tell it";

static void add_measure(struct json_writer *json, const char *key, enum gpu_measure measure,
                        uint64_t raw, const char *source, const char *reason)
{
    struct spoor_figure figure = { .low = (double)NAN, .high = (double)NAN };

    figure.value = gpu_measure_value(measure, raw);
    figure.source = is_known(raw) ? source : NULL;
    figure.reason = reason ? reason : not_told;
    figure.is_exact = is_known(raw) && measure == GPU_ENERGY;
    json_add_measure(json, key, &figure);
}

void json_gpu_begin(struct json_writer *json, const struct gpu_view *view)
{
    if (view->state == GPU_PENDING && view->count == 0)
        json_add_null(json, "count");
    else
        json_add_u64(json, "count", gpu_units_count_whole(view->units, view->count));
    json_gpu_add_selected(json, "selected", view);
}

void json_gpu_add_selected(struct json_writer *json, const char *key,
                           const struct gpu_view *view)
{
    json_begin_line(json, key, '[');
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected)
            json_add_text(json, NULL, gpu_unit_id(&view->units[i]));
    }
    json_end(json);
}

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

void json_gpu_add_place(struct json_writer *json, struct gpu_place place)
{
    json_add_u64(json, "index", place.index);
    if (place.part < 0)
        json_add_null(json, "part");
    else
        json_add_u64(json, "part", (uint64_t)place.part);
}

static void add_identity(struct json_writer *json, const struct gpu_unit *unit)
{
    json_gpu_add_place(json, unit->place);
    json_add_text(json, "uuid", gpu_unit_id(unit));
    json_add_text(json, "name", text_or_null(unit->device.name));
    json_add_text(json, "vendor", unit->vendor);
}

void json_gpu_add_list(struct json_writer *json, const char *key, const struct gpu_view *view)
{
    json_begin(json, key, '[');
    for (size_t i = 0; i < view->count; i++) {
        const struct gpu_unit *unit = &view->units[i];

        json_begin_line(json, NULL, '{');
        add_identity(json, unit);
        json_add_text(json, "pci_address", text_or_null(unit->device.pci_address));
        json_add_u64(json, "memory_bytes", unit->device.memory_total_bytes);
        json_add_bool(json, "is_part", unit->device.is_part);
        json_end(json);
    }
    json_end(json);
}

static void add_throttled(struct json_writer *json, uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        { GPU_THROTTLE_POWER, "power" },
        { GPU_THROTTLE_THERMAL, "thermal" },
        { GPU_THROTTLE_HARDWARE, "hardware" },
    };

    if (!is_known(reasons)) {
        json_add_null(json, "throttled");
        return;
    }
    json_begin_line(json, "throttled", '[');
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (reasons & names[i].bit)
            json_add_text(json, NULL, names[i].name);
    }
    json_end(json);
}

static void add_share(struct json_writer *json, const char *key, uint64_t mean, uint64_t max,
                      const char *source, const char *reason)
{
    json_begin(json, key, '{');
    add_measure(json, "mean", GPU_UTILIZATION, mean, source, reason);
    add_measure(json, "max", GPU_UTILIZATION, max, source, reason);
    json_end(json);
}

static void add_device(struct json_writer *json, const struct gpu_view *view, size_t index)
{
    const struct gpu_device_view *device = &view->devices[index];
    const struct gpu_unit *unit = &view->units[index];
    const struct gpu_sources *sources = unit->sources;

    json_begin(json, NULL, '{');
    add_identity(json, unit);
    json_begin(json, "memory", '{');
    json_add_u64(json, "total_bytes", unit->device.memory_total_bytes);
    add_measure(json, "peak_bytes", GPU_MEMORY, device->memory_peak_bytes, sources->device,
                device->memory_reason);
    add_measure(json, "job_peak_bytes", GPU_JOB_MEMORY, device->job_memory_peak_bytes,
                device->is_attributed ? "attributed" : sources->process_memory,
                device->job_memory_reason);
    json_end(json);
    add_share(json, "utilization", device->utilization_mean, device->utilization_max,
              device->busy_source ? device->busy_source : sources->device_busy,
              device->busy_reason);
    add_share(json, "job_utilization", device->job_utilization_mean,
              device->job_utilization_max,
              device->is_busy_attributed ? "attributed" : sources->process_busy,
              device->job_busy_reason);
    add_measure(json, "energy_joules", GPU_ENERGY, device->energy_microjoules, sources->device,
                device->energy_reason);
    add_measure(json, "max_temperature_celsius", GPU_TEMPERATURE,
                device->temperature_max_celsius, sources->device, NULL);
    add_measure(json, "max_power_watts", GPU_POWER, device->power_max_milliwatts,
                sources->device, NULL);
    add_throttled(json, device->throttle_reasons);
    json_end(json);
}

void json_gpu_end(struct json_writer *json, const struct gpu_view *view)
{
    json_begin(json, "devices", '[');
    for (size_t i = 0; i < view->count; i++) {
        if (view->units[i].is_selected)
            add_device(json, view, i);
    }
    json_end(json);
}
