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

double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous)
{
    if (!previous || sample->elapsed_ns <= previous->elapsed_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric],
                        sample->elapsed_ns - previous->elapsed_ns);
}
