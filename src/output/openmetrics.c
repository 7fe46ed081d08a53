/* SPDX-License-Identifier: Apache-2.0 */
/* openmetrics.c - OpenMetrics and the text format of Prometheus: samples, and the figures of reports. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "output/export.h"
#include "output/format.h"
#include "series/figure.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- samples ------------------------------------------------------------ */

struct export_sample export_sample_of(const struct spoor_sample *sample)
{
    struct export_sample ret = {
        .unix_seconds = sample->unix_seconds,
        .elapsed_seconds = sample->elapsed_seconds,
        .cpu_limit = sample->cpu_limit,
        .memory_limit_bytes = sample->memory_limit_bytes,
    };

    memcpy(ret.values, sample->values, sizeof(ret.values));
    for (size_t i = 0; i < sample->gpu_count && i < EXPORT_GPUS_MAX; i++) {
        const struct spoor_gpu_sample *from = &sample->gpus[i];
        struct export_gpu *gpu = &ret.gpus[ret.gpu_count++];

        gpu->index = from->index;
        gpu->part = from->part;
        memcpy(gpu->uuid, from->uuid, strnlen(from->uuid, sizeof(gpu->uuid) - 1));
        for (int j = 0; j < GPU_MEASURE_COUNT; j++)
            memcpy(&gpu->values[j],
                   (const char *)from + gpu_measure_row((enum gpu_measure)j)->sample_offset,
                   sizeof(gpu->values[j]));
    }
    return ret;
}

/* Counters that may fall keep the earlier value if it is higher. fmax() ignores NaN. */
void export_sample_follow(struct export_sample *sample, const struct export_sample *later)
{
    struct export_sample before = *sample;

    *sample = *later;
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (metric_row((enum metric)i)->may_fall)
            sample->values[i] = fmax(sample->values[i], before.values[i]);
    }
}

void export_sample_fold(struct export_sample *sample, const struct export_sample *later)
{
    struct export_sample before = *sample;

    export_sample_follow(sample, later);
    for (int i = 0; i < METRIC_HOST_CPU; i++) {
        if (metric_row((enum metric)i)->published.kind == SPOOR_GAUGE)
            sample->values[i] = fmax(sample->values[i], before.values[i]);
    }
    for (size_t i = 0; i < sample->gpu_count && i < before.gpu_count; i++) {
        double *values = sample->gpus[i].values;

        for (int j = GPU_MEMORY; j <= GPU_JOB_UTILIZATION; j++)
            values[j] = fmax(values[j], before.gpus[i].values[j]);
    }
}

/* ---- writing ------------------------------------------------------------ */

struct writer {
    struct buffer *out;
    enum exposition how;
    double unix_seconds;
};

bool export_is_label_name(const char *name)
{
    const char *c = name;

    while (isalnum((unsigned char)*c) || *c == '_')
        c++;
    return c != name && *c == '\0' && !isdigit((unsigned char)*name) &&
           strncmp(name, "__", 2) != 0;
}

/* The value is not trusted: invalid bytes and characters that hide others become U+FFFD. */
void export_add_label(const char *name, const char *value, struct buffer *labels)
{
    buffer_format(labels, "%s%s=\"", labels->length > 0 ? "," : "", name);
    while (*value) {
        uint32_t character;
        int length = utf8_decode(value, &character);

        if (length > 0 && strchr("\\\"", *value))
            buffer_format(labels, "\\%c", *value);
        else if (length > 0 && *value == '\n')
            buffer_add_text(labels, "\\n");
        else if (length > 0 && !utf8_is_unsafe(character))
            buffer_add(labels, value, (size_t)length);
        else
            buffer_add_text(labels, "\xef\xbf\xbd");
        value += length > 0 ? length : 1;
    }
    buffer_add_text(labels, "\"");
}

/* The values of one metric. */
struct family {
    const char *prefix, *name, *help;
    bool is_counter, has_begun;
};

static void begin_family(const struct writer *writer, struct family family)
{
    struct name_unit unit = name_unit(family.name);
    bool is_open = writer->how == EXPOSE_OPENMETRICS;
    const char *suffix = family.is_counter && !is_open ? "_total" : "";

    if (writer->how == EXPOSE_TIMED)
        return;
    buffer_format(writer->out, "# TYPE %s%s%s %s\n", family.prefix, family.name, suffix,
                  family.is_counter ? "counter" : "gauge");
    if (is_open && unit.suffix)
        buffer_format(writer->out, "# UNIT %s%s %s\n", family.prefix, family.name, unit.suffix);
    buffer_format(writer->out, "# HELP %s%s%s %s\n", family.prefix, family.name, suffix,
                  family.help);
}

/* Adds a known value, after the description of its family if it is the first. */
static void add_value(const struct writer *writer, struct family *family, const char *labels,
                      double value)
{
    const char *prefix = family->prefix, *name = family->name;

    if (isnan(value))
        return;
    if (!family->has_begun)
        begin_family(writer, *family);
    family->has_begun = true;
    buffer_format(writer->out, "%s%s%s{%s} ", prefix, name, family->is_counter ? "_total" : "",
                  labels);
    number_write(value, writer->out);
    if (writer->how == EXPOSE_TIMED)
        buffer_format(writer->out, " %.0f", writer->unix_seconds * 1e3);
    buffer_add_text(writer->out, "\n");
}

static void add_gpu_labels(const char *labels, unsigned index, int part, const char *uuid,
                           struct buffer *out)
{
    buffer_add_text(out, labels);
    export_add_label("gpu", gpu_place_text((struct gpu_place){ index, part }, ':').text, out);
    export_add_label("uuid", uuid, out);
}

static void add_gpu_measure(const struct writer *writer, const struct export_sample *sample,
                            const char *labels, enum gpu_measure measure)
{
    const struct gpu_measure_row *row = gpu_measure_row(measure);
    struct family family = { EXPORT_GPU_PREFIX, row->name, row->help, row->is_counter, false };

    for (size_t i = 0; i < sample->gpu_count; i++) {
        const struct export_gpu *gpu = &sample->gpus[i];
        CLEANUP(buffer_done) struct buffer all = { 0 };

        add_gpu_labels(labels, gpu->index, gpu->part, gpu->uuid, &all);
        if (buffer_error(&all) == 0)
            add_value(writer, &family, all.text, gpu->values[measure]);
    }
}

void export_write(const struct export_sample *sample, const char *labels, enum exposition how,
                  struct buffer *out)
{
    struct writer writer = { out, how, sample->unix_seconds };
    const struct {
        const char *name, *help;
        double value;
    } facts[] = {
        { "run_elapsed_seconds", "time since the run began", sample->elapsed_seconds },
        { "job_cpu_limit_cores", "CPUs that the job may use", sample->cpu_limit },
        { "job_memory_limit_bytes", "memory that the job may use", sample->memory_limit_bytes },
    };

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        add_value(&writer,
                  &(struct family){ EXPORT_PREFIX, facts[i].name, facts[i].help, false, false },
                  labels, facts[i].value);
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = metric_row((enum metric)i);
        struct family family = { EXPORT_PREFIX, row->published.name, row->published.help,
                                 row->published.kind == SPOOR_COUNTER, false };

        if (row->otel)
            add_value(&writer, &family, labels, sample->values[i]);
    }
    for (int i = 0; i < GPU_MEASURE_COUNT; i++)
        add_gpu_measure(&writer, sample, labels, (enum gpu_measure)i);
    if (how == EXPOSE_OPENMETRICS)
        buffer_add_text(out, "# EOF\n");
}

/* ---- reports ------------------------------------------------------------ */

#define RUN_PREFIX EXPORT_PREFIX "run_"

static void label_run(const struct record *record, struct buffer *out)
{
    const struct export_label labels[] = { { "run_id", record->id },
                                           { "name", record->name },
                                           { "host", record->host },
                                           { "user", record->user } };

    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        if (labels[i].value && *labels[i].value)
            export_add_label(labels[i].name, labels[i].value, out);
    }
}

struct runs {
    const struct record *records;
    size_t count;
    struct writer writer;
};

/* A path of the JSON report as the name of a metric. A final ".count" is dropped: OpenMetrics
 * reserves "_count" for histograms. */
struct path_name {
    char text[128];
};

static struct path_name name_of(const char *path)
{
    struct path_name name;
    size_t length = strlen(path) - (path_has_suffix(path, ".count") ? strlen(".count") : 0);

    (void)snprintf(name.text, sizeof(name.text), "%.*s", (int)length, path); /* fits */
    for (char *c = name.text; *c; c++)
        *c = *c == '.' ? '_' : *c;
    return name;
}

/* Returns a number of a run, from row `index` of a table. NaN: unknown. */
typedef double read_number(const struct record *record, size_t index);

static void add_runs(const struct runs *runs, const char *path, const char *help,
                     read_number *read, size_t index)
{
    struct path_name name = name_of(path);
    struct family family = { RUN_PREFIX, name.text, help, false, false };

    for (size_t i = 0; i < runs->count; i++) {
        CLEANUP(buffer_done) struct buffer labels = { 0 };

        label_run(&runs->records[i], &labels);
        add_value(&runs->writer, &family, buffer_text(&labels), read(&runs->records[i], index));
    }
}

static double read_fact(const struct record *record, size_t index)
{
    const double facts[] = { record->started_at, record->ended_at, record->elapsed_seconds,
                             as_number(record->exit_code) };

    return facts[index];
}

static double read_figure(const struct record *record, size_t index)
{
    return record->figures ? record->figures[index].value : (double)NAN;
}

static double read_system_figure(const struct record *record, size_t index)
{
    return record->system ? record->system->figures[index].value : (double)NAN;
}

static void add_gpus(const struct runs *runs, enum record_gpu_measure measure)
{
    struct path_name name = name_of(record_gpu_path(measure));
    struct family family = { RUN_PREFIX "gpu_device_", name.text,
                             "a figure of a GPU of the run", false, false };

    for (size_t i = 0; i < runs->count; i++) {
        const struct record *record = &runs->records[i];

        for (size_t j = 0; j < record->gpu_count; j++) {
            const struct record_gpu *gpu = &record->gpus[j];
            CLEANUP(buffer_done) struct buffer run = { 0 }, labels = { 0 };

            if (!gpu->is_selected)
                continue;
            label_run(record, &run);
            add_gpu_labels(buffer_text(&run), (unsigned)gpu->index,
                           is_known(gpu->part) ? (int)gpu->part : -1,
                           gpu->uuid ? gpu->uuid : "", &labels);
            add_value(&runs->writer, &family, labels.text, gpu->measures[measure].value);
        }
    }
}

void openmetrics_write_all(const struct record *records, size_t count, struct buffer *out)
{
    static const struct {
        const char *path, *help;
    } facts[] = { { "start_time_seconds", "start of the run, in seconds since 1970" },
                  { "end_time_seconds", "end of the run, in seconds since 1970" },
                  { "elapsed_seconds", "time from the start to the end of the run" },
                  { "exit_code", "exit code of the command" } };
    const struct runs runs = { records, count, { .out = out, .how = EXPOSE_OPENMETRICS } };

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        add_runs(&runs, facts[i].path, facts[i].help, read_fact, i);
    for (size_t i = 0; i < figure_count(); i++) {
        CLEANUP(buffer_done) struct buffer help = { 0 };

        buffer_format(&help, "%s: %s", metric_row(figure_metric(i))->published.help,
                      figure_derivation(i));
        add_runs(&runs, figure_path(i), buffer_text(&help), read_figure, i);
    }
    for (size_t i = 0; i < record_system_figure_count(); i++)
        add_runs(&runs, record_system_figure_path(i), "a figure of the machine",
                 read_system_figure, i);
    for (int i = 0; i < RECORD_GPU_MEASURES; i++)
        add_gpus(&runs, (enum record_gpu_measure)i);
    buffer_add_text(out, "# EOF\n");
}
