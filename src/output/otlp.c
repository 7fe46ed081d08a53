/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp.c - samples as an OTLP request: ExportMetricsServiceRequest of OpenTelemetry in JSON.
 *
 * 64-bit integers are decimal strings there, and enumerators are numbers.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "output/export.h"
#include "text/json_writer.h"

enum { CUMULATIVE = 2 }; /* value of AggregationTemporality */

struct otlp {
    struct json_writer json;
    const struct export_sample *samples;
    size_t count;
};

static void add_attribute(struct json_writer *json, const char *key, const char *value)
{
    json_begin(json, NULL, '{');
    json_add_text(json, "key", key);
    json_begin(json, "value", '{');
    json_add_text(json, "stringValue", value);
    json_end(json);
    json_end(json);
}

/* Adds an attribute "KEY=VALUE"; NULL: none. */
static void add_pair(struct json_writer *json, const char *pair)
{
    char key[64];
    const char *equals = pair ? strchr(pair, '=') : NULL;

    if (!equals || (size_t)(equals - pair) >= sizeof(key))
        return;
    memcpy(key, pair, (size_t)(equals - pair));
    key[equals - pair] = '\0';
    add_attribute(json, key, equals + 1);
}

static void add_time(struct json_writer *json, const char *key, double unix_seconds)
{
    json_begin_value(json, key);
    buffer_format(json->out, "\"%" PRIu64 "\"", (uint64_t)(unix_seconds * 1e3) * 1000000);
}

/* A point has the attribute of its metric and, if there is one, the UUID of its GPU.
 * `started_at` is 0 if unknown. */
static void add_point(struct json_writer *json, const struct export_sample *sample,
                      double started_at, double value, const char *pair, const char *uuid)
{
    json_begin(json, NULL, '{');
    if (started_at > 0)
        add_time(json, "startTimeUnixNano", started_at);
    add_time(json, "timeUnixNano", sample->unix_seconds);
    json_add_number(json, "asDouble", value);
    if (pair || uuid) {
        json_begin(json, "attributes", '[');
        add_pair(json, pair);
        if (uuid)
            add_attribute(json, "hw.id", uuid);
        json_end(json);
    }
    json_end(json);
}

static void begin_metric(struct json_writer *json, const char *otel, const char *name,
                         const char *help, bool is_counter)
{
    json_begin(json, NULL, '{');
    json_add_text(json, "name", otel);
    json_add_text(json, "description", help);
    json_add_text(json, "unit", name_unit(name).otel);
    json_begin(json, is_counter ? "sum" : "gauge", '{');
    if (is_counter) {
        json_add_number(json, "aggregationTemporality", CUMULATIVE);
        json_add_bool(json, "isMonotonic", true);
    }
    json_begin(json, "dataPoints", '[');
}

static void end_metric(struct json_writer *json)
{
    for (int i = 0; i < 3; i++)
        json_end(json);
}

/* Counters of the job begin with the run, counters of the machine at an unknown time. */
static bool add_metric_points(struct otlp *otlp, enum metric metric, bool has_begun)
{
    const struct metric_row *row = metric_row(metric);
    bool is_counter = row->published.kind == SPOOR_COUNTER;
    bool begins_with_run = is_counter && (metric < METRIC_HOST_CPU || row->starts_at_zero);

    for (size_t i = 0; i < otlp->count; i++) {
        const struct export_sample *sample = &otlp->samples[i];

        if (isnan(sample->values[metric]))
            continue;
        if (!has_begun)
            begin_metric(&otlp->json, row->otel, row->published.name, row->published.help,
                         is_counter);
        has_begun = true;
        add_point(&otlp->json, sample,
                  begins_with_run ? sample->unix_seconds - sample->elapsed_seconds : 0,
                  sample->values[metric], row->attribute, NULL);
    }
    return has_begun;
}

static bool add_gpu_points(struct otlp *otlp, enum gpu_measure measure, bool has_begun)
{
    const struct gpu_measure_row *row = gpu_measure_row(measure);

    for (size_t i = 0; i < otlp->count; i++) {
        const struct export_sample *sample = &otlp->samples[i];
        double started_at =
            row->is_counter ? sample->unix_seconds - sample->elapsed_seconds : 0;

        for (size_t j = 0; j < sample->gpu_count; j++) {
            const struct export_gpu *gpu = &sample->gpus[j];

            if (isnan(gpu->values[measure]))
                continue;
            if (!has_begun)
                begin_metric(&otlp->json, row->otel, row->name, row->help, row->is_counter);
            has_begun = true;
            add_point(&otlp->json, sample, started_at, gpu->values[measure], row->attribute,
                      gpu->uuid);
        }
    }
    return has_begun;
}

/* Returns the name of a row; NULL: not exported. Rows with the same name are one metric, which
 * is written at the first of them. */
static const char *name_of(int row, bool is_gpu)
{
    return is_gpu ? gpu_measure_row((enum gpu_measure)row)->otel
                  : metric_row((enum metric)row)->otel;
}

static void add_metrics(struct otlp *otlp, int count, bool is_gpu)
{
    for (int i = 0; i < count; i++) {
        const char *name = name_of(i, is_gpu);
        bool has_begun = false;
        int first = 0;

        while (name && (!name_of(first, is_gpu) || strcmp(name_of(first, is_gpu), name) != 0))
            first++;
        if (!name || first < i)
            continue;
        for (int j = i; j < count; j++) {
            if (!name_of(j, is_gpu) || strcmp(name_of(j, is_gpu), name) != 0)
                continue;
            has_begun = is_gpu ? add_gpu_points(otlp, (enum gpu_measure)j, has_begun)
                               : add_metric_points(otlp, (enum metric)j, has_begun);
        }
        if (has_begun)
            end_metric(&otlp->json);
    }
}

void otlp_write(const struct export_sample *samples, size_t count,
                const struct export_label *resource, size_t resource_count, struct buffer *out)
{
    struct otlp otlp = { { .out = out, .style = &json_compact }, samples, count };
    struct json_writer *json = &otlp.json;

    json_begin(json, NULL, '{');
    json_begin(json, "resourceMetrics", '[');
    json_begin(json, NULL, '{');
    json_begin(json, "resource", '{');
    json_begin(json, "attributes", '[');
    for (size_t i = 0; i < resource_count; i++)
        add_attribute(json, resource[i].name, resource[i].value);
    json_end(json);
    json_end(json);
    json_begin(json, "scopeMetrics", '[');
    json_begin(json, NULL, '{');
    json_begin(json, "scope", '{');
    json_add_text(json, "name", "spoor");
    json_add_text(json, "version", SPOOR_VERSION);
    json_end(json);
    json_begin(json, "metrics", '[');
    add_metrics(&otlp, METRIC_COUNT, false);
    add_metrics(&otlp, GPU_MEASURE_COUNT, true);
    for (int i = 0; i < 6; i++) /* closes all objects and lists */
        json_end(json);
}
