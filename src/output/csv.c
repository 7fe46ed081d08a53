/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - the report as one row, and the samples as a row each.
 *
 * RFC 4180, but for the ends of lines, which are "\n". A value that is not known is
 * an empty cell. Both tables have all their columns always, so rows of different
 * runs fit under one header.
 */
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "output/format.h"
#include "output/measure.h"
#include "output/stream.h"
#include "record/field.h"
#include "series/figure.h"
#include "text/escape.h"
#include "text/number.h"

static void add_text(const char *text, struct buffer *out)
{
    if (text)
        escape_csv(text, out);
}

static void add_command(const char *const *command, struct buffer *out)
{
    struct buffer text = { 0 };

    escape_command(command, &text);
    if (buffer_error(&text) == 0 && text.length > 0)
        escape_csv_quote(text.text, out);
    buffer_done(&text);
}

static void add_field(const struct field *field, const struct record *record,
                      struct buffer *out)
{
    const void *at = field_at(field, record);

    switch (field->kind) {
    case FIELD_TEXT:
        add_text(*(const char *const *)at, out);
        break;
    case FIELD_COUNT:
        if (is_known(*(const uint64_t *)at))
            number_write_u64(*(const uint64_t *)at, out);
        break;
    case FIELD_NUMBER:
        number_write(*(const double *)at, out);
        break;
    case FIELD_DATE:
        buffer_add_text(out, clock_format(*(const double *)at).text);
        break;
    case FIELD_TEXTS:
        add_command(*(const char *const *const *)at, out);
        break;
    case FIELD_FLAG:
    case FIELD_IF_TRUE:
    case FIELD_TAGS:
        break; /* no column */
    }
}

/* The columns of the run, and what they are called. */
static const struct {
    const char *name, *path;
} run_columns[] = {
    { "run_id", "run.id" },
    { "name", "run.name" },
    { "command", "run.command" },
    { "started_at", "run.started_at" },
    { "elapsed_seconds", "run.elapsed_seconds" },
    { "exit_code", "run.exit_code" },
    { "signal", "run.signal" },
    { "samples", "run.samples" },
};

/* A path with its dots as underscores. */
static void add_path(const char *path, struct buffer *out)
{
    for (; *path; path++)
        buffer_add(out, *path == '.' ? "_" : path, 1);
}

static void write_header(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(run_columns); i++)
        buffer_format(out, "%s%s", i > 0 ? "," : "", run_columns[i].name);
    for (size_t i = 0; i < figure_count(); i++) {
        buffer_add(out, ",", 1);
        add_path(figure_path(i), out);
    }
    for (size_t i = 0; i < record_tracker_fields.count; i++) {
        buffer_add(out, ",", 1);
        add_path(record_tracker_fields.rows[i].path, out);
    }
    buffer_add(out, "\n", 1);
}

static void add_run_column(const char *path, const struct record *record, struct buffer *out)
{
    for (size_t i = 0; i < record_run_fields.count; i++) {
        if (strcmp(record_run_fields.rows[i].path, path) == 0)
            add_field(&record_run_fields.rows[i], record, out);
    }
}

void csv_write(const struct record *record, const struct format_style *style,
               struct buffer *out)
{
    if (style->has_header)
        write_header(out);
    for (size_t i = 0; i < ARRAY_SIZE(run_columns); i++) {
        if (i > 0)
            buffer_add(out, ",", 1);
        add_run_column(run_columns[i].path, record, out);
    }
    for (size_t i = 0; i < figure_count(); i++) {
        buffer_add(out, ",", 1);
        number_write(record->figures[i].value, out);
    }
    for (size_t i = 0; i < record_tracker_fields.count; i++) {
        buffer_add(out, ",", 1);
        add_field(&record_tracker_fields.rows[i], record, out);
    }
    buffer_add(out, "\n", 1);
}

static void add_gpu_names(struct gpu_place place, struct buffer *out)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        buffer_format(out, ",gpu%s_%s", gpu_place_text(place, '_').text,
                      gpu_measure_row((enum gpu_measure)i)->name);
}

void csv_stream_begin(const struct stream_gpus *gpus, struct buffer *out)
{
    buffer_add_text(out, "timestamp,elapsed_seconds");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct spoor_metric *metric = &metric_row((enum metric)i)->published;

        buffer_add(out, ",", 1);
        buffer_add_text(out, metric->name);
        if (metric->rate) {
            buffer_add(out, ",", 1);
            buffer_add_text(out, metric->rate);
        }
    }
    for (size_t i = 0; i < gpus->count; i++)
        add_gpu_names(gpus->places[i], out);
    buffer_add(out, "\n", 1);
}

static void add_gpu(const struct gpu_device_view *device, struct buffer *out)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        buffer_add(out, ",", 1);
        if (device)
            number_write(gpu_measure_value((enum gpu_measure)i, device->value[i]), out);
    }
}

void csv_stream_row(const struct stream_row *row, struct buffer *out)
{
    const struct sample *sample = row->sample;

    number_write_seconds(sample->realtime_ns, 3, out);
    buffer_add(out, ",", 1);
    number_write_seconds(sample->elapsed_ns, 0, out);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        buffer_add(out, ",", 1);
        metric_write((enum metric)i, sample->value[i], out);
        if (metric_row((enum metric)i)->published.rate) {
            buffer_add(out, ",", 1);
            number_write(stream_rate((enum metric)i, sample, row->previous), out);
        }
    }
    for (size_t i = 0; row->of_gpus && i < row->of_gpus->count; i++)
        add_gpu(stream_gpu(row->gpu, row->of_gpus->places[i]), out);
    buffer_add(out, "\n", 1);
}
