/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - the report as one row, and the samples as a row each.
 *
 * RFC 4180, but for the ends of lines, which are "\n". A value that is not known is
 * an empty cell. Both tables have all their columns always, so rows of different
 * runs fit under one header.
 */
#include "output/measure.h"
#include "output/stream.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "output/ending.h"
#include "output/output.h"
#include "series/figure.h"
#include "text/escape.h"
#include "text/number.h"

static void add_id(const struct report *report, struct buffer *out)
{
    escape_csv(report->id, out);
}

static void add_name(const struct report *report, struct buffer *out)
{
    if (report->name)
        escape_csv(report->name, out);
}

static void add_command(const struct report *report, struct buffer *out)
{
    struct buffer command = { 0 };

    escape_command(report->command, &command);
    if (buffer_error(&command) == 0 && command.length > 0)
        escape_csv_quote(command.text, out);
    buffer_done(&command);
}

static void add_started_at(const struct report *report, struct buffer *out)
{
    char text[CLOCK_TEXT_SIZE];

    if (report->summary->sample_count == 0)
        return;
    clock_format(report->summary->started_realtime_ns, text, sizeof(text));
    buffer_add_text(out, text);
}

static void add_elapsed(const struct report *report, struct buffer *out)
{
    const struct summary *summary = report->summary;

    if (summary->sample_count > 0)
        number_write_seconds(summary->ended_ns - summary->started_ns, 0, out);
}

static void add_u64(uint64_t value, struct buffer *out)
{
    if (is_known(value))
        number_write_u64(value, out);
}

static void add_exit_code(const struct report *report, struct buffer *out)
{
    add_u64(ending_get(report).exit_code, out);
}

static void add_signal(const struct report *report, struct buffer *out)
{
    struct ending ending = ending_get(report);

    buffer_add_text(out, ending.signal_name);
}

static void add_samples(const struct report *report, struct buffer *out)
{
    number_write_u64(report->summary->sample_count, out);
}

static void add_tracker_cpu(const struct report *report, struct buffer *out)
{
    if (is_known(report->tracker_cpu_ns))
        number_write_seconds(report->tracker_cpu_ns, 0, out);
}

static void add_tracker_max_rss(const struct report *report, struct buffer *out)
{
    add_u64(report->tracker_max_rss_bytes, out);
}

static void add_late_samples(const struct report *report, struct buffer *out)
{
    add_u64(report->late_samples, out);
}

static void add_detail_reads(const struct report *report, struct buffer *out)
{
    add_u64(report->detail_reads, out);
}

struct column {
    const char *name;
    void (*add)(const struct report *report, struct buffer *out);
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
static void add_path(const char *path, struct buffer *out)
{
    for (; *path; path++)
        buffer_add(out, *path == '.' ? "_" : path, 1);
}

static void write_header(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(first_columns); i++) {
        buffer_add_text(out, first_columns[i].name);
        buffer_add(out, ",", 1);
    }
    for (size_t i = 0; i < figure_count(); i++) {
        add_path(figure_path(i), out);
        buffer_add(out, ",", 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(last_columns); i++) {
        if (i > 0)
            buffer_add(out, ",", 1);
        buffer_add_text(out, last_columns[i].name);
    }
    buffer_add(out, "\n", 1);
}

void csv_write(const struct report *report, bool has_header, struct buffer *out)
{
    if (has_header)
        write_header(out);
    for (size_t i = 0; i < ARRAY_SIZE(first_columns); i++) {
        first_columns[i].add(report, out);
        buffer_add(out, ",", 1);
    }
    for (size_t i = 0; i < figure_count(); i++) {
        number_write(figure_get(i, report->summary, report->origins).value, out);
        buffer_add(out, ",", 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(last_columns); i++) {
        if (i > 0)
            buffer_add(out, ",", 1);
        last_columns[i].add(report, out);
    }
    buffer_add(out, "\n", 1);
}

static void add_gpu_names(struct gpu_place place, struct buffer *out)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        buffer_format(out, ",gpu%s_%s", gpu_place_text(place, '_').text,
                      gpu_measure_row((enum gpu_measure)i)->name);
}

static void begin(const struct stream_gpus *gpus, struct buffer *out)
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

static void write_row(const struct stream_row *row, struct buffer *out)
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

const struct stream stream_csv = { ".csv", true, begin, write_row };
