/* SPDX-License-Identifier: Apache-2.0 */
#include "front/spoor/live_view.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "output/chart.h"
#include "output/text_layout.h"
#include "text/number.h"
#include "text/utf8.h"

/* A column stands for this long at least, so that a curve shows some minutes. */
#define COLUMN_SECONDS 2.0

/* A line of a row: label, value, curve and the largest value, each padded to its width. */
enum {
    LABEL_WIDTH = 13,
    VALUE_WIDTH = 12,
    CURVE_START = LABEL_WIDTH + VALUE_WIDTH,
    CURVE_MIN = 10,
    MAX_WIDTH = 18
};
enum { FRAME_LINES_MIN = 5 }; /* with fewer there is no headline and no footer */

enum live_unit {
    LIVE_CORES,
    LIVE_BYTES,
    LIVE_BYTES_PER_SECOND,
    LIVE_GPUS,
    LIVE_COUNT,
    LIVE_SHARE
};

/* In the order of the screen: the last ones are left out if there is no room. */
struct live_row {
    const char *label;
    const char *metric;
    enum live_unit unit;
};

static const struct live_row rows[LIVE_SCOPE_COUNT][LIVE_ROWS_MAX] = {
    [LIVE_JOB] = {
        { "CPU", "job_cpu_seconds", LIVE_CORES },
        { "Memory", "job_rss_bytes", LIVE_BYTES },
        { "GPUs", "job_gpu_utilization_gpus", LIVE_GPUS },
        { "GPU memory", "job_gpu_memory_bytes", LIVE_BYTES },
        { "Read", "job_read_bytes", LIVE_BYTES_PER_SECOND },
        { "Written", "job_written_bytes", LIVE_BYTES_PER_SECOND },
        { "Processes", "job_processes", LIVE_COUNT },
        { "Threads", "job_threads", LIVE_COUNT },
        { "Host CPU", "host_cpu_seconds", LIVE_CORES },
        { "Host memory", "host_memory_used_bytes", LIVE_BYTES },
    },
    [LIVE_HOST] = {
        { "CPU", "host_cpu_seconds", LIVE_CORES },
        { "Memory", "host_memory_used_bytes", LIVE_BYTES },
        { "Swap", "host_swap_used_bytes", LIVE_BYTES },
        { "GPUs", "host_gpu_utilization_gpus", LIVE_GPUS },
        { "GPU memory", "host_gpu_memory_bytes", LIVE_BYTES },
        { "Disk read", "host_disk_read_bytes", LIVE_BYTES_PER_SECOND },
        { "Disk write", "host_disk_written_bytes", LIVE_BYTES_PER_SECOND },
        { "Received", "host_network_received_bytes", LIVE_BYTES_PER_SECOND },
        { "Sent", "host_network_sent_bytes", LIVE_BYTES_PER_SECOND },
        { "CPU wait", "host_cpu_pressure_seconds", LIVE_SHARE },
        { "Memory wait", "host_memory_pressure_seconds", LIVE_SHARE },
        { "I/O wait", "host_io_pressure_seconds", LIVE_SHARE },
    },
};

/* ---- samples ------------------------------------------------------------ */

static size_t find_metric(const char *name)
{
    size_t count = spoor_metric_count(), i;

    for (i = 0; i < count && name && strcmp(spoor_metric_get(i)->name, name) != 0; i++)
        ;
    return name ? i : count;
}

void live_view_init(struct live_view *view, enum live_scope scope, double interval_seconds)
{
    *view = (struct live_view){
        .scope = scope,
        .column_seconds = fmax(interval_seconds, COLUMN_SECONDS),
        .rate_seconds = interval_seconds / 2,
    };
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        *curve = (struct live_curve){ .metric = find_metric(rows[scope][i].metric) };
        curve->now = curve->max = curve->total = (double)NAN;
        for (size_t j = 0; j < LIVE_CURVE_COLUMNS; j++)
            curve->columns[j] = (double)NAN;
    }
}

/* NaN is below every number. */
static void raise(double *value, double seen)
{
    if (isnan(*value) || seen > *value)
        *value = seen;
}

/* Begins new columns if the newest is full; those that no sample fell into are unknown. */
static void shift_columns(struct live_view *view, double elapsed_seconds)
{
    double passed = floor((elapsed_seconds - view->column_start) / view->column_seconds);
    size_t count = passed < LIVE_CURVE_COLUMNS ? (size_t)passed : LIVE_CURVE_COLUMNS;

    if (!(passed >= 1))
        return;
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        memmove(curve->columns, curve->columns + count,
                (LIVE_CURVE_COLUMNS - count) * sizeof(*curve->columns));
        for (size_t j = LIVE_CURVE_COLUMNS - count; j < LIVE_CURVE_COLUMNS; j++)
            curve->columns[j] = (double)NAN;
        curve->growth = curve->growth_seconds = 0;
    }
    view->column_start += passed * view->column_seconds;
}

static void add_level(struct live_curve *curve, const struct spoor_sample *sample)
{
    curve->now = sample->moments[curve->metric];
    raise(&curve->max, sample->values[curve->metric]);
    raise(&curve->columns[LIVE_CURVE_COLUMNS - 1], sample->values[curve->metric]);
}

/* A counter that steps back was restarted: what it counted meanwhile is unknown. What it counts
 * between two samples that are close together is left to the next: the rate might be far off. */
static void add_counter(struct live_curve *curve, const struct spoor_sample *sample,
                        double rate_seconds)
{
    double total = sample->values[curve->metric];
    double growth = total - curve->total;
    double seconds = sample->elapsed_seconds - curve->total_seconds;

    if (!isnan(curve->total) && seconds < rate_seconds)
        return;
    curve->total = total;
    curve->total_seconds = sample->elapsed_seconds;
    curve->now = (double)NAN;
    if (!(growth >= 0 && seconds > 0))
        return;
    curve->now = growth / seconds;
    curve->growth += growth;
    curve->growth_seconds += seconds;
    curve->columns[LIVE_CURVE_COLUMNS - 1] = curve->growth / curve->growth_seconds;
    raise(&curve->max, curve->now);
}

void live_view_add(struct live_view *view, const struct spoor_sample *sample)
{
    shift_columns(view, sample->elapsed_seconds);
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        if (curve->metric >= sample->count)
            continue;
        if (spoor_metric_get(curve->metric)->kind == SPOOR_GAUGE)
            add_level(curve, sample);
        else
            add_counter(curve, sample, view->rate_seconds);
    }
    view->elapsed_seconds = sample->elapsed_seconds;
}

/* ---- lines -------------------------------------------------------------- */

static void add_value(double value, enum live_unit unit, struct buffer *out)
{
    static const char *const suffixes[] = {
        [LIVE_CORES] = " cores", [LIVE_BYTES_PER_SECOND] = "/s", [LIVE_GPUS] = " GPUs"
    };
    struct number number = unit == LIVE_BYTES || unit == LIVE_BYTES_PER_SECOND
                               ? number_bytes(value)
                           : unit == LIVE_COUNT ? number_count(value)
                           : unit == LIVE_SHARE ? number_percent(value)
                                                : number_short(value);

    buffer_add_text(out, number.text);
    if (!isnan(value) && unit < ARRAY_SIZE(suffixes) && suffixes[unit])
        buffer_add_text(out, suffixes[unit]);
}

static void add_blanks(struct buffer *out, size_t count)
{
    while (count-- > 0)
        buffer_add(out, " ", 1);
}

/* The blanks that make a text so many columns wide. */
static void add_padding(struct buffer *out, const char *text, size_t width)
{
    size_t used = utf8_columns(text);

    add_blanks(out, used < width ? width - used : 0);
}

/* A terminal too narrow for a row: "Memory 1.46 GB", as much of it as fits. */
static void add_narrow_row(struct page *page, const struct live_row *row, double now)
{
    const char *label = row->label;
    struct buffer text = { 0 };

    buffer_format(&text, "%s ", label);
    add_value(now, row->unit, &text);
    if (text.text)
        buffer_add(page->out, text.text, utf8_fitting(text.text, page->columns));
    buffer_done(&text);
}

static void add_curve(struct page *page, const struct live_curve *curve, size_t columns)
{
    size_t count = columns < LIVE_CURVE_COLUMNS ? columns : LIVE_CURVE_COLUMNS;

    sparkline_write(curve->columns + LIVE_CURVE_COLUMNS - count, count, page->has_unicode,
                    page->out);
}

/* "Memory       1.46 GB     ▂▃▅▇█  max 1.62 GB": parts that do not fit are left out. */
static void add_row(struct page *page, const struct live_row *row,
                    const struct live_curve *curve)
{
    size_t room = page->columns - CURVE_START;
    bool has_max = room >= CURVE_MIN + MAX_WIDTH;
    struct buffer text = { 0 };

    page_add(page, PAGE_BOLD, row->label);
    add_padding(page->out, row->label, LABEL_WIDTH);
    add_value(curve->now, row->unit, &text);
    buffer_add_text(page->out, text.text ? text.text : "");
    if (room >= CURVE_MIN) {
        add_padding(page->out, text.text ? text.text : "", VALUE_WIDTH);
        add_curve(page, curve, has_max ? room - MAX_WIDTH : room);
    }
    buffer_clear(&text);
    buffer_add_text(&text, "  max ");
    add_value(curve->max, row->unit, &text);
    if (has_max)
        page_add(page, PAGE_DIM, text.text ? text.text : "");
    buffer_done(&text);
}

/* The title on the left, the time on the right. */
static void add_headline(struct page *page, const char *title, double elapsed_seconds)
{
    struct number time = number_duration(elapsed_seconds);
    size_t room = page->columns - strlen(time.text) - 2;
    struct buffer cut = { 0 };

    page_cut(title, room, &cut);
    page_add(page, PAGE_BOLD, cut.text ? cut.text : "");
    add_padding(page->out, cut.text ? cut.text : "", room + 2);
    buffer_add_text(page->out, time.text);
    buffer_done(&cut);
}

/* What the caller has to say, and the scale of the curves. */
static void add_footer(struct page *page, const struct live_view *view, const char *hint)
{
    struct buffer text = { 0 };

    buffer_format(&text, "%s%sone column is ", hint ? hint : "", hint ? "; " : "");
    number_write(view->column_seconds, &text);
    buffer_add_text(&text, " s");
    if (hint && text.text && utf8_columns(text.text) > page->columns)
        text.text[strlen(hint)] = '\0';
    if (text.text)
        text.text[utf8_fitting(text.text, page->columns)] = '\0';
    page_add(page, PAGE_DIM, text.text ? text.text : "");
    buffer_done(&text);
}

static size_t add_rows(struct page *page, const struct live_view *view, size_t lines)
{
    size_t count = 0;

    for (size_t i = 0; i < LIVE_ROWS_MAX && count < lines; i++) {
        const struct live_row *row = &rows[view->scope][i];
        const struct live_curve *curve = &view->curves[i];

        if (isnan(curve->max)) /* nothing is known of it yet */
            continue;
        if (page->out->length > 0)
            buffer_add_text(page->out, "\n");
        if (page->columns < CURVE_START)
            add_narrow_row(page, row, curve->now);
        else
            add_row(page, row, curve);
        count++;
    }
    return count;
}

size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out)
{
    struct page page = {
        .out = out,
        .columns = style->columns > 0 ? style->columns - 1 : 0,
        .has_color = style->has_color,
        .has_unicode = style->has_unicode,
    };
    size_t lines;

    if (page.columns < CURVE_START || style->lines < FRAME_LINES_MIN)
        return add_rows(&page, view, style->lines);
    add_headline(&page, title, view->elapsed_seconds);
    lines = add_rows(&page, view, style->lines - 2);
    buffer_add_text(out, "\n");
    add_footer(&page, view, style->hint);
    return lines + 2;
}
