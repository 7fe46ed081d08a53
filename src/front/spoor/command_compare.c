/* SPDX-License-Identifier: Apache-2.0 */
/* command_compare.c - compare sets of runs, and check runs against limits or earlier runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "output/format.h"
#include "output/table.h"
#include "output/text_layout.h"
#include "runs/compare.h"
#include "runs/run_set.h"
#include "text/escape.h"

enum { FIGURES_MAX = 32 };

/* The figures that --figures lists, or all figures with short names. */
struct figure_list {
    struct run_figure items[FIGURES_MAX];
    size_t count;
};

static int list_figures(const struct settings *settings, struct figure_list *ret,
                        struct spoor_error *err)
{
    const char *text = settings->figures;

    *ret = (struct figure_list){ .count = text ? 0 : RUN_FIGURES };
    memcpy(ret->items, run_figures, sizeof(run_figures));
    while (text && *text) {
        size_t length = strcspn(text, ",");
        AUTO_FREE char *name = strndup(text, length);

        if (ret->count == FIGURES_MAX)
            return error_set(err, EINVAL, "--figures: at most %d are allowed", FIGURES_MAX);
        if (!name)
            return error_set(err, ENOMEM, "out of memory");
        if (run_figure_find(name, &ret->items[ret->count++], err) < 0)
            return error_prefix(err, EINVAL, "--figures");
        text += length + (text[length] == ',');
    }
    return 0;
}

/* ---- the sets ----------------------------------------------------------- */

struct compared {
    struct run_set *sets; /* owned; one per argument */
    size_t set_count;
    struct run_groups groups; /* the sets to compare */
    struct figure_list figures;
    const struct settings *settings;
};

static void compared_done(struct compared *compared)
{
    run_groups_done(&compared->groups);
    for (size_t i = 0; i < compared->set_count; i++)
        run_set_done(&compared->sets[i]);
    free(compared->sets);
}

/* Returns the name of a file without its directory, if it is unique. */
static const char *short_name(char **names, size_t count, size_t index)
{
    const char *name = basename(names[index]);

    for (size_t i = 0; i < count; i++) {
        if (*name == '\0' || (i != index && strcmp(basename(names[i]), name) == 0))
            return names[index];
    }
    return name;
}

static int make_groups(struct compared *compared, char **names, struct spoor_error *err)
{
    struct run_groups *groups = &compared->groups;

    groups->items = calloc(compared->set_count, sizeof(*groups->items));
    for (size_t i = 0; groups->items && i < compared->set_count; i++) {
        const struct run_set *set = &compared->sets[i];
        struct run_group *group = &groups->items[groups->count++];
        struct buffer label = { 0 };

        escape_unsafe(short_name(names, compared->set_count, i), &label);
        *group =
            (struct run_group){ label.text, calloc(set->count + 1, sizeof(struct record *)),
                                set->count };
        if (!group->label || !group->runs)
            return error_set(err, ENOMEM, "out of memory");
        for (size_t k = 0; k < set->count; k++)
            group->runs[k] = &set->runs[k];
    }
    return groups->items ? 0 : error_set(err, ENOMEM, "out of memory");
}

static int divide_set(struct compared *compared, char **names, size_t count,
                      struct spoor_error *err)
{
    const char *property = compared->settings->by ? compared->settings->by : "name";
    int r = run_set_load(&compared->sets[0], names, count, err);

    compared->set_count = 1;
    if (r == 0)
        r = run_groups_make(&compared->sets[0], property, &compared->groups, err);
    if (r == 0 && compared->groups.count < 2)
        return error_set(err, EINVAL,
                         "nothing to compare: all runs have the same %s; name two files, or "
                         "divide the runs with --by",
                         property);
    return r;
}

static int load_sets(struct compared *compared, char **names, size_t count,
                     struct spoor_error *err)
{
    int r = 0;

    compared->sets = calloc(count, sizeof(*compared->sets));
    if (!compared->sets)
        return error_set(err, ENOMEM, "out of memory");
    if (count == 1 || compared->settings->by)
        return divide_set(compared, names, count, err);
    for (; r == 0 && compared->set_count < count; compared->set_count++)
        r = run_set_load(&compared->sets[compared->set_count], &names[compared->set_count], 1,
                         err);
    return r < 0 ? r : make_groups(compared, names, err);
}

/* ---- the output --------------------------------------------------------- */

/* Adds "+6.5 %", or nothing if the ratio is unknown. */
static void add_percent(double ratio, struct buffer *out)
{
    double percent = 100 * (ratio - 1);

    if (fabs(percent) < 0.05)
        buffer_add_text(out, "0.0 %");
    else if (!isnan(ratio))
        buffer_format(out, "%+.*f %%", fabs(percent) < 100 ? 1 : 0, percent);
}

/* Adds "+6.5 % (+4.2 % to +8.9 %)". */
static void add_change(const struct figure_change *change, struct buffer *out)
{
    buffer_add_text(out, "");
    add_percent(change->ratio, out);
    if (isnan(change->ratio_low) || isnan(change->ratio))
        return;
    buffer_add_text(out, " (");
    add_percent(change->ratio_low, out);
    buffer_add_text(out, " to ");
    add_percent(change->ratio_high, out);
    buffer_add_text(out, ")");
}

static const char *const verdicts[] = {
    [VERDICT_UNKNOWN] = "unknown",
    [VERDICT_SAME] = "no difference",
    [VERDICT_DIFFERS] = "differs",
};

/* Adds "1.46 GB", with the bounds of a single run: "1.46 GB (1.4 GB to 1.5 GB)". */
static void add_value(const struct run_figure *figure, const struct set_figure *set,
                      struct table *table)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    bool is_single = set->statistics.count == 1;

    run_figure_add(figure, set->statistics.median, is_single ? set->low : (double)NAN,
                   is_single ? set->high : (double)NAN, &text);
    table_add_number(table, set->statistics.median, text.text);
}

/* The headings name two sets. With more sets, a column names the set that is compared with the
 * first. */
static bool has_set_column(const struct compared *compared)
{
    return compared->groups.count > 2;
}

static void add_row(const struct compared *compared, const struct run_figure *figure,
                    const struct run_group *other, const struct figure_change *change,
                    struct table *table)
{
    CLEANUP(buffer_done) struct buffer percent = { 0 }, result = { 0 };

    table_add_text(table, figure->label);
    if (has_set_column(compared))
        table_add_text(table, other->label);
    add_value(figure, &change->a, table);
    add_value(figure, &change->b, table);
    add_change(change, &percent);
    table_add_number(table, 100 * (change->ratio - 1), percent.text);
    if (!change->is_range)
        buffer_add_text(&result, verdicts[change->verdict]);
    if (change->verdict == VERDICT_UNKNOWN)
        buffer_add_text(&result, ": ");
    if (change->is_range || change->verdict == VERDICT_UNKNOWN)
        escape_unsafe(change->note, &result);
    table_add_text(table, result.text);
}

static int each_change(const struct compared *compared,
                       void (*use)(const struct compared *compared, size_t figure, size_t group,
                                   const struct figure_change *change, void *data),
                       void *data)
{
    const struct run_groups *groups = &compared->groups;
    int r = 0;

    for (size_t i = 0; i < compared->figures.count; i++) {
        for (size_t k = 1; r == 0 && k < groups->count; k++) {
            struct figure_change change;

            r = runs_compare(&groups->items[0], &groups->items[k], &compared->figures.items[i],
                             &change);
            if (r == 0)
                use(compared, i, k, &change, data);
        }
    }
    return r;
}

/* A figure that is unknown or 0 in all runs has no row, unless it was requested. */
static void collect_row(const struct compared *compared, size_t figure, size_t group,
                        const struct figure_change *change, void *data)
{
    if (change->a.statistics.max > 0 || change->b.statistics.max > 0 ||
        compared->settings->figures)
        add_row(compared, &compared->figures.items[figure], &compared->groups.items[group],
                change, data);
}

static void add_notes(const struct compared *compared, struct page *page)
{
    CLEANUP(buffer_done) struct buffer machines = { 0 };
    bool is_single = true;

    for (size_t i = 0; i < compared->groups.count; i++)
        is_single &= compared->groups.items[i].count == 1;
    runs_describe_machines(&compared->groups, &machines);
    if (machines.text)
        page_note(page, PAGE_RED, "machines", machines.text);
    if (is_single)
        page_note(
            page, PAGE_DIM, "note",
            "one run each: a difference may be chance. Several runs of each decide ('spoor "
            "bench').");
}

static int write_table(const struct compared *compared, enum spoor_format format,
                       const struct format_style *style, struct buffer *out)
{
    const struct run_group *first = &compared->groups.items[0];
    const struct table_column columns[] = {
        { "FIGURE", "figure" },
        { "SET", "set" },
        { has_set_column(compared) ? "FIRST" : first[0].label, "first" },
        { has_set_column(compared) ? "OTHER" : first[1].label, "other" },
        { "CHANGE", "percent" },
        { "RESULT", "result" },
    };
    struct table_column shown[ARRAY_SIZE(columns)];
    CLEANUP(table_done) struct table table = { .columns = shown };
    struct page page = { out, style->has_color, style->has_unicode, style->columns };
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        if (i != 1 || has_set_column(compared))
            shown[table.column_count++] = columns[i];
    }
    r = each_change(compared, collect_row, &table);
    if (format != SPOOR_CSV && has_set_column(compared)) {
        buffer_add_text(out, "First: ");
        escape_unsafe(first->label, out);
        buffer_format(out, " (runs: %zu)\n\n", first->count);
    }
    table_write(&table, format, style, out);
    if (format != SPOOR_CSV)
        add_notes(compared, &page);
    return r < 0 ? r : table_error(&table);
}

/* ---- JSON --------------------------------------------------------------- */

static void add_set_json(const char *key, const struct set_figure *set,
                         struct json_writer *json)
{
    json_begin_line(json, key, '{');
    json_add_u64(json, "runs", set->statistics.count);
    json_add_number(json, "median", set->statistics.median);
    json_add_number(json, "median_low", set->statistics.low);
    json_add_number(json, "median_high", set->statistics.high);
    json_add_number(json, "min", set->statistics.min);
    json_add_number(json, "max", set->statistics.max);
    json_add_number(json, "low", set->low);
    json_add_number(json, "high", set->high);
    json_add_bool(json, "exact", set->is_exact && set->statistics.count > 0);
    if (set->reason)
        json_add_text(json, "reason", set->reason);
    json_end(json);
}

static void collect_json(const struct compared *compared, size_t figure, size_t group,
                         const struct figure_change *change, void *data)
{
    const struct run_figure *row = &compared->figures.items[figure];
    struct json_writer *json = data;

    json_begin(json, NULL, '{');
    json_add_text(json, "figure", row->name);
    json_add_text(json, "path", row->path ? row->path : "run.elapsed_seconds");
    json_add_text(json, "before", compared->groups.items[0].label);
    json_add_text(json, "after", compared->groups.items[group].label);
    add_set_json("a", &change->a, json);
    add_set_json("b", &change->b, json);
    json_add_number(json, "ratio", change->ratio);
    json_add_number(json, "ratio_low", change->ratio_low);
    json_add_number(json, "ratio_high", change->ratio_high);
    json_add_number(json, "p", change->p);
    json_add_text(json, "verdict",
                  change->verdict == VERDICT_SAME ? "same" : verdicts[change->verdict]);
    json_add_text(json, "reason", change->note);
    json_end(json);
}

static int write_json(const struct compared *compared, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer machines = { 0 };
    struct json_writer json = { .out = out };
    int r;

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    json_begin(&json, "sets", '[');
    for (size_t i = 0; i < compared->groups.count; i++) {
        json_begin_line(&json, NULL, '{');
        json_add_text(&json, "name", compared->groups.items[i].label);
        json_add_u64(&json, "runs", compared->groups.items[i].count);
        json_end(&json);
    }
    json_end(&json);
    runs_describe_machines(&compared->groups, &machines);
    json_add_bool(&json, "same_machine", machines.length == 0);
    json_begin(&json, "changes", '[');
    r = each_change(compared, collect_json, &json);
    json_end(&json);
    json_end(&json);
    buffer_add_text(out, "\n");
    return r;
}

static int write_page(const struct compared *compared, struct buffer *out)
{
    AUTO_FREE struct record *runs = NULL;
    size_t count = 0, total = 0;

    for (size_t i = 0; i < compared->groups.count; i++)
        total += compared->groups.items[i].count;
    runs = calloc(total + 1, sizeof(*runs));
    if (!runs)
        return -ENOMEM;
    for (size_t i = 0; i < compared->groups.count; i++) {
        for (size_t k = 0; k < compared->groups.items[i].count; k++)
            runs[count++] = *compared->groups.items[i].runs[k];
    }
    html_write_all(runs, count, out);
    return 0;
}

static int write_comparison(void *data, const struct output *output,
                            const struct format_style *style, struct buffer *out,
                            UNUSED struct spoor_error *err)
{
    return output->format == SPOOR_JSON   ? write_json(data, out)
           : output->format == SPOOR_HTML ? write_page(data, out)
                                          : write_table(data, output->format, style, out);
}

int command_compare(struct settings *settings, char **runs, int count)
{
    CLEANUP(compared_done) struct compared compared = { .settings = settings };
    struct spoor_error err = { 0 };

    if (count == 0)
        return complain("missing argument: spoor compare [OPTIONS] RUNS [RUNS...]");
    if (list_figures(settings, &compared.figures, &err) < 0 ||
        load_sets(&compared, runs, (size_t)count, &err) < 0)
        return complain("%s", err.message);
    return outputs_print(settings, FORMATS_ALL, "the comparison", write_comparison, &compared);
}

/* ---- check -------------------------------------------------------------- */

/* Each broken limit is one line of text and one object in JSON. */
struct findings {
    struct buffer text;
    struct json_writer json;
    struct buffer document;
    size_t broken;
};

static void findings_done(struct findings *findings)
{
    buffer_done(&findings->text);
    buffer_done(&findings->document);
}

static void add_finding(void *data, const struct record *run, const char *line)
{
    struct findings *findings = data;
    CLEANUP(buffer_done) struct buffer name = { 0 };

    (void)run_property(run, "name", &name, NULL); /* cannot fail: this property exists */
    findings->broken++;
    if (name.length > 0) {
        escape_unsafe(name.text, &findings->text);
        buffer_add_text(&findings->text, ": ");
    }
    escape_unsafe(line, &findings->text);
    buffer_add_text(&findings->text, "\n");
    json_begin(&findings->json, NULL, '{');
    json_add_text(&findings->json, "run", run->id);
    json_add_text(&findings->json, "name", name.text);
    json_add_text(&findings->json, "message", line);
    json_end(&findings->json);
}

static int check_baseline(const struct settings *settings, const struct figure_list *figures,
                          const struct run_set *earlier, const struct record *run,
                          struct findings *findings, struct spoor_error *err)
{
    CLEANUP(baseline_done) struct run_group baseline = { 0 };

    if (baseline_find(earlier, run, &baseline) < 0)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < figures->count; i++) {
        CLEANUP(buffer_done) struct buffer line = { 0 };
        int r;

        /* The bytes read depend on the page cache, not on the program. */
        if (!settings->figures && strcmp(figures->items[i].name, "read") == 0)
            continue;
        r = baseline_check(&baseline, &figures->items[i], run, settings->tolerance, &line);
        if (r == -ENODATA)
            return error_set(err, ENODATA,
                             "--baseline has %zu comparable run%s (successful, earlier, on the "
                             "same kind of machine): %d are needed, or --tolerance",
                             baseline.count, baseline.count == 1 ? "" : "s", COMPARE_RANGE_MIN);
        if (r > 0 && line.text)
            add_finding(findings, run, line.text);
    }
    if (baseline.count == 0)
        return error_set(err, ENODATA,
                         "--baseline has no run to compare with: none is earlier, "
                         "successful and of the same kind of machine");
    return 0;
}

static int check_runs(const struct settings *settings, const struct run_set *set,
                      struct findings *findings, struct spoor_error *err)
{
    CLEANUP(run_set_done) struct run_set earlier = { 0 };
    struct figure_list figures;
    char *baseline = settings->baseline;
    int r = baseline ? list_figures(settings, &figures, err) : 0;

    if (r == 0 && baseline)
        r = run_set_load(&earlier, &baseline, 1, err);
    for (size_t i = 0; r == 0 && i < set->count; i++) {
        r = run_limits_check((const char *const *)settings->limits.items, &set->runs[i],
                             add_finding, findings, err);
        if (r == 0 && baseline)
            r = check_baseline(settings, &figures, &earlier, &set->runs[i], findings, err);
    }
    return r;
}

static int write_findings(void *data, const struct output *output,
                          UNUSED const struct format_style *style, struct buffer *out,
                          UNUSED struct spoor_error *err)
{
    const struct findings *findings = data;
    const struct buffer *text =
        output->format == SPOOR_JSON ? &findings->document : &findings->text;

    buffer_add(out, text->text, text->length);
    return buffer_error(text);
}

int command_check(struct settings *settings, char **runs, int count)
{
    CLEANUP(run_set_done) struct run_set set = { 0 };
    CLEANUP(findings_done) struct findings findings = { 0 };
    struct spoor_error err = { 0 };
    int code;

    if (count == 0)
        return complain("missing argument: spoor check [OPTIONS] RUNS...");
    if (settings->limits.count == 0 && !settings->baseline)
        return complain("nothing to check: give --max FIGURE=VALUE or --baseline RUNS");
    findings.json.out = &findings.document;
    json_begin(&findings.json, NULL, '[');
    if (run_set_load(&set, runs, (size_t)count, &err) < 0 ||
        check_runs(settings, &set, &findings, &err) < 0)
        return complain("%s", err.message);
    json_end(&findings.json);
    buffer_add_text(&findings.document, "\n");
    code = outputs_print(settings, FORMATS_TEXT_JSON, "the result", write_findings, &findings);
    return code != 0 ? code : findings.broken > 0;
}
