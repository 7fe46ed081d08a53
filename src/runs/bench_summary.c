/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "base/error.h"
#include "output/table.h"
#include "output/text_layout.h"
#include "runs/bench.h"
#include "text/escape.h"
#include "text/find.h"
#include "text/json_writer.h"

enum { FIGURE_TIME = 0, FIGURE_MEMORY = 2 }; /* indexes of run_figures */

/* ---- cells -------------------------------------------------------------- */

static struct bench_cell *cell_at(const struct bench_summary *summary, size_t figure,
                                  size_t group)
{
    return &summary->cells[figure * summary->groups.count + group];
}

/* Counts the failed runs of a group, and removes them from it unless they count. */
static void sort_out_failed(struct bench_summary *summary, size_t group)
{
    struct run_group *runs = &summary->groups.items[group];
    size_t kept = 0;

    for (size_t i = 0; i < runs->count; i++) {
        bool is_failed = record_has_failed(runs->runs[i]);

        summary->failed[group] += is_failed;
        if (!is_failed || summary->counts_failed)
            runs->runs[kept++] = runs->runs[i];
    }
    runs->count = kept;
    summary->failed_count += summary->failed[group];
}

static int fill_cells(struct bench_summary *summary, size_t figure)
{
    size_t best = SIZE_MAX;

    for (size_t group = 0; group < summary->groups.count; group++) {
        const struct run_group *runs = &summary->groups.items[group];
        struct bench_cell *cell = cell_at(summary, figure, group);

        cell->values = calloc(runs->count + 1, sizeof(*cell->values));
        if (!cell->values)
            return -ENOMEM;
        statistics_of(cell->values,
                      run_values(runs->runs, runs->count, &run_figures[figure], cell->values),
                      &cell->statistics);
        if (cell->statistics.count > 0 &&
            (best == SIZE_MAX ||
             cell->statistics.median < cell_at(summary, figure, best)->statistics.median))
            best = group;
    }
    summary->best[figure] = best;
    return 0;
}

/* A figure that is 0 in all runs is not shown. */
static void drop_zeros(struct bench_summary *summary, size_t figure)
{
    for (size_t group = 0; group < summary->groups.count; group++) {
        if (cell_at(summary, figure, group)->statistics.max > 0)
            return;
    }
    summary->best[figure] = SIZE_MAX;
}

static int compare_cells(struct bench_summary *summary, size_t figure)
{
    const struct bench_cell *best;
    int r = 0;

    if (summary->best[figure] == SIZE_MAX)
        return 0;
    best = cell_at(summary, figure, summary->best[figure]);
    for (size_t group = 0; r == 0 && group < summary->groups.count; group++) {
        struct bench_cell *cell = cell_at(summary, figure, group);

        r = statistics_compare(best->values, best->statistics.count, cell->values,
                               cell->statistics.count, &cell->to_best);
    }
    return r;
}

/* ---- warnings ----------------------------------------------------------- */

#define TIME_MIN_SECONDS 0.005

static int warn_about_group(struct bench_summary *summary, size_t group)
{
    const struct run_group *runs = &summary->groups.items[group];
    const struct statistics *time = &cell_at(summary, FIGURE_TIME, group)->statistics;
    size_t failed = summary->failed[group];
    size_t count = runs->count;
    int r = 0;

    if (failed > 0 && count == 0)
        r = text_list_format(&summary->warnings, NULL, "every run of '%s' failed", runs->label);
    else if (failed > 0)
        r = text_list_format(&summary->warnings, NULL,
                             "%zu of %zu runs of '%s' failed; their figures %s", failed,
                             summary->counts_failed ? count : count + failed, runs->label,
                             summary->counts_failed ? "count" : "are left out");
    if (r == 0 && time->median < TIME_MIN_SECONDS)
        r = text_list_format(&summary->warnings, NULL,
                             "'%s' takes less than %g ms: mostly the start of a process",
                             runs->label, TIME_MIN_SECONDS * 1e3);
    else if (r == 0 && time->outliers > 0 && !isnan(time->low))
        r = text_list_format(
            &summary->warnings, NULL,
            "outliers: %zu of %zu times of '%s' (a busy machine, or a cold cache: "
            "see --warmup)",
            time->outliers, time->count, runs->label);
    return r;
}

static bool is_gpu_throttled(const struct record *record)
{
    bool is_throttled = false;

    for (size_t i = 0; i < record->gpu_count; i++)
        is_throttled |= record->gpus[i].throttled && record->gpus[i].throttled[0];
    return is_throttled;
}

static int warn_about_runs(struct bench_summary *summary)
{
    static const struct {
        const char *code, *message;
    } rows[] = {
        { "throttled", "the CPU quota throttled" },
        { "swapped", "memory was swapped out in" },
        { "oom", "the out-of-memory killer was active in" },
        { NULL, "a GPU reduced its clock in" },
    };
    int r = 0;

    for (size_t row = 0; r == 0 && row < ARRAY_SIZE(rows); row++) {
        size_t count = 0;

        for (size_t i = 0; i < summary->set->count; i++) {
            const struct record *run = &summary->set->runs[i];

            count += rows[row].code ? FIND_IN_LIST(run->warnings, run->warning_count, code,
                                                   rows[row].code) != NULL
                                    : is_gpu_throttled(run);
        }
        if (count > 0)
            r = text_list_format(&summary->warnings, NULL, "%s %zu of %zu runs",
                                 rows[row].message, count, summary->set->count);
    }
    return r;
}

/* Warn if other processes use more than this share of the machine's CPUs. */
#define OTHERS_MAX 0.1
#define OTHERS_SECONDS_MIN 0.5 /* the kernel counts CPU time of the machine in steps of 10 ms */

static int warn_about_others(struct bench_summary *summary)
{
    double others = 0, elapsed = 0, cpus = 0;

    for (size_t i = 0; i < summary->set->count; i++) {
        const struct record *record = &summary->set->runs[i];
        double cores = record_value(record, "cpu.system.mean_cores");
        double own = record_value(record, "cpu.total_seconds") + record->tracker_cpu_seconds;

        if (isnan(cores) || isnan(own) || !is_known(record->cpus))
            continue;
        others += fmax(0, cores * record->elapsed_seconds - own);
        elapsed += record->elapsed_seconds;
        cpus = (double)record->cpus;
    }
    if (elapsed < OTHERS_SECONDS_MIN || others <= OTHERS_MAX * cpus * elapsed)
        return 0;
    return text_list_format(&summary->warnings, NULL,
                            "the machine was busy: other processes used %.2f of %.0f CPUs",
                            others / elapsed, cpus);
}

/* ---- the summary -------------------------------------------------------- */

static int fill_summary(struct bench_summary *summary)
{
    size_t count = summary->groups.count;
    int r = 0;

    summary->failed = calloc(count + 1, sizeof(*summary->failed));
    summary->cells = calloc(count * RUN_FIGURES + 1, sizeof(*summary->cells));
    if (!summary->failed || !summary->cells)
        return -ENOMEM;
    for (size_t group = 0; group < count; group++)
        sort_out_failed(summary, group);
    for (size_t figure = 0; r == 0 && figure < RUN_FIGURES; figure++) {
        r = fill_cells(summary, figure);
        if (r == 0) {
            drop_zeros(summary, figure);
            r = compare_cells(summary, figure);
        }
    }
    for (size_t group = 0; r == 0 && group < count; group++)
        r = warn_about_group(summary, group);
    if (r == 0)
        r = warn_about_runs(summary);
    return r < 0 ? r : warn_about_others(summary);
}

int bench_summarize(const struct run_set *set, bool counts_failed, struct bench_summary *ret,
                    struct spoor_error *err)
{
    CLEANUP(bench_summary_done)
    struct bench_summary summary = { .set = set, .counts_failed = counts_failed };

    if (run_groups_make(set, "name", &summary.groups, err) < 0)
        return -ENOMEM;
    if (fill_summary(&summary) < 0)
        return error_set(err, ENOMEM, "out of memory");
    *ret = summary;
    summary = (struct bench_summary){ 0 };
    return 0;
}

void bench_summary_done(struct bench_summary *summary)
{
    for (size_t i = 0; summary->cells && i < summary->groups.count * RUN_FIGURES; i++)
        free(summary->cells[i].values);
    text_list_done(&summary->warnings);
    free(summary->cells);
    free(summary->failed);
    run_groups_done(&summary->groups);
}

/* ---- the table ---------------------------------------------------------- */

static const struct table_column columns[] = {
    { "FIGURE", "figure" }, { "COMMAND", "command" },   { "MEDIAN", "median" },
    { "LOW", "low" },       { "HIGH", "high" },         { "MIN", "min" },
    { "MAX", "max" },       { "MEAN", "mean" },         { "RUNS", "runs" },
    { "FAILED", "failed" }, { "OUTLIERS", "outliers" },
};

enum { COLUMNS_FOR_PEOPLE = 7 };

static void add_value(struct table *table, const struct run_figure *figure, double value)
{
    table_add_number(table, value, isnan(value) ? NULL : run_figure_text(figure, value).text);
}

/* Adds one row per figure and command. In text, only the first row of a figure has its name. */
static void fill_table(const struct bench_summary *summary, enum spoor_format format,
                       struct table *table)
{
    for (size_t i = 0; i < RUN_FIGURES * summary->groups.count; i++) {
        size_t figure = i / summary->groups.count, group = i % summary->groups.count;
        const struct run_figure *row = &run_figures[figure];
        const struct statistics *statistics = &cell_at(summary, figure, group)->statistics;
        const double values[] = { statistics->median, statistics->low, statistics->high,
                                  statistics->min, statistics->max };

        if (summary->best[figure] == SIZE_MAX)
            continue;
        table_add_text(table, format == SPOOR_CSV                 ? row->name
                              : group > 0 && format == SPOOR_TEXT ? ""
                                                                  : row->label);
        table_add_text(table, summary->groups.items[group].label);
        for (size_t k = 0; k < ARRAY_SIZE(values); k++)
            add_value(table, row, values[k]);
        if (table->column_count == COLUMNS_FOR_PEOPLE)
            continue;
        add_value(table, row, statistics->mean);
        table_add_number(table, (double)statistics->count, NULL);
        table_add_number(table, (double)summary->failed[group], NULL);
        table_add_number(table, (double)statistics->outliers, NULL);
    }
}

static void write_table(const struct bench_summary *summary, enum spoor_format format,
                        const struct format_style *style, struct buffer *out)
{
    CLEANUP(table_done)
    struct table table = {
        .columns = columns,
        .column_count = format == SPOOR_CSV ? ARRAY_SIZE(columns) : COLUMNS_FOR_PEOPLE,
    };

    fill_table(summary, format, &table);
    if (table_error(&table) < 0)
        out->error = table_error(&table);
    else
        table_write(&table, format, style, out);
}

/* ---- sentences ---------------------------------------------------------- */

/* Adds "zstd -q f" in text, "`zstd -q f`" in Markdown. */
static void add_label(const struct bench_summary *summary, size_t group,
                      enum spoor_format format, struct buffer *out)
{
    const char *quote = format == SPOOR_MARKDOWN ? "`" : "";

    buffer_add_text(out, quote);
    escape_unsafe(summary->groups.items[group].label, out);
    buffer_add_text(out, quote);
}

static void add_comparison(const struct bench_summary *summary, size_t figure, size_t group,
                           const char *than, enum spoor_format format, struct buffer *out)
{
    const struct comparison *comparison = &cell_at(summary, figure, group)->to_best;

    buffer_add_text(out, format == SPOOR_MARKDOWN ? "\n  - " : "\n    ");
    if (isnan(comparison->p))
        buffer_add_text(out, "too few runs to compare it with ");
    else if (!comparison->is_significant)
        buffer_add_text(out, "no difference found from ");
    else if (isnan(comparison->low))
        buffer_format(out, "%s than ", than);
    else
        buffer_format(out, "%s (%s to %s) times %s than ", number_short(comparison->ratio).text,
                      number_short(comparison->low).text, number_short(comparison->high).text,
                      than);
    add_label(summary, group, format, out);
}

static bool any_differs(const struct bench_summary *summary, size_t figure)
{
    bool differs = false;

    for (size_t group = 0; group < summary->groups.count; group++)
        differs |= cell_at(summary, figure, group)->to_best.is_significant;
    return differs;
}

static void add_verdict(const struct bench_summary *summary, size_t figure, const char *title,
                        const char *than, enum spoor_format format, struct buffer *out)
{
    size_t best = summary->best[figure];

    if (best == SIZE_MAX || summary->groups.count < 2)
        return;
    buffer_add_text(out, format == SPOOR_MARKDOWN ? "\n- " : "\n");
    if (!any_differs(summary, figure)) {
        buffer_format(out, "%s: %s", run_figures[figure].label,
                      isnan(cell_at(summary, figure, best)->to_best.p)
                          ? "too few runs to compare"
                          : "no difference found");
        return;
    }
    buffer_format(out, "%s: ", title);
    add_label(summary, best, format, out);
    for (size_t group = 0; group < summary->groups.count; group++) {
        if (group != best && cell_at(summary, figure, group)->statistics.count > 0)
            add_comparison(summary, figure, group, than, format, out);
    }
}

/* Adds "Low and high are the 95 % interval of the median of 10 runs." */
static void add_legend(const struct bench_summary *summary, struct buffer *out)
{
    size_t least = SIZE_MAX, most = 0;
    bool has_interval = false;

    for (size_t group = 0; group < summary->groups.count; group++) {
        const struct statistics *time = &cell_at(summary, FIGURE_TIME, group)->statistics;

        least = time->count < least ? time->count : least;
        most = time->count > most ? time->count : most;
        has_interval |= !isnan(time->low);
    }
    buffer_add_text(out, "\nLow and high are the 95 % interval of the median");
    if (!has_interval)
        buffer_add_text(out, ", which needs 6 runs.\n");
    else if (least < most)
        buffer_format(out, " of %zu to %zu runs.\n", least, most);
    else
        buffer_format(out, " of %zu runs.\n", most);
}

static void write_for_people(const struct bench_summary *summary, enum spoor_format format,
                             const struct format_style *style, struct buffer *out)
{
    struct page page = { .out = out, .has_color = style->has_color, .columns = style->columns };

    if (summary->best[FIGURE_TIME] != SIZE_MAX) {
        write_table(summary, format, style, out);
        add_legend(summary, out);
        add_verdict(summary, FIGURE_TIME, "Fastest", "faster", format, out);
        add_verdict(summary, FIGURE_MEMORY, "Least memory", "less", format, out);
        buffer_add_text(out, summary->groups.count > 1 ? "\n" : "");
        buffer_add_text(out, summary->warnings.count > 0 ? "\n" : "");
    }
    for (size_t i = 0; i < summary->warnings.count; i++) {
        CLEANUP(buffer_done) struct buffer text = { 0 };

        escape_unsafe(summary->warnings.items[i], &text);
        if (format == SPOOR_TEXT)
            page_note(&page, PAGE_RED, "warning", buffer_text(&text));
        else
            buffer_format(out, "- Warning: %s\n", buffer_text(&text));
    }
}

/* ---- JSON --------------------------------------------------------------- */

static void add_commands(const struct bench_summary *summary, struct json_writer *json)
{
    json_begin(json, "commands", '[');
    for (size_t group = 0; group < summary->groups.count; group++) {
        const struct run_group *runs = &summary->groups.items[group];

        json_begin(json, NULL, '{');
        json_add_text(json, "name", runs->label);
        json_add_u64(json, "failed", summary->failed[group]);
        json_begin_line(json, "runs", '[');
        for (size_t i = 0; i < runs->count; i++)
            json_add_u64(json, NULL, (uint64_t)(runs->runs[i] - summary->set->runs));
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void add_cell(const struct bench_cell *cell, struct json_writer *json)
{
    const struct statistics *statistics = &cell->statistics;
    const struct {
        const char *key;
        double value;
    } members[] = {
        { "median", statistics->median },
        { "low", statistics->low },
        { "high", statistics->high },
        { "min", statistics->min },
        { "max", statistics->max },
        { "mean", statistics->mean },
        { "spread", statistics->spread },
        { "lower_quartile", statistics_quantile(cell->values, statistics->count, 0.25) },
        { "upper_quartile", statistics_quantile(cell->values, statistics->count, 0.75) },
        { "ratio", cell->to_best.ratio },
        { "ratio_low", cell->to_best.low },
        { "ratio_high", cell->to_best.high },
        { "p", cell->to_best.p },
    };

    json_begin(json, NULL, '{');
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_add_number(json, members[i].key, members[i].value);
    json_add_bool(json, "differs", cell->to_best.is_significant);
    json_add_u64(json, "outliers", statistics->outliers);
    json_begin_line(json, "values", '[');
    for (size_t i = 0; i < statistics->count; i++)
        json_add_number(json, NULL, cell->values[i]);
    json_end(json);
    json_end(json);
}

static void write_json(const struct bench_summary *summary, struct buffer *out)
{
    static const char *const units[] = { [RUN_SECONDS] = "seconds",
                                         [RUN_BYTES] = "bytes",
                                         [RUN_JOULES] = "joules",
                                         [RUN_NUMBER] = NULL };
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", "spoor-bench/1");
    add_commands(summary, &json);
    json_begin(&json, "figures", '[');
    for (size_t figure = 0; figure < RUN_FIGURES; figure++) {
        if (summary->best[figure] == SIZE_MAX)
            continue;
        json_begin(&json, NULL, '{');
        json_add_text(&json, "name", run_figures[figure].name);
        json_add_text(&json, "label", run_figures[figure].label);
        json_add_text(&json, "unit", units[run_figures[figure].unit]);
        json_add_u64(&json, "best", summary->best[figure]);
        json_begin(&json, "commands", '[');
        for (size_t group = 0; group < summary->groups.count; group++)
            add_cell(cell_at(summary, figure, group), &json);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_begin(&json, "warnings", '[');
    for (size_t i = 0; i < summary->warnings.count; i++)
        json_add_text(&json, NULL, summary->warnings.items[i]);
    json_end(&json);
    json_end(&json);
    buffer_add_text(out, "\n");
}

void bench_write(const struct bench_summary *summary, enum spoor_format format,
                 const struct format_style *style, struct buffer *out)
{
    if (format == SPOOR_JSON)
        write_json(summary, out);
    else if (format == SPOOR_CSV)
        write_table(summary, format, style, out);
    else
        write_for_people(summary, format, style, out);
}
