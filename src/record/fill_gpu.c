/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_gpu.h"

#include <math.h>

#include "base/compiler.h"
#include "base/unknown.h"
#include "job/gpu/gpu_account.h"
#include "sample/origins.h"

static void fill_measures(struct record *record, const struct gpu_device_view *device,
                          struct spoor_figure *ret)
{
    static const struct {
        enum gpu_measure measure;
        bool is_mean; /* else the peak */
    } rows[RECORD_GPU_MEASURES] = {
        [RECORD_GPU_MEMORY] = { GPU_MEMORY, false },
        [RECORD_GPU_JOB_MEMORY] = { GPU_JOB_MEMORY, false },
        [RECORD_GPU_UTILIZATION_MEAN] = { GPU_UTILIZATION, true },
        [RECORD_GPU_UTILIZATION_MAX] = { GPU_UTILIZATION, false },
        [RECORD_GPU_JOB_UTILIZATION_MEAN] = { GPU_JOB_UTILIZATION, true },
        [RECORD_GPU_JOB_UTILIZATION_MAX] = { GPU_JOB_UTILIZATION, false },
        [RECORD_GPU_ENERGY] = { GPU_ENERGY, false },
        [RECORD_GPU_TEMPERATURE_MAX] = { GPU_TEMPERATURE, false },
        [RECORD_GPU_POWER_MAX] = { GPU_POWER, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct gpu_figure *from = &device->figures[rows[i].measure];
        const struct origin *origin = &from->measure.origin;
        uint64_t raw = rows[i].is_mean ? from->mean : from->peak;
        struct spoor_figure figure =
            record_unknown_figure(origin->reason ? origin->reason : gpu_not_told);

        if (is_known(raw)) {
            figure.value = gpu_measure_value(rows[i].measure, raw);
            figure.source = origin->source;
            figure.reason = NULL;
            figure.is_exact = rows[i].measure == GPU_ENERGY;
        }
        ret[i] = record_figure(record, figure, NULL);
    }
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
        fill_measures(record, &view->devices[index], gpu->measures);
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
