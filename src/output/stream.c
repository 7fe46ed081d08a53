/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <math.h>

#include "base/compiler.h"
#include "output/format.h"
#include "series/rate.h"

static const struct stream streams[] = {
    { ".csv", csv_stream_begin, csv_stream_row },
    { ".jsonl", NULL, jsonl_stream_row },
};

const struct stream *stream_for_path(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        if (path_has_suffix(path, streams[i].suffix))
            return &streams[i];
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
