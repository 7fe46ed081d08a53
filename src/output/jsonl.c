/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl.c - the samples as JSON, an object and a line each; the keys of csv.c. */
#include "output/json_writer.h"
#include "output/stream.h"

/* Every line speaks for itself: there is no header. */
static void begin(struct buffer *out)
{
    (void)out;
}

static void row(const struct sample *sample, const struct sample *previous, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin_line(&json, NULL, '{');
    json_add_seconds(&json, "timestamp", sample->realtime_ns);
    json_add_seconds(&json, "elapsed_seconds", sample->elapsed_ns);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct spoor_metric *metric = &metric_row((enum metric)i)->published;

        json_add_metric(&json, metric->name, (enum metric)i, sample->value[i]);
        if (metric->rate)
            json_add_number(&json, metric->rate, stream_rate((enum metric)i, sample, previous));
    }
    json_end(&json);
    buffer_add(out, "\n", 1);
}

const struct stream stream_jsonl = { ".jsonl", begin, row };
