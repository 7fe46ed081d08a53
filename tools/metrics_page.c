/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_page.c - writes docs/METRICS.md from the tables of metrics and figures.
 *
 *     metrics_page FILE           writes the page
 *     metrics_page --check FILE   fails if FILE differs from the page
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/gpu/gpu_view.h"
#include "record/record.h"
#include "sample/metric.h"
#include "series/figure.h"
#include "series/series.h"
#include "text/buffer.h"

static const char introduction[] =
    "# Metrics and figures\n"
    "\n"
    "This page is generated from the tables in `src/sample/metric.c` and\n"
    "`src/series/figure.c`: run `ninja -C build docs-metrics`, do not edit it.\n"
    "[MEASURING.md](MEASURING.md) explains what each number includes, misses and costs.\n"
    "\n"
    "A **sample** holds the metrics below; `--samples FILE` writes one row of them for\n"
    "each. A **report** holds the figures, which are derived from the metrics of a run or\n"
    "a phase. An unknown value is an empty cell in CSV, `null` in JSON and `n/a` in text.\n"
    "\n"
    "*main* is the first process of the job, *descendants* are all processes it started, "
    "*job*\n"
    "is both together, *host* is the machine. Units are bytes and seconds; cores are seconds "
    "of\n"
    "CPU time per second.\n";

static void write_metrics(struct buffer *out)
{
    buffer_add_text(out, "\n## Metrics of a sample\n"
                         "\n| metric | kind | rate column | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < spoor_metric_count(); i++) {
        const struct spoor_metric *metric = spoor_metric_get(i);

        buffer_format(out, "| `%s` | %s | ", metric->name,
                      metric->kind == SPOOR_COUNTER ? "counter" : "gauge");
        if (metric->rate)
            buffer_format(out, "`%s` ", metric->rate);
        buffer_format(out, "| %s |\n", metric->help);
    }
    buffer_add_text(
        out,
        "\nA row begins with `timestamp` (seconds since 1970, UTC), `elapsed_seconds` and\n"
        "`run_id`, the `run.id` of the report: several runs may append to one file at the "
        "same\n"
        "time. The rate of a counter is its increase per second since the previous sample. A\n"
        "counter does not decrease, with one exception: started processes, major page faults "
        "and\n"
        "bytes read and written are corrected if some turn out not to be the job's, or counted "
        "twice.\n");
}

static void write_gpu_measures(struct buffer *out)
{
    buffer_add_text(
        out, "\n## Metrics of each GPU\n"
             "\nA sample also holds these values for each GPU assigned to the job. In CSV they "
             "are columns,\nwhere N is the number of the GPU as in `--gpus`, or `0_1` for the "
             "part `0:1`. In JSON lines they\nare an array `gpus` of objects with `index`, "
             "`part` (null for a whole GPU), `uuid` and the same names\nwithout `gpuN_`. The "
             "CSV header "
             "is delayed by up to a second until the drivers have reported\ntheir GPUs.\n"
             "\n| name | meaning |\n|---|---|\n");
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        const struct gpu_measure_row *row = gpu_measure_row((enum gpu_measure)i);

        buffer_format(out, "| `gpuN_%s` | %s |\n", row->name, row->help);
    }
}

static void write_exported(struct buffer *out, const char *prefix, const char *name,
                           bool is_counter, const char *otel, const char *attribute)
{
    buffer_format(out, "- `%s%s%s` (%s), `%s`", prefix, name, is_counter ? "_total" : "",
                  is_counter ? "counter" : "gauge", otel);
    if (attribute)
        buffer_format(out, " with `%s`", attribute);
    buffer_format(out, " in `%s`\n", name_unit(name).otel);
}

/* Writes a list, for the reason given below. */
static void write_exports(struct buffer *out)
{
    buffer_add_text(
        out,
        "\n## Names in OpenMetrics and OpenTelemetry\n"
        "\n`--listen`, `--metrics` and `--push` write the metrics of a sample under their "
        "OpenMetrics\nnames, and `--otlp` under their OpenTelemetry names, with the "
        "conventions "
        "of "
        "`process`, `system` and `hw`\nwhere these have one; *main* is the process then. Help "
        "texts are those above. A metric that is\nnot in this list is not exported. "
        "[PROMETHEUS.md](PROMETHEUS.md) describes the labels.\n\n");
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = metric_row((enum metric)i);

        if (row->otel)
            write_exported(out, EXPORT_PREFIX, row->published.name,
                           row->published.kind == SPOOR_COUNTER, row->otel, row->attribute);
    }
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        const struct gpu_measure_row *row = gpu_measure_row((enum gpu_measure)i);

        write_exported(out, EXPORT_GPU_PREFIX, row->name, row->is_counter, row->otel,
                       row->attribute);
    }
}

static void write_figures(struct buffer *out)
{
    buffer_add_text(out, "\n## Figures of a report\n"
                         "\nThe name is the path in the JSON report; in CSV the dots are "
                         "underscores.\n"
                         "A peak is raised to the kernel's own high-water mark if that is "
                         "higher than the samples.\n"
                         "\n| figure | derived from | how |\n|---|---|---|\n");
    for (size_t i = 0; i < figure_count(); i++) {
        enum metric metric = figure_metric(i);

        buffer_format(out, "| `%s` | ", figure_path(i));
        if (metric != METRIC_NONE)
            buffer_format(out, "`%s` ", metric_row(metric)->published.name);
        buffer_format(out, "| %s |\n", figure_derivation(i));
    }
}

static void write_system_figures(struct buffer *out)
{
    buffer_add_text(out, "\n## Figures of the machine\n"
                         "\nA report without a job (`spoor system`) has these too; the figures "
                         "above that concern a job\nare then null. They are not in CSV.\n"
                         "\n| figure | derived from | how |\n|---|---|---|\n");
    for (size_t i = 0; i < record_system_figure_count(); i++) {
        enum metric metric = record_system_figure_metric(i);

        buffer_format(out, "| `%s` | ", record_system_figure_path(i));
        if (metric != METRIC_NONE)
            buffer_format(out, "`%s` ", metric_row(metric)->published.name);
        buffer_format(out, "| %s |\n",
                      record_system_figure_is_rate(i)
                          ? "increase per second, from the first to the last sample"
                          : "value at the last sample");
    }
}

/* Writes a list, not a table: tools/check-docs takes the first cells of tables as names of
 * metrics. */
static void write_curve(struct buffer *out)
{
    buffer_add_text(
        out, "\n## The curve of a report\n"
             "\nA JSON report has a `curve` with these columns, if they are known: a gauge as "
             "it is, a\ncounter as its increase per second (so `job_cpu_seconds` is in "
             "cores). [REPORT.md](REPORT.md)\ndescribes it.\n\n");
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (metric_row((enum metric)i)->is_charted)
            buffer_format(out, "- `%s`\n", metric_row((enum metric)i)->published.name);
    }
    for (size_t i = 0; i < SERIES_GPU_MEASURES; i++)
        buffer_format(out, "- `gpuN_%s`\n", gpu_measure_row(series_gpu_measure(i))->name);
}

static int write_page(const struct buffer *page, const char *path)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    return fd < 0 ? -errno : buffer_write(page, fd);
}

static int check_page(const struct buffer *page, const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char found[65536];
    ssize_t length = fd < 0 ? -1 : read(fd, found, sizeof(found));

    if (length < 0)
        return -errno;
    return (size_t)length == page->length && memcmp(found, page->text, page->length) == 0
               ? 0
               : -ESTALE;
}

int main(int argc, char **argv)
{
    bool is_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    struct buffer page = { 0 };
    int r;

    if (argc != 2 && !is_check) {
        fputs("usage: metrics_page [--check] FILE\n", stderr);
        return 2;
    }
    buffer_add_text(&page, introduction);
    write_metrics(&page);
    write_gpu_measures(&page);
    write_figures(&page);
    write_system_figures(&page);
    write_curve(&page);
    write_exports(&page);
    r = buffer_error(&page);
    if (r == 0)
        r = is_check ? check_page(&page, argv[2]) : write_page(&page, argv[1]);
    buffer_done(&page);
    if (r == -ESTALE)
        fprintf(stderr, "%s is out of date: ninja docs-metrics\n", argv[2]);
    else if (r < 0)
        fprintf(stderr, "metrics_page: %s: %s\n", argv[argc - 1], strerror(-r));
    return r < 0;
}
