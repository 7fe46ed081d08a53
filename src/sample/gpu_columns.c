/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/gpu_columns.h"

#include "base/unknown.h"

struct gpu_columns gpu_columns_of(const struct gpu_view *view)
{
    struct gpu_columns columns = { 0 };

    for (size_t i = 0; i < view->count && columns.count < GPU_COLUMNS_MAX; i++) {
        if (view->units[i].is_selected)
            columns.places[columns.count++] = view->units[i].place;
    }
    return columns;
}

static const struct gpu_device_view *find(const struct gpu_view *view, struct gpu_place place)
{
    for (size_t i = 0; view->state == GPU_READY && i < view->count; i++) {
        const struct gpu_place *at = &view->units[i].place;

        if (at->index == place.index && at->part == place.part)
            return &view->devices[i];
    }
    return NULL;
}

void gpu_columns_read(const struct gpu_view *view, struct gpu_place place,
                      double ret[GPU_MEASURE_COUNT])
{
    const struct gpu_device_view *device = find(view, place);

    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        ret[i] = gpu_measure_value((enum gpu_measure)i,
                                   device ? device->figures[i].measure.value : UNKNOWN);
}
