/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - the report as one row, and the samples as a row each.
 *
 * RFC 4180, but for the ends of lines, which are "\n". A value that is not known is
 * an empty cell. Both tables have all their columns always, so rows of different
 * runs fit under one header.
 */
#include <math.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "output/ending.h"
#include "output/measure.h"
#include "output/output.h"
#include "output/stream.h"
#include "series/figure.h"
#include "text/csv_writer.h"
#include "text/escape.h"

static void add_id(const struct report *report, struct csv_writer *csv)
{
    csv_add_text(csv, report->id);
}

static void add_name(const struct report *report, struct csv_writer *csv)
{
    csv_add_text(csv, report->name);
}

static void add_command(const struct report *report, struct csv_writer *csv)
{
    struct buffer command = { 0 };

    escape_command(report->command, &command);
    csv_begin_cell(csv);
    if (buffer_error(&command) == 0 && command.length > 0)
        escape_csv_quote(command.text, csv->out);
    buffer_done(&command);
}

static void add_started_at(const struct report *report, struct csv_writer *csv)
{
    char text[CLOCK_TEXT_SIZE];

    clock_format(report->summary->started_realtime_ns, text, sizeof(text));
    csv_add_text(csv, report->summary->sample_count > 0 ? text : NULL);
}

static void add_elapsed(const struct report *report, struct csv_writer *csv)
{
    const struct summary *summary = report->summary;

    csv_add_seconds(
        csv, summary->sample_count > 0 ? summary->ended_ns - summary->started_ns : UNKNOWN, 0);
}

static void add_exit_code(const struct report *report, struct csv_writer *csv)
{
    csv_add_u64(csv, ending_get(report).exit_code);
}

static void add_signal(const struct report *report, struct csv_writer *csv)
{
    struct ending ending = ending_get(report);

    csv_add_text(csv, ending.signal_name[0] ? ending.signal_name : NULL);
}

static void add_samples(const struct report *report, struct csv_writer *csv)
{
    csv_add_u64(csv, report->summary->sample_count);
}

static void add_tracker_cpu(const struct report *report, struct csv_writer *csv)
{
    csv_add_seconds(csv, report->tracker_cpu_ns, 0);
}

static void add_tracker_max_rss(const struct report *report, struct csv_writer *csv)
{
    csv_add_u64(csv, report->tracker_max_rss_bytes);
}

static void add_late_samples(const struct report *report, struct csv_writer *csv)
{
    csv_add_u64(csv, report->late_samples);
}

static void add_detail_reads(const struct report *report, struct csv_writer *csv)
{
    csv_add_u64(csv, report->detail_reads);
}

struct column {
    const char *name;
    void (*add)(const struct report *report, struct csv_writer *csv);
};

/* The columns before and after those of the figures. */
static const struct column first_columns[] = {
    { "run_id", add_id },
    { "name", add_name },
    { "command", add_command },
    { "started_at", add_started_at },
    { "elapsed_seconds", add_elapsed },
    { "exit_code", add_exit_code },
    { "signal", add_signal },
    { "samples", add_samples },
};
static const struct column last_columns[] = {
    { "tracker_cpu_seconds", add_tracker_cpu },
    { "tracker_max_rss_bytes", add_tracker_max_rss },
    { "tracker_late_samples", add_late_samples },
    { "tracker_detail_reads", add_detail_reads },
};

/* A path with its dots as underscores. */
static void add_path(const char *path, struct csv_writer *csv)
{
    csv_begin_cell(csv);
    for (; *path; path++)
        buffer_add(csv->out, *path == '.' ? "_" : path, 1);
}

static void write_header(struct csv_writer *csv)
{
    for (size_t i = 0; i < ARRAY_SIZE(first_columns); i++)
        csv_add_text(csv, first_columns[i].name);
    for (size_t i = 0; i < figure_count(); i++)
        add_path(figure_path(i), csv);
    for (size_t i = 0; i < ARRAY_SIZE(last_columns); i++)
        csv_add_text(csv, last_columns[i].name);
    csv_end_row(csv);
}

void csv_write(const struct report *report, bool has_header, struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    if (has_header)
        write_header(&csv);
    for (size_t i = 0; i < ARRAY_SIZE(first_columns); i++)
        first_columns[i].add(report, &csv);
    for (size_t i = 0; i < figure_count(); i++)
        csv_add_number(&csv, figure_get(i, report->summary, report->origins).value);
    for (size_t i = 0; i < ARRAY_SIZE(last_columns); i++)
        last_columns[i].add(report, &csv);
    csv_end_row(&csv);
}

static void add_gpu_names(struct gpu_place place, struct csv_writer *csv)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        csv_begin_cell(csv);
        buffer_format(csv->out, "gpu%s_%s", gpu_place_text(place, '_').text,
                      gpu_measure_row((enum gpu_measure)i)->name);
    }
}

static void begin(const struct stream_gpus *gpus, struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    csv_add_text(&csv, "timestamp");
    csv_add_text(&csv, "elapsed_seconds");
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct spoor_metric *metric = &metric_row((enum metric)i)->published;

        csv_add_text(&csv, metric->name);
        if (metric->rate)
            csv_add_text(&csv, metric->rate);
    }
    for (size_t i = 0; i < gpus->count; i++)
        add_gpu_names(gpus->places[i], &csv);
    csv_end_row(&csv);
}

static void add_gpu(const struct gpu_device_view *device, struct csv_writer *csv)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        csv_add_number(csv, device ? gpu_measure_value((enum gpu_measure)i, device->value[i])
                                   : (double)NAN);
}

static void write_row(const struct stream_row *row, struct buffer *out)
{
    const struct sample *sample = row->sample;
    struct csv_writer csv = { .out = out };

    csv_add_seconds(&csv, sample->realtime_ns, 3);
    csv_add_seconds(&csv, sample->elapsed_ns, 0);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        csv_begin_cell(&csv);
        metric_write((enum metric)i, sample->value[i], out);
        if (metric_row((enum metric)i)->published.rate)
            csv_add_number(&csv, stream_rate((enum metric)i, sample, row->previous));
    }
    for (size_t i = 0; row->of_gpus && i < row->of_gpus->count; i++)
        add_gpu(stream_gpu(row->gpu, row->of_gpus->places[i]), &csv);
    csv_end_row(&csv);
}

const struct stream stream_csv = { ".csv", true, begin, write_row };
