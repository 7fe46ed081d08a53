/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "output/dialect.h"
#include "output/format.h"
#include "output/save.h"
#include "series/series.h"
#include "text/csv.h"
#include "text/number.h"

/* ---- measure --------------------------------------------------------------- */

void metric_write(enum metric metric, uint64_t raw, struct buffer *out)
{
    if (!is_known(raw))
        return;
    switch (metric_row(metric)->unit) {
    case UNIT_NANOSECONDS:
        number_write_seconds(raw, 0, out);
        break;
    case UNIT_BYTES:
    case UNIT_COUNT:
        number_write_u64(raw, out);
        break;
    case UNIT_MILLIONTHS:
    case UNIT_MICROJOULES:
        number_write(metric_value(metric, raw), out);
        break;
    }
}

void json_add_metric(struct json_writer *json, const char *key, enum metric metric,
                     uint64_t raw)
{
    if (!is_known(raw)) {
        json_add_null(json, key);
        return;
    }
    json_begin_value(json, key);
    metric_write(metric, raw, json->out);
}

/* ---- our columns ------------------------------------------------------------ */

/* Returns the increase of a counter per second since the previous sample; NaN if it is unknown
 * or there is no previous sample. */
static double stream_rate(enum metric metric, const struct sample *sample,
                          const struct sample *previous)
{
    uint64_t span_ns =
        previous ? sub_floor0(sample_read_ns(sample, metric), sample_read_ns(previous, metric))
                 : 0;

    /* The rate would be noise if rows follow each other faster than the counter ticks. */
    if (span_ns == 0 || 2 * span_ns < sample->clocks[metric_row(metric)->clock].resolution_ns)
        return nan("");
    return counter_rate(metric, previous->value[metric], sample->value[metric], span_ns);
}

static void add_gpu_names(struct gpu_place place, struct csv_writer *csv)
{
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        csv_begin_cell(csv);
        buffer_format(csv->out, "gpu%s_%s", gpu_place_text(place, '_').text,
                      gpu_measure_row((enum gpu_measure)i)->name);
    }
}

static void csv_stream_begin(const struct gpu_columns *gpus, struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    csv_add_text(&csv, "timestamp");
    csv_add_text(&csv, "elapsed_seconds");
    csv_add_text(&csv, "run_id");
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

static void add_gpu_cells(const struct gpu_view *view, struct gpu_place place,
                          struct csv_writer *csv)
{
    double values[GPU_MEASURE_COUNT];

    gpu_columns_read(view, place, values);
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        csv_add_number(csv, values[i]);
}

static void csv_stream_row(const struct stream_row *row, struct buffer *out)
{
    const struct sample *sample = row->sample;
    struct csv_writer csv = { .out = out };

    csv_add_seconds(&csv, sample->realtime_ns, 3);
    csv_add_seconds(&csv, sample->elapsed_ns, 0);
    csv_add_text(&csv, row->run_id);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        csv_begin_cell(&csv);
        metric_write((enum metric)i, sample->value[i], out);
        if (metric_row((enum metric)i)->published.rate)
            csv_add_number(&csv, stream_rate((enum metric)i, sample, row->previous));
    }
    for (size_t i = 0; row->of_gpus && i < row->of_gpus->count; i++)
        add_gpu_cells(row->gpu, row->of_gpus->places[i], &csv);
    csv_end_row(&csv);
}

static void add_gpu(struct json_writer *json, const struct gpu_view *view,
                    struct gpu_place place)
{
    const struct gpu_unit *unit = gpu_view_find(view, place);
    double values[GPU_MEASURE_COUNT];

    gpu_columns_read(view, place, values);
    json_begin_line(json, NULL, '{');
    json_add_u64(json, "index", place.index);
    json_add_u64(json, "part", place.part < 0 ? UNKNOWN : (uint64_t)place.part);
    json_add_text(json, "uuid", unit ? gpu_unit_id(unit) : NULL);
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        json_add_number(json, gpu_measure_row((enum gpu_measure)i)->name, values[i]);
    json_end(json);
}

static void jsonl_stream_row(const struct stream_row *row, struct buffer *out)
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

/* ---- stream ---------------------------------------------------------------- */

struct encoding {
    const char *name; /* also the suffix of file names, after a dot */
    bool is_lines;    /* lines can be appended to a file */
    /* Writes our columns; NULL: the encoding has no header, or no rows, for them. */
    void (*begin)(const struct gpu_columns *gpus, struct buffer *out);
    void (*row)(const struct stream_row *row, struct buffer *out);
    /* Writes the columns of a dialect. */
    void (*dialect_begin)(const struct stream *stream, struct buffer *out);
    void (*dialect_row)(const struct stream *stream, const struct stream_row *row,
                        struct buffer *out);
};

static const struct encoding encodings[] = {
    { "csv", true, csv_stream_begin, csv_stream_row, dialect_csv_header, dialect_csv_row },
    { "jsonl", true, NULL, jsonl_stream_row, NULL, dialect_jsonl_row },
    { "f64", false, NULL, NULL, NULL, dialect_f64_row },
};

/* ---- finding one ------------------------------------------------------------- */

int stream_descriptor(const char *path)
{
    return strcmp(path, "-") == 0 ? STDOUT_FILENO : output_file_descriptor(path);
}

static bool is_named(const struct encoding *encoding, const char *path, const char *format)
{
    char suffix[16];

    if (format)
        return strcmp(format, encoding->name) == 0;
    (void)snprintf(suffix, sizeof(suffix), ".%s", encoding->name); /* fits */
    return path_has_suffix(path, suffix);
}

static const struct encoding *find_encoding(const char *path, const char *format)
{
    if (!format && (stream_descriptor(path) >= 0 || output_file_is_special(path)))
        format = "csv";
    for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
        if (is_named(&encodings[i], path, format))
            return &encodings[i];
    }
    return NULL;
}

static void set_facts(struct stream *stream)
{
    const struct encoding *encoding = stream->encoding;

    stream->names_gpus = !stream->dialect && encoding->begin;
    stream->has_header = stream->names_gpus || (stream->dialect && encoding->dialect_begin);
    if (!stream->dialect)
        return;
    stream->lists_devices =
        stream->dialect->json_row && encoding->dialect_row == dialect_jsonl_row;
    stream->counts_processes =
        dialect_reads(stream->table, offsetof(struct sample, host.process_count));
    stream->reads_host_gpus = dialect_reads(
        stream->table, offsetof(struct sample, moment[METRIC_HOST_GPU_UTILIZATION]));
}

int stream_find(const char *path, const char *dialect, const char *format, bool has_job,
                struct stream *ret, struct spoor_error *err)
{
    struct stream stream = { .encoding = find_encoding(path, format) };
    bool is_ours = !dialect || strcmp(dialect, "spoor") == 0;

    if (!is_ours && !dialect_find(dialect, has_job, &stream.dialect, &stream.table))
        return error_set(err, EINVAL, "unknown dialect '%s': expected " DIALECT_NAMES, dialect);
    if (stream.encoding && is_ours && !stream.encoding->row)
        stream.encoding = NULL;
    if (!stream.encoding && format)
        return error_set(err, EINVAL, "unknown format '%s': expected csv or jsonl", format);
    if (!stream.encoding)
        return error_set(err, EINVAL, "the name must end in .csv or .jsonl");
    set_facts(&stream);
    *ret = stream;
    return 0;
}

/* ---- writing ------------------------------------------------------------------ */

void stream_write_header(const struct stream *stream, const struct gpu_columns *gpus,
                         struct buffer *out)
{
    if (stream->dialect)
        stream->encoding->dialect_begin(stream, out);
    else
        stream->encoding->begin(gpus, out);
}

bool stream_write_row(const struct stream *stream, const struct stream_row *row,
                      struct buffer *out)
{
    if (stream->dialect && !row->previous)
        return false;
    if (stream->dialect)
        stream->encoding->dialect_row(stream, row, out);
    else
        stream->encoding->row(row, out);
    return true;
}

/* ---- tables that are appended to ------------------------------------------- */

static struct gpu_columns find_gpus(const char *header)
{
    struct gpu_columns gpus = { 0 };

    for (const char *at = header; (at = strstr(at, ",gpu")) != NULL;) {
        struct gpu_place place;

        at += strlen(",gpu");
        if (gpu_place_parse(&at, &place) && strncmp(at, "_memory_bytes", 13) == 0 &&
            gpus.count < GPU_COLUMNS_MAX)
            gpus.places[gpus.count++] = place;
    }
    return gpus;
}

int stream_read_header(const struct stream *stream, int fd, struct gpu_columns *ret,
                       struct spoor_error *err)
{
    enum { HEADER_MAX = 1 << 17 };
    AUTO_FREE char *found = calloc(1, HEADER_MAX + 1);
    CLEANUP(buffer_done) struct buffer header = { 0 };
    struct gpu_columns gpus;
    ssize_t n;

    if (!found)
        return error_set(err, ENOMEM, "out of memory");
    n = pread(fd, found, HEADER_MAX - 1, 0);
    if (n < 0)
        return error_sys(err, errno, "cannot be read");
    if (n == 0)
        return 1;
    found[strcspn(found, "\n") + 1] = '\0';
    gpus = find_gpus(found);
    stream_write_header(stream, &gpus, &header);
    if (buffer_error(&header) < 0 || strcmp(found, header.text) != 0)
        return error_set(err, EINVAL, SAVE_OTHER_COLUMNS);
    *ret = gpus;
    return 0;
}

int stream_check(const struct stream *stream, const char *path, enum output_mode mode,
                 struct spoor_error *err)
{
    struct gpu_columns gpus;
    AUTO_CLOSE int fd = -1;
    int r;

    if (stream_descriptor(path) >= 0)
        return output_file_check_descriptor(stream_descriptor(path), err);
    if (output_file_is_special(path))
        return output_file_check_special(path, err);
    if (mode == OUTPUT_APPEND && !stream->encoding->is_lines)
        return error_set(err, EINVAL,
                         "cannot be appended to; name another file or omit --append");
    r = output_file_check(path, mode, err);
    if (r < 0 || mode != OUTPUT_APPEND || !stream->has_header || access(path, F_OK) < 0)
        return r;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_sys(err, errno, "cannot be read");
    r = stream_read_header(stream, fd, &gpus, err);
    return r < 0 ? r : 0;
}
