/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_gpu.h"

#include <math.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "job/gpu/gpu_tally.h"
#include "sample/origins.h"

static struct spoor_figure make_measure(struct record *record, enum gpu_measure measure,
                                        uint64_t raw, const char *source, const char *reason)
{
    struct spoor_figure figure = record_unknown_figure(reason ? reason : gpu_not_told);

    if (is_known(raw)) {
        figure.value = gpu_measure_value(measure, raw);
        figure.source = source;
        figure.reason = NULL;
        figure.is_exact = measure == GPU_ENERGY;
    }
    return record_figure(record, figure, NULL);
}

static void fill_measures(struct record *record, const struct gpu_unit *unit,
                          const struct gpu_device_view *device, struct spoor_figure *ret)
{
    const struct gpu_sources *sources = unit->sources;
    const char *busy = device->busy_source ? device->busy_source : sources->device_busy;
    const char *job_busy = device->is_busy_attributed ? "attributed" : sources->process_busy;
    const struct {
        enum gpu_measure measure;
        uint64_t raw;
        const char *source, *reason;
    } rows[RECORD_GPU_MEASURES] = {
        [RECORD_GPU_MEMORY] = { GPU_MEMORY, device->memory_peak_bytes, sources->device,
                                device->memory_reason },
        [RECORD_GPU_JOB_MEMORY] = { GPU_JOB_MEMORY, device->job_memory_peak_bytes,
                                    sources->process_memory, device->job_memory_reason },
        [RECORD_GPU_UTILIZATION_MEAN] = { GPU_UTILIZATION, device->utilization_mean, busy,
                                          device->busy_reason },
        [RECORD_GPU_UTILIZATION_MAX] = { GPU_UTILIZATION, device->utilization_max, busy,
                                         device->busy_reason },
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = { GPU_UTILIZATION, device->job_utilization_mean,
                                              job_busy, device->job_busy_reason },
        [RECORD_GPU_JOB_UTILIZATION_MAX] = { GPU_UTILIZATION, device->job_utilization_max,
                                             job_busy, device->job_busy_reason },
        [RECORD_GPU_ENERGY] = { GPU_ENERGY, device->energy_microjoules, sources->device,
                                device->energy_reason },
        [RECORD_GPU_TEMPERATURE_MAX] = { GPU_TEMPERATURE, device->temperature_max_celsius,
                                         sources->device, NULL },
        [RECORD_GPU_POWER_MAX] = { GPU_POWER, device->power_max_milliwatts, sources->device,
                                   NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ret[i] =
            make_measure(record, rows[i].measure, rows[i].raw, rows[i].source, rows[i].reason);
}

static const char **make_throttled(struct record *record, uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        { GPU_THROTTLE_POWER, "power" },
        { GPU_THROTTLE_THERMAL, "thermal" },
        { GPU_THROTTLE_HARDWARE, "hardware" },
    };
    const char **list;
    size_t count = 0;

    if (!is_known(reasons))
        return NULL;
    list = record_alloc(record, ARRAY_SIZE(names) + 1, sizeof(*list));
    for (size_t i = 0; list && i < ARRAY_SIZE(names); i++) {
        if (reasons & names[i].bit)
            list[count++] = record_text(record, names[i].name);
    }
    return list;
}

static void fill_gpu(struct record *record, const struct gpu_view *view, size_t index)
{
    const struct gpu_unit *unit = &view->units[index];
    struct record_gpu *gpu = &record->gpus[index];

    *gpu = (struct record_gpu){
        .index = unit->place.index,
        .part = unit->place.part < 0 ? UNKNOWN : (uint64_t)unit->place.part,
        .uuid = record_text(record, gpu_unit_id(unit)),
        .name = record_known_text(record, unit->device.name),
        .vendor = record_text(record, unit->vendor),
        .pci_address = record_known_text(record, unit->device.pci_address),
        .memory_bytes = unit->device.memory_total_bytes,
        .is_part = unit->device.is_part,
        .is_selected = unit->is_selected,
    };
    for (size_t i = 0; i < RECORD_GPU_MEASURES; i++)
        gpu->measures[i] = record_unknown_figure(NULL);
    if (gpu->is_selected && view->devices) {
        fill_measures(record, unit, &view->devices[index], gpu->measures);
        gpu->throttled = make_throttled(record, view->devices[index].throttle_reasons);
    }
}

void fill_gpus(struct record *record, const struct gpu_view *view)
{
    record->gpus = record_alloc(record, view->count, sizeof(*record->gpus));
    record->gpu_count = record->gpus ? view->count : 0;
    for (size_t i = 0; i < record->gpu_count; i++)
        fill_gpu(record, view, i);
    if ((view->state != GPU_PENDING && view->reason != origins_gpus_unwanted) ||
        view->count > 0)
        record->whole_gpus = gpu_units_count_whole(view->units, view->count);
    record->gpus_reason = record_text(record, view->reason);
}
