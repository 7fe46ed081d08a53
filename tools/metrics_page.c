/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_page.c - writes docs/METRICS.md from the tables of metrics and figures.
 *
 *     metrics_page FILE           writes the page
 *     metrics_page --check FILE   fails where FILE is not that page
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/gpu/gpu_measure.h"
#include "sample/metric.h"
#include "series/figure.h"
#include "text/buffer.h"

static const char introduction[] =
    "# Metrics and figures\n"
    "\n"
    "This page is generated from the tables in `src/sample/metric.c` and\n"
    "`src/series/figure.c`: run `ninja -C build docs-metrics`, do not edit it.\n"
    "[MEASURING.md](MEASURING.md) says what the numbers include, miss and cost.\n"
    "\n"
    "A **sample** holds the metrics below; `--samples FILE` writes a row of them at every\n"
    "interval. A **report** holds the figures, which are made from the metrics of a run or\n"
    "phase. What is not known is an empty cell in CSV, `null` in JSON and `n/a` in text.\n"
    "\n"
    "*main* is the job's first process, *descendants* is all that it started, *job* is both,\n"
    "*host* is the machine. Bytes are bytes, seconds are seconds, cores are seconds of CPU\n"
    "time per second.\n";

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
        out, "\nCSV begins with `timestamp` (seconds since 1970, UTC) and\n"
             "`elapsed_seconds`. A counter only grows; its rate is the growth since the\n"
             "sample before, per second.\n");
}

static void write_gpu_measures(struct buffer *out)
{
    buffer_add_text(
        out, "\n## Of each GPU\n"
             "\nFor each GPU that is the job's, N its number as `--gpus` has it, `0_1` for the "
             "part `0:1`: in\nCSV columns; in JSON lines an array `gpus` of objects with "
             "`index` and `part` (null: the whole\nGPU), the same names without `gpuN_`. "
             "CSV's header waits up to a second for the drivers to\ntell of their GPUs.\n"
             "\n| name | meaning |\n|---|---|\n");
    for (int i = 0; i < GPU_MEASURE_COUNT; i++) {
        const struct gpu_measure_row *row = gpu_measure_row((enum gpu_measure)i);

        buffer_format(out, "| `gpuN_%s` | %s |\n", row->name, row->help);
    }
}

static void write_figures(struct buffer *out)
{
    buffer_add_text(out, "\n## Figures of a report\n"
                         "\nThe path is the place in the JSON report; in CSV its dots are "
                         "underscores.\n"
                         "A peak is raised to the kernel's own high-water mark where that "
                         "rose above the samples.\n"
                         "\n| figure | made from | how |\n|---|---|---|\n");
    for (size_t i = 0; i < figure_count(); i++) {
        enum metric metric = figure_metric(i);

        buffer_format(out, "| `%s` | ", figure_path(i));
        if (metric != METRIC_NONE)
            buffer_format(out, "`%s` ", metric_row(metric)->published.name);
        buffer_format(out, "| %s |\n", figure_derivation(i));
    }
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
