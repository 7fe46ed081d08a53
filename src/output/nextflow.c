/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nextflow.c - a run as Nextflow's .command.trace, version 2: lines "name=value" of whole numbers.
 *
 * Unknown values are left out: Nextflow shows "-" for them, and would read any text as 0.
 */
#include <math.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "output/format.h"
#include "text/escape.h"

static const struct {
    const char *name, *path;
    double unit;
} lines[] = {
    { "%cpu", "cpu.mean_cores", 0.001 }, /* in tenths of a percent */
    { "rchar", "io.read_chars", 1 },
    { "wchar", "io.written_chars", 1 },
    { "read_bytes", "io.read_bytes", 1 },
    { "write_bytes", "io.written_bytes", 1 },
    { "rss", "memory.combined.total_rss_bytes", 1024 }, /* Nextflow's own rss is a peak, too */
    { "peak_rss", "memory.combined.total_rss_bytes", 1024 },
    { "vol_ctxt", "cpu.context_switches.voluntary", 1 },
    { "inv_ctxt", "cpu.context_switches.involuntary", 1 },
};

static void add_line(const char *name, double value, struct buffer *out)
{
    if (isfinite(value))
        buffer_format(out, "%s=%.0f\n", name, value);
}

void nextflow_write(const struct record *record, UNUSED const struct format_style *style,
                    struct buffer *out)
{
    double rss = record_value(record, "memory.combined.total_rss_bytes");

    buffer_add_text(out, "nextflow.trace/v2\n");
    add_line("realtime", record->elapsed_seconds * 1e3, out);
    if (record->cpu_model) {
        buffer_add_text(out, "cpu_model=");
        escape_unsafe(record->cpu_model, out);
        buffer_add_text(out, "\n");
    }
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        add_line(lines[i].name, record_value(record, lines[i].path) / lines[i].unit, out);
    add_line("%mem", rss / as_number(record->memory_bytes) * 1e3, out);
}
