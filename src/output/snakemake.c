/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snakemake.c - a run as a row of a benchmark table of Snakemake.
 *
 * The tables of versions 7, 8 and 9 differ in one cell: since 9.13.5, `s` has two decimals instead of four.
 */
#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"
#include "output/format.h"

#define MIB 1048576.0

/* spoor does not measure virtual memory. */
static const struct {
    const char *name, *path; /* NULL: not measured */
    double unit;
} columns[] = {
    { "max_rss", "memory.combined.total_rss_bytes", MIB },
    { "max_vms", NULL, MIB },
    { "max_uss", "memory.combined.private_rss_bytes", MIB },
    { "max_pss", "memory.combined.pss_bytes", MIB },
    { "io_in", "io.read_bytes", MIB },
    { "io_out", "io.written_bytes", MIB },
    { "mean_load", "cpu.mean_cores", 0.01 }, /* in percent of a core */
    { "cpu_time", "cpu.total_seconds", 1 },
};

void snakemake_header(struct buffer *out)
{
    buffer_add_text(out, "s\th:m:s");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        buffer_format(out, "\t%s", columns[i].name);
    buffer_add_text(out, "\n");
}

/* Adds a time as Snakemake prints it: "1 day, 2:03:04". */
static void add_clock(double elapsed_seconds, struct buffer *out)
{
    uint64_t seconds = (uint64_t)fmin(fmax(elapsed_seconds, 0), 0x1p53);
    uint64_t days = seconds / 86400;

    if (days > 0)
        buffer_format(out, "%" PRIu64 " day%s, ", days, days == 1 ? "" : "s");
    buffer_format(out, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds % 86400 / 3600,
                  seconds % 3600 / 60, seconds % 60);
}

/* Snakemake writes "NA" for unknown values. pandas and R read it as NaN, but "-" as text. */
static void write_row(const struct record *record, const struct format_style *style,
                      int decimals, struct buffer *out)
{
    if (style->has_header)
        snakemake_header(out);
    buffer_format(out, "%.*f\t", decimals, record->elapsed_seconds);
    add_clock(record->elapsed_seconds, out);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        double value = columns[i].path ? record_value(record, columns[i].path) : (double)NAN;

        if (isnan(value))
            buffer_add_text(out, "\tNA");
        else
            buffer_format(out, "\t%.2f", value / columns[i].unit);
    }
    buffer_add_text(out, "\n");
}

void snakemake_write(const struct record *record, const struct format_style *style,
                     struct buffer *out)
{
    write_row(record, style, 4, out);
}

void snakemake_9_write(const struct record *record, const struct format_style *style,
                       struct buffer *out)
{
    write_row(record, style, 2, out);
}
