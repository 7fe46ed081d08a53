/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <math.h>

#include "base/arithmetic.h"
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
    uint64_t span_ns =
        previous ? less(sample_read_ns(sample, metric), sample_read_ns(previous, metric)) : 0;

    /* Of rows that follow each other faster than the counter can tell, it would be noise. */
    if (span_ns == 0 || 2 * span_ns < sample->clocks[metric_clock(metric)].resolution_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric], span_ns);
}
