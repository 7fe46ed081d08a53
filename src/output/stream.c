/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "series/rate.h"

static const struct stream streams[] = {
    { "csv", ".csv", true, csv_stream_begin, csv_stream_row },
    { "jsonl", ".jsonl", false, jsonl_stream_begin, jsonl_stream_row },
};

const struct stream *stream_for_path(const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        size_t suffix = strlen(streams[i].suffix);

        if (length > suffix && strcmp(path + length - suffix, streams[i].suffix) == 0)
            return &streams[i];
    }
    return NULL;
}

struct stream_gpus stream_gpus_of(const struct gpu_view *view)
{
    struct stream_gpus gpus = { 0 };

    for (size_t i = 0; i < view->count && gpus.count < STREAM_GPUS_MAX; i++) {
        if (view->units[i].is_selected)
            gpus.places[gpus.count++] = view->units[i].place;
    }
    return gpus;
}

const struct gpu_device_view *stream_gpu(const struct gpu_view *view, struct gpu_place place)
{
    for (size_t i = 0; view->state == GPU_READY && i < view->count; i++) {
        const struct gpu_place *at = &view->units[i].place;

        if (at->index == place.index && at->part == place.part)
            return &view->devices[i];
    }
    return NULL;
}

double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous)
{
    if (!previous || sample->elapsed_ns <= previous->elapsed_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric],
                        sample->elapsed_ns - previous->elapsed_ns);
}
