/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl.c - the samples as JSON, an object and a line each; the keys of csv.c. */
#include "output/measure.h"
#include "output/stream.h"
#include "text/json_writer.h"

static void add_gpu(struct json_writer *json, const struct gpu_view *view,
                    struct gpu_place place)
{
    double values[GPU_MEASURE_COUNT];

    gpu_columns_read(view, place, values);
    json_begin_line(json, NULL, '{');
    json_add_u64(json, "index", place.index);
    json_add_u64(json, "part", place.part < 0 ? UNKNOWN : (uint64_t)place.part);
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        json_add_number(json, gpu_measure_row((enum gpu_measure)i)->name, values[i]);
    json_end(json);
}

void jsonl_stream_row(const struct stream_row *row, struct buffer *out)
{
    const struct sample *sample = row->sample;
    struct json_writer json = { .out = out };

    json_begin_line(&json, NULL, '{');
    json_add_seconds(&json, "timestamp", sample->realtime_ns);
    json_add_seconds(&json, "elapsed_seconds", sample->elapsed_ns);
    json_add_text(&json, "run_id", row->run_id);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct spoor_metric *metric = &metric_row((enum metric)i)->published;

        json_add_metric(&json, metric->name, (enum metric)i, sample->value[i]);
        if (metric->rate)
            json_add_number(&json, metric->rate,
                            stream_rate((enum metric)i, sample, row->previous));
    }
    if (row->of_gpus) {
        json_begin_line(&json, "gpus", '[');
        for (size_t i = 0; i < row->of_gpus->count; i++)
            add_gpu(&json, row->gpu, row->of_gpus->places[i]);
        json_end(&json);
    } else {
        json_add_null(&json, "gpus");
    }
    json_end(&json);
    buffer_add(out, "\n", 1);
}
