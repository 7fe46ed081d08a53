/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "series/rate.h"

static const struct stream *const streams[] = { &stream_csv, &stream_jsonl };

const struct stream *stream_for_path(const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        size_t suffix = strlen(streams[i]->suffix);

        if (length > suffix && strcmp(path + length - suffix, streams[i]->suffix) == 0)
            return streams[i];
    }
    return NULL;
}

struct stream_gpus stream_gpus_of(const struct gpu_view *view)
{
    struct stream_gpus gpus = { 0 };

    for (size_t i = 0; i < view->count && gpus.count < STREAM_GPUS_MAX; i++) {
        if (view->units[i].is_selected)
            gpus.places[gpus.count++] = i;
    }
    return gpus;
}

double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous)
{
    if (!previous || sample->elapsed_ns <= previous->elapsed_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric],
                        sample->elapsed_ns - previous->elapsed_ns);
}
