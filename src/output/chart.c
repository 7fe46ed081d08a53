/* SPDX-License-Identifier: Apache-2.0 */
#include "output/chart.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "output/text_layout.h"
#include "text/escape.h"
#include "text/number.h"

/* ---- sparkline ------------------------------------------------------------- */

/* NaN counts as smaller than any number. fmax() does the same, but valgrind emulates it
 * incorrectly on ARM. */
static double larger_known(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static double border(double end, size_t column, size_t columns)
{
    if (column == columns)
        return end; /* avoid a rounding error just below the end */
    return end * (double)column / (double)columns;
}

/* Computes the mean rate in each column of a chart that ends at `end`. */
static void mean_rates(const struct record_curve *curve, const struct curve_column *rate,
                       double end, double *ret_curve, size_t columns)
{
    size_t index = 0;

    for (size_t i = 0; i < columns; i++) {
        double from = border(end, i, columns);
        double until = border(end, i + 1, columns);
        double used = 0, known = 0;

        for (; rate && index < curve->count && curve_start(curve, index) < until; index++) {
            double length = fmax(
                fmin(curve->seconds[index], until) - fmax(curve_start(curve, index), from), 0);

            if (!isnan(rate->mean[index])) {
                used += (double)rate->mean[index] * length;
                known += length;
            }
            if (curve->seconds[index] > until)
                break; /* the rest of the point is in the next column */
        }
        ret_curve[i] = known > 0 ? used / known : (double)NAN;
    }
}

void sparkline_cpu(const struct record *record, double *ret_curve, size_t columns)
{
    mean_rates(&record->curve, curve_find(&record->curve, "job_cpu_seconds"),
               record->elapsed_seconds, ret_curve, columns);
}

void sparkline_memory(const struct record *record, double *ret_curve, size_t columns)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *memory = curve_find(curve, "job_rss_bytes");

    if (memory)
        curve_highest(curve, memory, ret_curve, columns);
    for (size_t i = 0; !memory && i < columns; i++)
        ret_curve[i] = (double)NAN;
}

double sparkline_max(const double *curve, size_t columns)
{
    double max = nan("");

    for (size_t i = 0; i < columns; i++)
        max = larger_known(max, curve[i]);
    return max;
}

void sparkline_write(const double *curve, size_t columns, bool has_unicode, struct buffer *out)
{
    static const char *const heights[][8] = {
        { "_", ".", ",", "-", "~", "=", "*", "#" },
        { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
    };
    const char *const *blocks = heights[has_unicode];
    double max = sparkline_max(curve, columns);

    for (size_t i = 0; i < columns; i++) {
        size_t height = 0;

        if (isnan(curve[i])) {
            buffer_add(out, " ", 1);
            continue;
        }
        if (max > 0)
            height = (size_t)(curve[i] / max * (double)(ARRAY_SIZE(heights[0]) - 1) + 0.5);
        buffer_add_text(out, blocks[height]);
    }
}

/* ---- chart ----------------------------------------------------------------- */

enum {
    CHART_ROWS = 4,
    CHART_LABEL = 10, /* columns of the labels at the left */
    CHART_COLUMNS_MAX = TEXT_COLUMNS_MAX,
};

/* clang-format off */
struct chart_line {
    const char *title;
    const char *column;
    const char *mean, *peak; /* paths of the figures, or NULL */
};

static const struct chart {
    struct chart_line of_job;
    struct chart_line of_host; /* used if the value of the job is unknown */
    enum chart_unit unit;
} charts[] = {
    { { "CPU", "job_cpu_seconds", "cpu.mean_cores", "cpu.max_cores" },
      { "CPU of the machine", "host_cpu_seconds", "cpu.system.mean_cores", "cpu.system.max_cores" }, CHART_CORES },
    { { "Memory", "job_rss_bytes", NULL, "memory.combined.total_rss_bytes" },
      { "Memory of the machine", "host_memory_used_bytes", NULL, "memory.system_peak_bytes" }, CHART_BYTES },
    { { "Disk read", "job_read_bytes", NULL, NULL },
      { "Disks read", "host_disk_read_bytes", NULL, NULL }, CHART_BYTES_PER_SECOND },
    { { "Disk write", "job_written_bytes", NULL, NULL },
      { "Disks written", "host_disk_written_bytes", NULL, NULL }, CHART_BYTES_PER_SECOND },
    { { NULL, NULL, NULL, NULL },
      { "Network received", "host_network_received_bytes", NULL, NULL }, CHART_BYTES_PER_SECOND },
    { { NULL, NULL, NULL, NULL },
      { "Network sent", "host_network_sent_bytes", NULL, NULL }, CHART_BYTES_PER_SECOND },
    { { "GPU", "job_gpu_utilization_gpus", "gpu.job_utilization.mean_gpus", "gpu.job_utilization.max_gpus" },
      { "GPUs of the machine", "host_gpu_utilization_gpus", "gpu.utilization.mean_gpus", "gpu.utilization.max_gpus" }, CHART_GPUS },
    { { "GPU memory", "job_gpu_memory_bytes", NULL, "gpu.memory.combined_bytes" },
      { "GPU memory of the machine", "host_gpu_memory_bytes", NULL, "gpu.memory.system_bytes" }, CHART_BYTES },
};
/* clang-format on */

struct number chart_value(double value, enum chart_unit unit)
{
    static struct number (*const texts[])(double value) = {
        [CHART_CORES] = number_short,           [CHART_BYTES] = number_bytes,
        [CHART_BYTES_PER_SECOND] = number_rate, [CHART_GPUS] = number_short,
        [CHART_COUNT] = number_count,           [CHART_SHARE] = number_percent,
    };

    return texts[unit](value);
}

const char *chart_unit_text(enum chart_unit unit)
{
    return unit == CHART_CORES ? " cores" : unit == CHART_GPUS ? " GPUs" : "";
}

/* ---- drawing ---------------------------------------------------------------- */

/* Returns the character of a cell in a row; rows are 1 high. A value above 0 is visible in
 * the lowest row. */
static const char *block(double height, int row, bool has_unicode)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const ascii[] = { " ", ".", ":", "#" };
    size_t count = has_unicode ? ARRAY_SIZE(blocks) : ARRAY_SIZE(ascii);
    size_t filled = 0;

    if (height - row >= 1)
        filled = count - 1;
    else if (height > row)
        filled = (size_t)((height - row) * (double)(count - 1) + 0.5);
    if (filled == 0 && row == 0 && height > 0)
        filled = 1;
    return has_unicode ? blocks[filled] : ascii[filled];
}

static void draw_row(const double *cells, size_t columns, double max, int row, bool has_unicode,
                     struct buffer *out)
{
    size_t blanks = 0;

    for (size_t i = 0; i < columns; i++) {
        const char *text = block(cells[i] / max * CHART_ROWS, row, has_unicode); /* or NaN */

        if (*text == ' ') {
            blanks++;
            continue;
        }
        for (; blanks > 0; blanks--)
            buffer_add(out, " ", 1);
        buffer_add_text(out, text);
    }
}

static void add_label(const char *label, const char *edge, struct buffer *out)
{
    buffer_format(out, "%*s %s", CHART_LABEL, label, edge);
}

static void draw(const double *cells, size_t columns, double max, enum chart_unit unit,
                 bool has_unicode, struct buffer *out)
{
    for (int row = CHART_ROWS - 1; row >= 0; row--) {
        const char *edge = has_unicode ? (row == CHART_ROWS - 1 ? "┤" : "│") : "|";

        add_label(row == CHART_ROWS - 1 ? chart_value(max, unit).text : "", edge, out);
        draw_row(cells, columns, max, row, has_unicode, out);
        buffer_add(out, "\n", 1);
    }
    add_label("0", has_unicode ? "└" : "+", out);
    for (size_t i = 0; i < columns; i++)
        buffer_add_text(out, has_unicode ? "─" : "-");
    buffer_add(out, "\n", 1);
}

/* Uses the figures of the report, if they are known: points have fewer digits, and their mean might exceed the
 * peak. */
static struct curve_value label_values(const struct chart_line *line,
                                       const struct record *record, struct curve_value value)
{
    double mean = line->mean ? record_value(record, line->mean) : (double)NAN;
    double peak = line->peak ? record_value(record, line->peak) : (double)NAN;

    if (peak > 0)
        value.high = peak;
    if (!isnan(mean))
        value.mean = mean;
    value.mean = fmin(value.mean, value.high);
    return value;
}

static bool write_chart(const struct chart *chart, const struct record *record,
                        struct page *page, size_t columns)
{
    const struct record_curve *curve = &record->curve;
    const struct chart_line *line = &chart->of_job;
    const struct curve_column *column = line->column ? curve_find(curve, line->column) : NULL;
    struct curve_value value;
    double cells[CHART_COLUMNS_MAX];

    if (!column) {
        line = &chart->of_host;
        column = curve_find(curve, line->column);
    }
    if (!column)
        return false;
    value = curve_get(curve, column, 0, curve->count);
    if (!(value.high > 0))
        return false;
    value = label_values(line, record, value);
    if (column->is_rate) /* the maximum of a long point may have lasted only a moment */
        mean_rates(curve, column, curve->seconds[curve->count - 1], cells, columns);
    else
        curve_highest(curve, column, cells, columns);
    page_blank(page);
    page_add(page, PAGE_BOLD, line->title);
    buffer_format(page->out, "  %s%s on average, %s at peak\n",
                  chart_value(value.mean, chart->unit).text, chart_unit_text(chart->unit),
                  chart_value(value.high, chart->unit).text);
    draw(cells, columns, value.high, chart->unit, page->has_unicode, page->out);
    return true;
}

/* Writes the start, the middle and the end of the run, below all charts. */
static void write_axis(double end, size_t columns, struct page *page)
{
    struct number middle = number_duration(end / 2), last = number_duration(end);
    size_t start = columns / 2 - strlen(middle.text) / 2;

    add_label("", " ", page->out);
    buffer_format(page->out, "0%*s%s%*s%s\n", (int)start - 1, "", middle.text,
                  (int)(columns - start - strlen(middle.text) - strlen(last.text)), "",
                  last.text);
}

static void write_headline(const struct record *record, struct page *page)
{
    struct buffer text = { 0 };

    if (record->name)
        page_escape(page, record->name, &text);
    if (record->name && record->command && record->command[0])
        buffer_add_text(&text, ": ");
    escape_command(record->command, &text);
    page_headline(page, &text);
}

void chart_write(const struct record *record, const struct format_style *style,
                 struct buffer *out)
{
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    size_t columns = style->columns - CHART_LABEL - 2;
    bool has_charts = false;

    write_headline(record, &page);
    for (size_t i = 0; record->curve.count > 1 && i < ARRAY_SIZE(charts); i++)
        has_charts |= write_chart(&charts[i], record, &page, columns);
    if (has_charts)
        write_axis(record->curve.seconds[record->curve.count - 1], columns, &page);
    else
        buffer_add_text(
            out, "\nno curve: the run was too short, or its report is of an older version\n");
}
