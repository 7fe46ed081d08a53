/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/outputs.h"
#include "front/spoor/settings.h"
#include "history/index.h"
#include "history/store.h"
#include "output/format.h"
#include "output/table.h"
#include "recommend/needs.h"
#include "record/launch.h"
#include "record/row.h"
#include "runs/run_set.h"
#include "text/find.h"

/* A history, its index, and the runs that the command line selects. */
struct query {
    const struct settings *settings;
    struct history_index index;
    struct history_filter filter;
    char folder[PATH_MAX];
};

static void query_done(struct query *query)
{
    history_index_close(&query->index);
    history_filter_done(&query->filter);
}

static int query_open(struct query *query, const struct settings *settings,
                      struct spoor_error *err)
{
    int r = history_folder(query->folder, err);

    query->settings = settings;
    return r < 0 ? r : history_index_open(query->folder, &query->index, err);
}

/* Applies the filters of the command line: all must hold. */
static int query_filter(struct query *query, char **filters, int count, struct spoor_error *err)
{
    double now = (double)time(NULL);
    int r = 0;

    if (query->settings->name)
        r = history_filter_add_one(&query->filter, "name", "=", query->settings->name, now,
                                   err);
    for (int i = 0; r == 0 && i < count; i++)
        r = history_filter_add(&query->filter, filters[i] + (filters[i][0] == '@'), now, err);
    if (query->settings->wants_last)
        query->filter.limit = 1;
    if (query->settings->run_limit > 0)
        query->filter.limit = query->settings->run_limit;
    return r;
}

static void warn_about_damage(const struct query *query)
{
    if (query->index.damaged > 0)
        program_warn(&spoor_program, "%llu damaged line%s of the history in '%s' skipped",
                     (unsigned long long)query->index.damaged,
                     query->index.damaged == 1 ? "" : "s", query->folder);
}

static bool is_for_people(const struct output *output)
{
    return output->format == SPOOR_TEXT || output->format == SPOOR_MARKDOWN;
}

/* ---- the list ------------------------------------------------------------- */

enum { LIST_COLUMNS_MAX = 32, LISTED_ON_TERMINAL = 30, ID_SHOWN = 8 };

/* The source of the value of a column. */
enum column_kind {
    COLUMN_ID,
    COLUMN_STARTED,
    COLUMN_EXIT,
    COLUMN_TEXT,   /* a text of the index */
    COLUMN_FIGURE, /* a figure of the index */
    COLUMN_TAG,
    COLUMN_PATH,  /* a figure of the record */
    COLUMN_FIELD, /* a field of the record */
};

static const struct index_column {
    const char *name, *heading;
    enum column_kind kind;
    size_t offset; /* offset of a text in struct history_run */
} index_columns[] = {
    { "id", "ID", COLUMN_ID, 0 },
    { "started", "STARTED", COLUMN_STARTED, 0 },
    { "exit", "EXIT", COLUMN_EXIT, 0 },
    { "name", "NAME", COLUMN_TEXT, offsetof(struct history_run, name) },
    { "host", "HOST", COLUMN_TEXT, offsetof(struct history_run, host) },
    { "command", "COMMAND", COLUMN_TEXT, offsetof(struct history_run, command) },
    { "user", "USER", COLUMN_TEXT, offsetof(struct history_run, user) },
};

struct list_column {
    enum column_kind kind;
    struct run_figure figure; /* for COLUMN_FIGURE and COLUMN_PATH */
    size_t index;             /* for COLUMN_FIGURE: its index in run_figures */
    size_t offset;            /* for COLUMN_TEXT */
    const struct field *field;
};

struct list {
    struct query *query;
    char *names; /* owned: the list of columns, cut into words */
    struct table_column headings[LIST_COLUMNS_MAX];
    struct list_column columns[LIST_COLUMNS_MAX];
    size_t count;
    bool needs_records;
    bool is_for_people;
    struct table table;
};

static const struct field *find_field(const char *name)
{
    const struct field_table *tables[] = { &record_run_fields, &record_machine_fields,
                                           &record_launch_fields };
    static const char launch[] = "launch.";
    char flat[ROW_NAME_SIZE];

    name += strncmp(name, launch, strlen(launch)) == 0 ? strlen(launch) : 0;
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct field *field = &tables[t]->rows[i];

            row_name(field->path, flat);
            if ((strcmp(flat, name) == 0 || strcmp(field->path, name) == 0) &&
                field->kind != FIELD_TAGS && field->kind != FIELD_TEXTS)
                return field;
        }
    }
    return NULL;
}

static int find_column(const char *name, struct list_column *ret, const char **ret_heading,
                       struct spoor_error *err)
{
    const struct index_column *column = FIND_ROW(index_columns, name, name);
    const struct run_figure *figure = FIND_ROW(run_figures, name, name);

    *ret_heading = name;
    if (column) {
        ret->kind = column->kind;
        ret->offset = column->offset;
        *ret_heading = column->heading;
        return 0;
    }
    if (figure) {
        *ret = (struct list_column){ COLUMN_FIGURE, *figure, (size_t)(figure - run_figures), 0,
                                     NULL };
        *ret_heading = figure->heading;
        return 0;
    }
    ret->kind = COLUMN_TAG;
    if (strncmp(name, "tag.", strlen("tag.")) == 0)
        return 0;
    ret->kind = COLUMN_FIELD;
    ret->field = find_field(name);
    if (ret->field)
        return 0;
    ret->kind = COLUMN_PATH;
    return run_figure_find(name, &ret->figure, err);
}

static int find_columns(struct list *list, const char *names, struct spoor_error *err)
{
    char *rest, *name;
    int r = 0;

    list->names = rest = strdup(names);
    if (!list->names)
        return error_set(err, ENOMEM, "out of memory");
    while (r == 0 && (name = strsep(&rest, ",")) != NULL) {
        struct list_column *column = &list->columns[list->count];
        const char *heading;

        if (list->count == LIST_COLUMNS_MAX)
            return error_set(err, EINVAL, "--columns: at most %d columns are allowed",
                             LIST_COLUMNS_MAX);
        r = find_column(name, column, &heading, err);
        if (r < 0)
            return error_prefix(err, r, "--columns");
        list->headings[list->count++] = (struct table_column){ heading, name };
        list->needs_records |= column->kind >= COLUMN_TAG;
    }
    return r;
}

static void add_date(struct list *list, double seconds)
{
    time_t time = (time_t)seconds;
    struct tm date = { 0 };
    char text[32] = "";

    if (list->is_for_people && !isnan(seconds) && localtime_r(&time, &date))
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &date); /* fits */
    table_add_text(&list->table, isnan(seconds)        ? NULL
                                 : list->is_for_people ? text
                                                       : clock_format(seconds).text);
}

static void add_id(struct list *list, const char *id)
{
    char text[RUN_ID_SIZE] = "";

    (void)snprintf(text, sizeof(text), "%.*s", list->is_for_people ? ID_SHOWN : RUN_ID_SIZE,
                   id);
    table_add_text(&list->table, text);
}

static void add_figure(struct list *list, const struct run_figure *figure, double value)
{
    table_add_number(&list->table, value,
                     isnan(value) ? NULL : run_figure_text(figure, value).text);
}

static void add_tag(struct list *list, const struct record *record, const char *key)
{
    const struct record_tag *tag =
        FIND_IN_LIST(record->tags.items, record->tags.count, key, key);

    table_add_text(&list->table, tag ? tag->value : NULL);
}

static void add_count(struct list *list, double value)
{
    table_add_number(&list->table, value, isnan(value) ? NULL : number_count(value).text);
}

static void add_field(struct list *list, const struct field *field, const struct record *record)
{
    const struct field_table *launch = &record_launch_fields;
    bool is_of_launch = field >= launch->rows && field < launch->rows + launch->count;
    const void *base = is_of_launch ? (const void *)record->launch : record;
    const void *at = base ? field_at(field, base) : NULL;

    if (!at) {
        table_add_text(&list->table, NULL);
        return;
    }
    switch (field->kind) {
    case FIELD_TEXT:
        table_add_text(&list->table, *(const char *const *)at);
        break;
    case FIELD_COUNT:
        add_count(list, as_number(*(const uint64_t *)at));
        break;
    case FIELD_NUMBER:
        add_figure(list, &(struct run_figure){ .unit = RUN_NUMBER }, *(const double *)at);
        break;
    case FIELD_DATE:
        add_date(list, *(const double *)at);
        break;
    case FIELD_FLAG:
    case FIELD_IF_TRUE:
        table_add_text(&list->table, *(const bool *)at ? "yes" : "no");
        break;
    case FIELD_TEXTS:
    case FIELD_TAGS:
        break; /* no columns */
    }
}

static void add_cell(struct list *list, size_t index, const struct history_run *run,
                     const struct record *record)
{
    const struct list_column *column = &list->columns[index];

    switch (column->kind) {
    case COLUMN_ID:
        add_id(list, run->id);
        break;
    case COLUMN_STARTED:
        add_date(list, run->started_at);
        break;
    case COLUMN_EXIT:
        add_count(list, run->exit_code);
        break;
    case COLUMN_TEXT:
        table_add_text(&list->table, *(const char *const *)(const void *)((const char *)run +
                                                                          column->offset));
        break;
    case COLUMN_FIGURE:
        add_figure(list, &column->figure, run->figures[column->index]);
        break;
    case COLUMN_TAG:
        add_tag(list, record, list->headings[index].key + strlen("tag."));
        break;
    case COLUMN_PATH:
        add_figure(list, &column->figure, run_figure_get(&column->figure, record).value);
        break;
    case COLUMN_FIELD:
        add_field(list, column->field, record);
        break;
    }
}

static int add_row(const struct history_run *run, void *data, struct spoor_error *err)
{
    struct list *list = data;
    CLEANUP(record_done) struct record record;
    int r = 0;

    record_init(&record);
    if (list->needs_records)
        r = history_load(run, &record, err);
    for (size_t i = 0; r == 0 && i < list->count; i++)
        add_cell(list, i, run, &record);
    return r;
}

static void list_done(struct list *list)
{
    table_done(&list->table);
    free(list->names);
}

static int write_list(void *data, const struct output *output, const struct format_style *style,
                      struct buffer *out, struct spoor_error *err)
{
    static const char people[] = "id,started,name,time,cpu,memory,exit,command",
                      programs[] =
                          "id,started,name,command,host,user,exit,time,cpu,memory,read,"
                          "written,gpu_memory,energy";
    struct query *query = data;
    CLEANUP(list_done) struct list list = { .query = query };
    const char *columns = query->settings->columns;
    int r;

    list.is_for_people = is_for_people(output);
    if (query->filter.limit == 0 && isatty(output->fd))
        query->filter.limit = LISTED_ON_TERMINAL;
    r = find_columns(&list, columns ? columns : list.is_for_people ? people : programs, err);
    list.table.columns = list.headings;
    list.table.column_count = list.count;
    if (r == 0)
        r = history_select(&query->index, &query->filter, add_row, &list, err);
    if (r == 0 && list.table.cell_count == 0)
        program_warn(&spoor_program, "no such runs in '%s'; 'spoor run --save' keeps a run",
                     query->folder);
    if (r == 0)
        table_write(&list.table, output->format, style, out);
    return r < 0 ? r : table_error(&list.table);
}

/* Prints a table of the runs that the filters select. Returns the exit code, as do the
 * functions below. */
static int print_table(struct settings *settings, char **filters, int count,
                       output_write *write)
{
    CLEANUP(query_done) struct query query = { 0 };
    struct spoor_error err = { 0 };

    if (query_open(&query, settings, &err) < 0 ||
        query_filter(&query, filters, count, &err) < 0)
        return complain("%s", err.message);
    warn_about_damage(&query);
    return outputs_print(settings, FORMATS_TABLE, "the list", write, &query);
}

int command_history(struct settings *settings, char **filters, int count)
{
    return print_table(settings, filters, count, write_list);
}

/* ---- show ----------------------------------------------------------------- */

int command_history_show(struct settings *settings, char **operands, int count)
{
    CLEANUP(text_list_done) struct text_list runs = { 0 };
    struct spoor_error err = { 0 };
    int r = settings_select(settings, NULL, 0, &runs, &err);

    for (int i = 0; r == 0 && i < count; i++) {
        bool is_whole = operands[i][0] == '@' || run_set_is_id(operands[i]);

        r = text_list_format(&runs, &err, "%s%s", is_whole ? "" : "@", operands[i]);
    }
    if (r < 0)
        return complain("%s", err.message);
    if (runs.count == 0)
        return complain("missing argument: spoor history show ID|FILTER");
    if (!settings->has_format && settings->outputs.count == 0) {
        settings->has_format = true;
        settings->format = SPOOR_TEXT;
    }
    return report_runs(settings, runs.items, runs.count);
}

/* ---- stats ---------------------------------------------------------------- */

/* Recommendations and checks use this many of the newest runs of a name. */
enum { NEEDED_RUNS = 20 };

/* The runs with the same name or, if they have no name, the same command. */
struct group {
    struct query *query;
    struct table *table;
    char *label; /* NULL: there is no run yet */
    bool has_name;
    size_t runs, failed, times, memories; /* counts */
    double *time, *memory;                /* an owned array each */
};

static void group_done(struct group *group)
{
    free(group->label);
    free(group->time);
    free(group->memory);
}

static int append_value(double **values, size_t *count, double value)
{
    double *grown = *values;

    if (isnan(value))
        return 0;
    if ((*count & (*count - 1)) == 0) /* a power of two: full */
        grown = reallocarray(grown, *count > 0 ? *count * 2 : 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *values = grown;
    grown[(*count)++] = value;
    return 0;
}

enum { FIGURE_TIME = 0, FIGURE_MEMORY = 2 }; /* indexes in run_figures */

static const struct table_column stats_columns[] = {
    { "NAME", "name" },
    { "RUNS", "runs" },
    { "FAILED", "failed" },
    { "TIME P50", "time_p50" },
    { "P95", "time_p95" },
    { "MAX", "time_max" },
    { "MEMORY P50", "memory_p50" },
    { "P95", "memory_p95" },
    { "MAX", "memory_max" },
    { "REQUEST: CPUS", "request_cpus" },
    { "MEMORY", "request_memory" },
    { "TIME", "request_time" },
};

static void add_quantiles(struct table *table, double *values, size_t count,
                          const struct run_figure *figure)
{
    static const double quantiles[] = { 0.5, 0.95, 1 };
    struct statistics statistics;

    statistics_of(values, count, &statistics); /* sorts `values` */
    for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
        double value = statistics_quantile(values, count, quantiles[i]);

        table_add_number(table, value,
                         isnan(value) ? NULL : run_figure_text(figure, value).text);
    }
}

struct needs_list {
    struct needs items[NEEDED_RUNS];
    size_t count;
};

static int add_needs(const struct history_run *run, void *data, struct spoor_error *err)
{
    struct needs_list *list = data;
    struct record record;
    int r = history_load(run, &record, err);

    if (r < 0)
        return r;
    needs_of(&record, NEEDS_MARGIN, &list->items[list->count]);
    list->count += list->items[list->count].runs;
    record_done(&record);
    return 0;
}

static int add_request(const struct group *group, struct spoor_error *err)
{
    CLEANUP(history_filter_done) struct history_filter filter = { .limit = NEEDED_RUNS };
    AUTO_FREE struct needs_list *list = calloc(1, sizeof(*list));
    struct needs needs = { 0 };
    int r;

    if (!list)
        return error_set(err, ENOMEM, "out of memory");
    r = history_filter_add_one(&filter, group->has_name ? "name" : "command", "=", group->label,
                               0, err);
    if (r == 0)
        r = history_select(&group->query->index, &filter, add_needs, list, err);
    if (r == 0 && needs_combine(list->items, list->count, 1, &needs) < 0)
        r = error_set(err, ENOMEM, "out of memory");
    if (r < 0)
        return r;
    table_add_number(group->table, needs.cpus.value, number_count(needs.cpus.value).text);
    table_add_number(group->table, needs.memory_bytes.value,
                     number_memory_step(needs.memory_bytes.value).text);
    table_add_number(group->table, needs.seconds.value,
                     number_time_step(needs.seconds.value).text);
    return 0;
}

/* Adds the row of a group, then empties the group. */
static int end_group(struct group *group, struct spoor_error *err)
{
    struct group next = { .query = group->query, .table = group->table };
    int r;

    if (!group->label)
        return 0;
    table_add_text(group->table, group->label);
    table_add_number(group->table, (double)group->runs, number_count((double)group->runs).text);
    table_add_number(group->table, (double)group->failed,
                     number_count((double)group->failed).text);
    add_quantiles(group->table, group->time, group->times, &run_figures[FIGURE_TIME]);
    add_quantiles(group->table, group->memory, group->memories, &run_figures[FIGURE_MEMORY]);
    r = add_request(group, err);
    group_done(group);
    *group = next;
    return r;
}

/* The runs must be sorted by group. */
static int add_to_group(const struct history_run *run, void *data, struct spoor_error *err)
{
    const char *label = run->name ? run->name : run->command ? run->command : "";
    bool has_name = run->name != NULL;
    struct group *group = data;
    int r = 0;

    if (group->label && (group->has_name != has_name || strcmp(group->label, label) != 0))
        r = end_group(group, err);
    if (!group->label) {
        group->label = strdup(label);
        group->has_name = has_name;
    }
    if (r == 0 &&
        (!group->label ||
         append_value(&group->time, &group->times, run->figures[FIGURE_TIME]) < 0 ||
         append_value(&group->memory, &group->memories, run->figures[FIGURE_MEMORY]) < 0))
        r = error_set(err, ENOMEM, "out of memory");
    group->runs++;
    group->failed += run->exit_code > 0;
    return r;
}

static int write_stats(void *data, const struct output *output,
                       const struct format_style *style, struct buffer *out,
                       struct spoor_error *err)
{
    struct query *query = data;
    CLEANUP(table_done)
    struct table table = { .columns = stats_columns,
                           .column_count = ARRAY_SIZE(stats_columns) };
    CLEANUP(group_done) struct group group = { .query = query, .table = &table };
    int r;

    query->filter.sorts_by_label = true;
    r = history_select(&query->index, &query->filter, add_to_group, &group, err);
    if (r == 0)
        r = end_group(&group, err);
    if (r == 0)
        table_write(&table, output->format, style, out);
    return r < 0 ? r : table_error(&table);
}

int command_history_stats(struct settings *settings, char **filters, int count)
{
    return print_table(settings, filters, count, write_stats);
}

/* ---- the usual time ------------------------------------------------------- */

static int append_time(const struct history_run *run, void *data, struct spoor_error *err)
{
    struct group *group = data;

    return append_value(&group->time, &group->times, run->figures[FIGURE_TIME]) < 0
               ? error_set(err, ENOMEM, "out of memory")
               : 0;
}

double history_usual_seconds(const char *folder, const char *name)
{
    CLEANUP(history_index_close) struct history_index index = { 0 };
    CLEANUP(history_filter_done) struct history_filter filter = { .limit = NEEDED_RUNS };
    struct group group = { 0 };
    struct statistics statistics = { .median = (double)NAN };

    if (history_index_open(folder, &index, NULL) == 0 &&
        history_filter_add_one(&filter, "name", "=", name, 0, NULL) == 0 &&
        history_filter_add_one(&filter, "exit", "=", "0", 0, NULL) == 0 &&
        history_select(&index, &filter, append_time, &group, NULL) == 0)
        statistics_of(group.time, group.times, &statistics);
    free(group.time);
    return statistics.median;
}

/* ---- prune ---------------------------------------------------------------- */

int command_history_prune(struct settings *settings, char **operands, int count)
{
    CLEANUP(query_done) struct query query = { 0 };
    struct history_removed removed = { 0 };
    struct spoor_error err = { 0 };
    const struct history_limits limits = {
        .started_after =
            settings->older_ns > 0
                ? (double)time(NULL) - (double)settings->older_ns / (double)NS_PER_SECOND
                : 0,
        .runs = settings->kept_runs,
        .bytes = settings->max_bytes,
    };

    if (count > 0)
        return complain("unexpected argument '%s'", operands[0]);
    if (settings->older_ns == 0 && limits.runs == 0 && !(limits.bytes > 0))
        return complain("missing option: spoor history prune --older TIME, --keep N or "
                        "--max-size SIZE");
    if (query_open(&query, settings, &err) < 0 ||
        history_prune(&query.index, &limits, &removed, &err) < 0)
        return complain("%s", err.message);
    program_warn(&spoor_program, "removed %llu of %llu runs", (unsigned long long)removed.runs,
                 (unsigned long long)removed.of);
    return 0;
}

/* ---- import --------------------------------------------------------------- */

/* Adds a run to the history. Returns 1 if it is new, 0 if the history already has it. */
static int import_run(struct query *query, struct record *record, struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer row = { 0 };
    char id[RUN_ID_SIZE];
    int r;

    if (!record->id) {
        row_make_id(record, id);
        record->id = id;
    }
    r = history_note_id(&query->index, record->id, err);
    if (r > 0)
        row_write(record, &row);
    if (r > 0 && history_append(query->folder, record->started_at, &row, err) < 0)
        r = -EIO;
    if (record->id == id)
        record->id = NULL;
    return r;
}

int command_history_import(struct settings *settings, char **paths, int count)
{
    CLEANUP(query_done) struct query query = { 0 };
    CLEANUP(run_set_done) struct run_set set = { 0 };
    struct spoor_error err = { 0 };
    size_t added = 0;
    int r;

    if (count == 0)
        return complain("missing argument: spoor history import FILE...");
    r = query_open(&query, settings, &err);
    if (r == 0)
        r = run_set_load(&set, paths, (size_t)count, &err);
    for (size_t i = 0; r >= 0 && i < set.count; i++) {
        r = import_run(&query, &set.runs[i], &err);
        added += r > 0;
    }
    if (r < 0)
        return complain("%s", err.message);
    program_warn(&spoor_program, "added %zu run%s; the history had %zu already", added,
                 added == 1 ? "" : "s", set.count - added);
    return 0;
}

/* ---- push ----------------------------------------------------------------- */

int command_history_push(struct settings *settings, char **operands, int count)
{
    CLEANUP(query_done) struct query query = { 0 };
    struct history_pushed pushed;
    struct spoor_error err = { 0 };

    if (count == 0 || !history_is_database(operands[0]))
        return complain("missing argument: spoor history push postgresql://... [FILTER...]");
    for (int i = 1; i < count; i++) {
        if (history_is_database(operands[i])) /* do not print the URL: it may hold a password */
            return complain("only one URL may be given");
    }
    if (query_open(&query, settings, &err) < 0 ||
        query_filter(&query, operands + 1, count - 1, &err) < 0 ||
        history_push(&query.index, &query.filter, operands[0], settings->creates_tables,
                     &pushed, &err) < 0)
        return complain("%s", err.message);
    warn_about_damage(&query);
    program_warn(&spoor_program, "added %llu run%s; the database had %llu already",
                 (unsigned long long)pushed.added, pushed.added == 1 ? "" : "s",
                 (unsigned long long)(pushed.runs - pushed.added));
    return 0;
}
