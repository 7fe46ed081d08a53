/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "front/spoor/live.h"
#include "output/chart.h"
#include "output/text_layout.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- the view ----------------------------------------------------------- */

/* A column covers at least this time, so that a curve shows some minutes. */
#define COLUMN_SECONDS 1.0

/* A line of a row: label, value, curve and the largest value, each padded to its width. */
enum {
    LABEL_WIDTH = 13,
    VALUE_WIDTH = 12,
    WIDE_VALUE_WIDTH = 20, /* with a limit */
    WIDE_COLUMNS = 60,     /* width of a terminal with room for the wide value */
    CURVE_START = LABEL_WIDTH + VALUE_WIDTH,
    CURVE_MIN = 10,
    CURVE_MAX = 512,
    MAX_WIDTH = 18
};
enum { FRAME_LINES_MIN = 5 }; /* with fewer lines, headline and footer are left out */

/* A process: its PID, CPU, memory and command, which is indented below its parent. */
enum { PID_WIDTH = 8, CORES_WIDTH = 7, RSS_WIDTH = 10, INDENT = 2 };
enum { PROCESS_COLUMNS_MIN = PID_WIDTH + CORES_WIDTH + RSS_WIDTH + 2 + CURVE_MIN };

enum { TREE_LINES_MIN = 3 };

/* A value of at least this share of its limit is red. */
#define NEAR_LIMIT 0.9

/* A quota within this many CPUs of a whole number is shown as one. */
#define CPUS_ZERO 0.005

enum live_limit { LIMIT_NONE, LIMIT_CPU, LIMIT_MEMORY };

enum { MEMORY_ROW = 1 };

/* The rows from top to bottom. The last ones are left out if there is no room. */
struct live_row {
    const char *label;
    const char *metric;
    enum chart_unit unit;
    enum live_limit limit;
};

static const struct live_row rows[LIVE_SCOPE_COUNT][LIVE_ROWS_MAX] = {
    [LIVE_JOB] = {
        { "CPU", "job_cpu_seconds", CHART_CORES, LIMIT_CPU },
        { "Memory", "job_rss_bytes", CHART_BYTES, LIMIT_MEMORY },
        { "GPUs", "job_gpu_utilization_gpus", CHART_GPUS, LIMIT_NONE },
        { "GPU memory", "job_gpu_memory_bytes", CHART_BYTES, LIMIT_NONE },
        { "Read", "job_read_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "Written", "job_written_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "Processes", "job_processes", CHART_COUNT, LIMIT_NONE },
        { "Threads", "job_threads", CHART_COUNT, LIMIT_NONE },
        { "Host CPU", "host_cpu_seconds", CHART_CORES, LIMIT_NONE },
        { "Host memory", "host_memory_used_bytes", CHART_BYTES, LIMIT_NONE },
    },
    [LIVE_HOST] = {
        { "CPU", "host_cpu_seconds", CHART_CORES, LIMIT_NONE },
        { "Memory", "host_memory_used_bytes", CHART_BYTES, LIMIT_NONE },
        { "Swap", "host_swap_used_bytes", CHART_BYTES, LIMIT_NONE },
        { "GPUs", "host_gpu_utilization_gpus", CHART_GPUS, LIMIT_NONE },
        { "GPU memory", "host_gpu_memory_bytes", CHART_BYTES, LIMIT_NONE },
        { "Disk read", "host_disk_read_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "Disk write", "host_disk_written_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "Received", "host_network_received_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "Sent", "host_network_sent_bytes", CHART_BYTES_PER_SECOND, LIMIT_NONE },
        { "CPU wait", "host_cpu_pressure_seconds", CHART_SHARE, LIMIT_NONE },
        { "Memory wait", "host_memory_pressure_seconds", CHART_SHARE, LIMIT_NONE },
        { "I/O wait", "host_io_pressure_seconds", CHART_SHARE, LIMIT_NONE },
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
        .column_count = 1,
        .usual_seconds = (double)NAN,
        .cpu_limit = (double)NAN,
        .memory_limit_bytes = (double)NAN,
    };
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        *curve = (struct live_curve){ .metric = find_metric(rows[scope][i].metric) };
        curve->now = curve->max = curve->total = (double)NAN;
        for (size_t j = 0; j < LIVE_CURVE_COLUMNS; j++)
            curve->columns[j] = (double)NAN;
    }
}

/* NaN counts as less than every number. */
static void raise_value(double *value, double seen)
{
    if (isnan(*value) || seen > *value)
        *value = seen;
}

/* Begins new columns if the newest is full; columns without a sample are unknown. */
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
    view->column_count += count;
    if (view->column_count > LIVE_CURVE_COLUMNS)
        view->column_count = LIVE_CURVE_COLUMNS;
}

static void add_level(struct live_curve *curve, const struct spoor_sample *sample)
{
    curve->now = sample->moments[curve->metric];
    raise_value(&curve->max, sample->values[curve->metric]);
    raise_value(&curve->columns[LIVE_CURVE_COLUMNS - 1], sample->values[curve->metric]);
}

/* A counter that decreased was restarted: its increase since the last sample is unknown. The
 * increase between two samples that are close together is counted with the next sample, since
 * its rate might be far off. If the next sample is in the next column, the rate applies to both
 * columns. */
static void add_counter(struct live_curve *curve, const struct spoor_sample *sample,
                        const struct live_view *view)
{
    double *newest = &curve->columns[LIVE_CURVE_COLUMNS - 1];
    double total = sample->values[curve->metric];
    double growth = total - curve->total;
    double seconds = sample->elapsed_seconds - curve->total_seconds;

    if (!isnan(curve->total) && seconds < view->rate_seconds)
        return;
    curve->total = total;
    curve->total_seconds = sample->elapsed_seconds;
    curve->now = (double)NAN;
    if (!(growth >= 0 && seconds > 0))
        return;
    curve->now = growth / seconds;
    curve->growth += growth;
    curve->growth_seconds += seconds;
    *newest = curve->growth / curve->growth_seconds;
    if (isnan(newest[-1]) && seconds < 2 * view->column_seconds)
        newest[-1] = curve->now;
    raise_value(&curve->max, curve->now);
}

/* ---- processes ---- */

/* Returns the cores that a process used since the previous sample; NaN: the process is new.
 * Both lists have the same order, so the search continues from the last match. */
static double cores_of(const struct live_view *view, const struct spoor_process_sample *process,
                       double seconds, size_t *next)
{
    for (size_t i = *next; i < view->usage_count; i++) {
        const struct live_usage *before = &view->usage[i];

        if (before->pid != process->pid)
            continue;
        *next = i + 1;
        return seconds < view->rate_seconds
                   ? before->cores
                   : (process->cpu_seconds - before->cpu_seconds) / seconds;
    }
    return (double)NAN;
}

/* Keeps the processes with the highest ranks, in order of rank. */
static void keep_process(struct live_view *view, const struct live_process *process)
{
    size_t i = view->process_count;

    if (i == LIVE_PROCESSES_MAX && process->rank <= view->processes[i - 1].rank)
        return;
    if (i < LIVE_PROCESSES_MAX)
        view->process_count++;
    else
        i--;
    for (; i > 0 && view->processes[i - 1].rank < process->rank; i--)
        view->processes[i] = view->processes[i - 1];
    view->processes[i] = *process;
}

/* A process with all memory of the job ranks as high as a process with a busy core. */
static void add_process(struct live_view *view, const struct spoor_process_sample *from,
                        size_t place, double cores, double total_bytes)
{
    struct live_process process = {
        .pid = from->pid,
        .place = place,
        .cores = cores,
        .rss_bytes = from->rss_bytes,
        .rank = (cores > 0 ? cores : 0) + (total_bytes > 0 ? from->rss_bytes / total_bytes : 0),
        .has_command = from->command != NULL,
    };

    (void)snprintf(process.text, sizeof(process.text), "%s",
                   from->command ? from->command : from->name); /* may be truncated */
    process.text[utf8_whole(process.text, sizeof(process.text) - 1)] = '\0';
    keep_process(view, &process);
}

/* Returns the nearest ancestor among the processes that are kept; SIZE_MAX: none. */
static size_t find_parent(const struct live_view *view, const struct spoor_sample *sample,
                          size_t place)
{
    for (size_t depth = 0; depth < LIVE_PROCESSES_MAX; depth++) {
        pid_t parent_pid = sample->processes[place].parent_pid;

        for (size_t i = 0; i < view->process_count; i++) {
            if (view->processes[i].pid == parent_pid)
                return i;
        }
        for (place = 0; place < sample->process_count; place++) {
            if (sample->processes[place].pid == parent_pid)
                break;
        }
        if (place == sample->process_count)
            break;
    }
    return SIZE_MAX;
}

/* If two samples are close together, CPU time is compared with the sample before both. */
static void add_processes(struct live_view *view, const struct spoor_sample *sample)
{
    double seconds = sample->elapsed_seconds - view->usage_seconds, total_bytes = 0;
    size_t count = sample->process_count, next = 0;
    struct live_usage *usage = count > 0 ? calloc(count, sizeof(*usage)) : NULL;

    view->process_count = 0;
    view->process_total = count;
    if (!usage)
        return;
    for (size_t i = 0; i < count; i++)
        total_bytes += sample->processes[i].rss_bytes;
    for (size_t i = 0; i < count; i++) {
        const struct spoor_process_sample *from = &sample->processes[i];

        usage[i] = (struct live_usage){ from->pid, from->cpu_seconds,
                                        cores_of(view, from, seconds, &next) };
        add_process(view, from, i, usage[i].cores, total_bytes);
    }
    for (size_t i = 0; i < view->process_count; i++)
        view->processes[i].parent = find_parent(view, sample, view->processes[i].place);
    if (view->usage_count > 0 && seconds < view->rate_seconds) {
        free(usage);
        return;
    }
    free(view->usage);
    view->usage = usage;
    view->usage_count = count;
    view->usage_seconds = sample->elapsed_seconds;
}

void live_view_done(struct live_view *view)
{
    free(view->usage);
    view->usage = NULL;
}

void live_view_add(struct live_view *view, const struct spoor_sample *sample)
{
    view->elapsed_seconds = sample->elapsed_seconds;
    if (sample->moments[view->curves[MEMORY_ROW].metric] <= 0)
        return; /* the job has exited: keep its last figures */
    shift_columns(view, sample->elapsed_seconds);
    for (size_t i = 0; i < LIVE_ROWS_MAX; i++) {
        struct live_curve *curve = &view->curves[i];

        if (curve->metric >= sample->count)
            continue;
        if (spoor_metric_get(curve->metric)->kind == SPOOR_GAUGE)
            add_level(curve, sample);
        else
            add_counter(curve, sample, view);
    }
    view->cpu_limit = sample->cpu_limit;
    view->memory_limit_bytes = sample->memory_limit_bytes;
    view->gpu_count = sample->gpu_count < LIVE_GPUS_MAX ? sample->gpu_count : LIVE_GPUS_MAX;
    for (size_t i = 0; i < view->gpu_count; i++)
        view->gpus[i] = sample->gpus[i];
    add_processes(view, sample);
}

/* ---- lines -------------------------------------------------------------- */

/* Adds "1.98 of 4 cores", "1.46 GB". */
static void add_value(double value, double limit, enum chart_unit unit, struct buffer *out)
{
    buffer_add_text(out, chart_value(value, unit).text);
    if (!isnan(limit))
        buffer_format(out, " of %s",
                      (unit == CHART_BYTES                      ? number_limit(limit)
                       : fabs(limit - round(limit)) < CPUS_ZERO ? number_count(limit)
                                                                : number_short(limit))
                          .text);
    if (!isnan(value))
        buffer_add_text(out, chart_unit_text(unit));
}

static double limit_of(const struct live_view *view, const struct live_row *row)
{
    return row->limit == LIMIT_CPU      ? view->cpu_limit
           : row->limit == LIMIT_MEMORY ? view->memory_limit_bytes
                                        : (double)NAN;
}

static void add_padding(struct buffer *out, const char *text, size_t width)
{
    size_t used = utf8_columns(text);

    buffer_format(out, "%*s", (int)(used < width ? width - used : 0), "");
}

/* Adds as much of a text as fits, then frees the text. */
static void add_fitting(struct page *page, enum page_style style, struct buffer *text)
{
    if (text->text) {
        text->text[utf8_fitting(text->text, page->columns)] = '\0';
        page_add(page, style, text->text);
    }
    buffer_done(text);
}

/* Adds a row of a narrow terminal: "Memory 1.46 GB". */
static void add_narrow_row(struct page *page, const struct live_row *row, double now)
{
    const char *label = row->label;
    struct buffer text = { 0 };

    buffer_format(&text, "%s ", label);
    add_value(now, (double)NAN, row->unit, &text);
    add_fitting(page, PAGE_PLAIN, &text);
}

/* Adds all columns so far, over the whole width. */
static void add_curve(struct page *page, const struct live_view *view,
                      const struct live_curve *curve, size_t width)
{
    const double *columns = curve->columns + LIVE_CURVE_COLUMNS - view->column_count;
    double shown[CURVE_MAX];
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (width > CURVE_MAX)
        width = CURVE_MAX;
    for (size_t i = 0; i < width; i++) {
        size_t from = i * view->column_count / width;
        size_t end = (i + 1) * view->column_count / width;

        shown[i] = columns[from];
        while (++from < end)
            raise_value(&shown[i], columns[from]);
    }
    sparkline_write(shown, width, page->has_unicode, &text);
    page_add(page, PAGE_CYAN, buffer_text(&text));
}

/* Adds "Memory       1.46 GB of 8 GiB    ▂▃▅▇█  max 1.62 GB": parts that do not fit are left
 * out. */
static void add_row(struct page *page, const struct live_view *view, const struct live_row *row,
                    const struct live_curve *curve)
{
    double limit = limit_of(view, row);
    bool is_near =
        row->limit == LIMIT_MEMORY && !isnan(limit) && curve->now > limit * NEAR_LIMIT;
    size_t width = page->columns >= WIDE_COLUMNS ? WIDE_VALUE_WIDTH : VALUE_WIDTH;
    CLEANUP(buffer_done) struct buffer text = { 0 };
    size_t room;
    bool has_max;

    page_add(page, PAGE_BOLD, row->label);
    add_padding(page->out, row->label, LABEL_WIDTH);
    add_value(curve->now, limit, row->unit, &text);
    if (!text.text)
        return;
    text.text[utf8_fitting(text.text, page->columns - LABEL_WIDTH)] = '\0';
    page_add(page, is_near ? PAGE_RED : PAGE_PLAIN, text.text);
    if (utf8_columns(text.text) >= width)
        width = utf8_columns(text.text) + 1;
    room = page->columns > LABEL_WIDTH + width ? page->columns - LABEL_WIDTH - width : 0;
    has_max = room >= CURVE_MIN + MAX_WIDTH;
    if (room >= CURVE_MIN) {
        add_padding(page->out, text.text, width);
        add_curve(page, view, curve, has_max ? room - MAX_WIDTH : room);
    }
    buffer_clear(&text);
    buffer_add_text(&text, "  max ");
    add_value(curve->max, (double)NAN, row->unit, &text);
    if (has_max)
        page_add(page, PAGE_DIM, buffer_text(&text));
}

static void add_headline(struct page *page, const char *title, const struct live_view *view)
{
    char time[96];
    CLEANUP(buffer_done) struct buffer cut = { 0 };
    size_t room;

    (void)snprintf(time, sizeof(time), isnan(view->usual_seconds) ? "%s" : "%s, usually %s",
                   number_duration(view->elapsed_seconds).text,
                   number_duration(view->usual_seconds).text); /* fits */
    if (strlen(time) > page->columns / 2)
        time[strcspn(time, ",")] = '\0';
    room = page->columns - strlen(time) - 2;
    page_cut(title, room, &cut);
    page_add(page, PAGE_BOLD, buffer_text(&cut));
    add_padding(page->out, buffer_text(&cut), room + 2);
    buffer_add_text(page->out, time);
}

static void add_footer(struct page *page, const struct live_view *view, const char *hint)
{
    double seconds =
        fmin((double)view->column_count * view->column_seconds, view->elapsed_seconds);
    struct buffer text = { 0 };

    buffer_format(&text, "%s%scurves: last %s", hint ? hint : "", hint ? "; " : "",
                  number_duration(seconds).text);
    if (hint && text.text && utf8_columns(text.text) > page->columns)
        text.text[strlen(hint)] = '\0';
    add_fitting(page, PAGE_DIM, &text);
}

static size_t add_rows(struct page *page, const struct live_view *view, size_t lines)
{
    size_t count = 0;

    for (size_t i = 0; i < LIVE_ROWS_MAX && count < lines; i++) {
        const struct live_row *row = &rows[view->scope][i];
        const struct live_curve *curve = &view->curves[i];

        if (isnan(curve->max)) /* no value is known yet */
            continue;
        if (page->out->length > 0)
            buffer_add_text(page->out, "\n");
        if (page->columns < CURVE_START)
            add_narrow_row(page, row, curve->now);
        else
            add_row(page, view, row, curve);
        count++;
    }
    return count;
}

/* Adds "GPU 0        97 %, 12.3 GB of 150 GB; job 95 %, 12.0 GB". */
static size_t add_gpus(struct page *page, const struct live_view *view, size_t lines)
{
    size_t count = view->gpu_count < lines ? view->gpu_count : lines;

    for (size_t i = 0; i < count; i++) {
        const struct spoor_gpu_sample *gpu = &view->gpus[i];
        struct buffer text = { 0 };

        buffer_format(&text, "GPU %u", gpu->index);
        if (gpu->part >= 0)
            buffer_format(&text, ":%d", gpu->part);
        add_padding(&text, buffer_text(&text), LABEL_WIDTH);
        buffer_format(&text, "%s, %s of %s", number_percent(gpu->utilization).text,
                      number_bytes(gpu->memory_bytes).text,
                      number_bytes(gpu->memory_total_bytes).text);
        if (view->scope == LIVE_JOB)
            buffer_format(&text, "; job %s, %s", number_percent(gpu->job_utilization).text,
                          number_bytes(gpu->job_memory_bytes).text);
        buffer_add_text(page->out, "\n");
        add_fitting(page, PAGE_PLAIN, &text);
    }
    return count;
}

/* ---- the tree of processes ---- */

struct tree {
    const struct live_view *view;
    size_t count; /* rows to show: the processes with the highest ranks */
};

static void add_tree_row(struct page *page, const struct live_process *process, size_t depth)
{
    size_t room = page->columns - (PROCESS_COLUMNS_MIN - CURVE_MIN);
    size_t indent = depth * INDENT < room - CURVE_MIN ? depth * INDENT : room - CURVE_MIN;
    CLEANUP(buffer_done) struct buffer safe = { 0 };

    buffer_format(page->out, "\n%*d%*s%*s  ", PID_WIDTH, (int)process->pid, CORES_WIDTH,
                  number_short(process->cores).text, RSS_WIDTH,
                  number_bytes(process->rss_bytes).text);
    buffer_format(page->out, "%*s", (int)indent, "");
    if (process->has_command)
        page_escape_command(page, process->text, &safe);
    else
        page_escape(page, process->text, &safe);
    page_cut(buffer_text(&safe), room - indent, page->out);
}

/* Children are in the order in which they started: rank changes too often. */
static void add_children(struct page *page, const struct tree *tree, size_t parent,
                         size_t depth)
{
    const struct live_process *list = tree->view->processes;

    for (size_t place = 0;;) {
        size_t next = SIZE_MAX, above;

        for (size_t i = 0; i < tree->count; i++) {
            for (above = list[i].parent; above != SIZE_MAX && above >= tree->count;)
                above = list[above].parent;
            if (above == parent && list[i].place >= place &&
                (next == SIZE_MAX || list[i].place < list[next].place))
                next = i;
        }
        if (next == SIZE_MAX)
            return;
        add_tree_row(page, &list[next], depth);
        add_children(page, tree, next, depth + 1);
        place = list[next].place + 1;
    }
}

static size_t add_processes_tree(struct page *page, const struct live_view *view, size_t lines)
{
    struct tree tree = { view, view->process_count };
    struct buffer text = { 0 };

    if (lines < TREE_LINES_MIN || tree.count == 0 || page->columns < PROCESS_COLUMNS_MIN)
        return 0;
    if (view->process_total >= lines && tree.count > lines - 2)
        tree.count = lines - 2;
    buffer_format(&text, "%*s%*s%*s  COMMAND", PID_WIDTH, "PID", CORES_WIDTH, "CPU", RSS_WIDTH,
                  "MEMORY");
    buffer_add_text(page->out, "\n");
    add_fitting(page, PAGE_DIM, &text);
    add_children(page, &tree, SIZE_MAX, 0);
    if (tree.count == view->process_total)
        return tree.count + 1;
    buffer_format(&text, "%*s%zu more", PID_WIDTH - 3, "", view->process_total - tree.count);
    buffer_add_text(page->out, "\n");
    add_fitting(page, PAGE_DIM, &text);
    return tree.count + 2;
}

size_t live_view_write(const struct live_view *view, const char *title,
                       const struct live_style *style, struct buffer *out)
{
    struct page page = live_page(style, out);
    size_t lines, room;

    if (page.columns < CURVE_START || style->lines < FRAME_LINES_MIN)
        return add_rows(&page, view, style->lines);
    room = style->lines - 2;
    add_headline(&page, title, view);
    lines = add_rows(&page, view, room);
    lines += add_gpus(&page, view, (room - lines + 1) / 2);
    lines += add_processes_tree(&page, view, room - lines);
    buffer_add_text(out, "\n");
    add_footer(&page, view, style->hint);
    return lines + 2;
}

void live_view_write_line(const struct live_view *view, const struct live_style *style,
                          struct buffer *out)
{
    struct page page = live_page(style, out);
    bool has_limits = page.columns >= WIDE_COLUMNS, is_full = false;
    size_t used = 0;

    for (size_t i = 0; i <= LIVE_ROWS_MAX && !is_full; i++) {
        const struct live_row *row = i > 0 ? &rows[view->scope][i - 1] : NULL;
        CLEANUP(buffer_done) struct buffer text = { 0 };
        size_t width;

        if (row && isnan(view->curves[i - 1].max))
            continue;
        if (row)
            add_value(view->curves[i - 1].now, has_limits ? limit_of(view, row) : (double)NAN,
                      row->unit, &text);
        else
            buffer_add_text(&text, number_duration(view->elapsed_seconds).text);
        width = (row ? strlen(row->label) + 3 : 0) + utf8_columns(buffer_text(&text));
        used += width;
        is_full = used > page.columns;
        if (text.text && !is_full) {
            if (row) {
                buffer_add_text(out, "  ");
                page_add(&page, PAGE_BOLD, row->label);
                buffer_add_text(out, " ");
            }
            buffer_add_text(out, text.text);
        }
    }
}
