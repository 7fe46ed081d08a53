/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "output/format.h"
#include "output/recommendation.h"
#include "record/group.h"
#include "record/launch.h"
#include "record/record.h"
#include "series/figure.h"
#include "text/json_writer.h"
#include "text/number.h"

/* ---- curve json ------------------------------------------------------------ */

enum curve_part { HIGH, LOW, MEAN };

static double part_of(struct curve_value value, enum curve_part part)
{
    return part == HIGH ? value.high : part == LOW ? value.low : value.mean;
}

static void add_rounded(struct json_writer *json, double value)
{
    if (isfinite(value)) {
        json_begin_value(json, NULL);
        rounded_write(value, json->out);
    } else {
        json_add_null(json, NULL);
    }
}

/* `step` points become one, which keeps their highest and lowest values. The lowest or mean values are left out if they
 * are written the same as the highest ones at every point. */
static void add_part(struct json_writer *json, const char *key,
                     const struct record_curve *curve, const struct curve_column *column,
                     size_t step, enum curve_part part)
{
    bool is_same = part != HIGH;

    for (size_t i = 0; is_same && i < curve->count; i += step) {
        struct curve_value value = curve_get(curve, column, i, smaller(i + step, curve->count));

        is_same = rounded_equal(value.high, part_of(value, part));
    }
    if (is_same)
        return;
    json_begin_line(json, key, '[');
    for (size_t i = 0; i < curve->count; i += step)
        add_rounded(
            json, part_of(curve_get(curve, column, i, smaller(i + step, curve->count)), part));
    json_end(json);
}

static void add_column(struct json_writer *json, const struct record_curve *curve,
                       const struct curve_column *column, size_t step)
{
    json_begin(json, column->name, '{');
    json_add_text(json, "kind", column->is_rate ? "rate" : "gauge");
    add_part(json, "high", curve, column, step, HIGH);
    add_part(json, "low", curve, column, step, LOW);
    add_part(json, "mean", curve, column, step, MEAN);
    json_end(json);
}

void curve_add_json(struct json_writer *json, const struct record_curve *curve,
                    size_t max_points)
{
    size_t step = curve_step(curve, max_points);

    if (curve->count == 0) {
        json_add_null(json, "curve");
        return;
    }
    json_begin(json, "curve", '{');
    json_add_u64(json, "samples", curve->samples);
    json_begin_line(json, "seconds", '[');
    for (size_t i = 0; i < curve->count; i += step)
        json_add_number(json, NULL,
                        curve_rounded_seconds(curve, smaller(i + step, curve->count) - 1));
    json_end(json);
    json_begin(json, "columns", '{');
    for (size_t i = 0; i < curve->column_count; i++)
        add_column(json, curve, &curve->columns[i], step);
    json_end(json);
    json_end(json);
}

/* ---- json ------------------------------------------------------------------ */

/* The report as JSON, schema spoor/1.
 *
 * The keys are not listed here: they are the dotted paths in the tables of fields and of
 * figures. Writing a path opens the objects that contain it and closes all others; a few
 * sections have further keys, which the table `extras` adds. */

enum { PATH_DEPTH_MAX = 4, PATH_SIZE = 64 };

/* The open sections of the document. */
struct place {
    const struct record *record; /* NULL: the fields are of a phase or a GPU */
    unsigned depth;
    char name[PATH_DEPTH_MAX][PATH_SIZE];
};

void json_add_measure(struct json_writer *json, const char *key,
                      const struct spoor_figure *figure)
{
    json_begin_line(json, key, '{');
    json_add_number(json, "value", figure->value);
    json_add_text(json, "source", figure->source);
    json_add_bool(json, "exact", figure->is_exact);
    if (!isnan(figure->low))
        json_add_number(json, "low", figure->low);
    if (!isnan(figure->low) || !isnan(figure->high))
        json_add_number(json, "high", figure->high); /* null: no upper bound is known */
    if (isnan(figure->value) || (figure->reason && !figure->is_exact))
        json_add_text(json, "reason", figure->reason ? figure->reason : "not known");
    json_end(json);
}

/* ---- fields --------------------------------------------------------------- */

static void add_texts(struct json_writer *json, const char *key, const char *const *texts)
{
    if (!texts) {
        json_add_null(json, key);
        return;
    }
    json_begin_line(json, key, '[');
    for (; *texts; texts++)
        json_add_text(json, NULL, *texts);
    json_end(json);
}

static void add_tags(struct json_writer *json, const char *key, const struct record_tags *tags)
{
    json_begin(json, key, '{');
    for (size_t i = 0; i < tags->count; i++)
        json_add_text(json, tags->items[i].key, tags->items[i].value);
    json_end(json);
}

static void add_field(struct json_writer *json, const char *key, const struct field *field,
                      const void *base)
{
    const void *at = field_at(field, base);

    if (field_add_json(json, key, field, base))
        return;
    if (field->kind == FIELD_TEXTS)
        add_texts(json, key, *(const char *const *const *)at);
    else
        add_tags(json, key, at);
}

/* The paths of the table must not contain dots. */
static void add_fields(struct json_writer *json, struct field_table table, const void *base)
{
    for (size_t i = 0; i < table.count; i++)
        add_field(json, table.rows[i].path, &table.rows[i], base);
}

/* `base` is the struct that has the list. */
static void add_list(struct json_writer *json, const struct list_field *list, const void *base)
{
    const char *dot = strrchr(list->path, '.');
    const char *items;
    size_t count;

    memcpy(&items, (const char *)base + list->items, sizeof(items));
    memcpy(&count, (const char *)base + list->count, sizeof(count));
    json_begin(json, dot ? dot + 1 : list->path, '[');
    for (size_t i = 0; i < count; i++) {
        json_begin_line(json, NULL, '{');
        add_fields(json, list->fields, items + i * list->item_size);
        json_end(json);
    }
    json_end(json);
}

/* ---- keys of sections that no table has ----------------------------------- */

static void add_gpu_list(struct json_writer *json, const struct place *place)
{
    add_list(json, &record_gpu_list, place->record);
    if (place->record->server) /* add_server() writes "cloud" at the top level */
        return;
    json_begin_line(json, "cloud", '{');
    if (place->record->cloud)
        add_fields(json, record_cloud_fields, place->record->cloud);
    json_end(json);
}

static void add_selected(struct json_writer *json, const struct record *record, const char *key)
{
    json_begin_line(json, key, '[');
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (record->gpus[i].is_selected)
            json_add_text(json, NULL, record->gpus[i].uuid);
    }
    json_end(json);
}

static void add_gpu_limits(struct json_writer *json, const struct place *place)
{
    add_selected(json, place->record, "gpus");
}

static void begin_gpu(struct json_writer *json, const struct place *place)
{
    if (!place->record)
        return;
    json_add_u64(json, "count", place->record->whole_gpus);
    add_selected(json, place->record, "selected");
}

static void add_device(struct json_writer *json, const struct record_gpu *gpu);

static void end_gpu(struct json_writer *json, const struct place *place)
{
    if (!place->record)
        return;
    json_begin(json, "devices", '[');
    for (size_t i = 0; i < place->record->gpu_count; i++) {
        if (place->record->gpus[i].is_selected)
            add_device(json, &place->record->gpus[i]);
    }
    json_end(json);
}

static void end_network(struct json_writer *json, const struct place *place)
{
    const struct record *record = place->record;

    json_add_text(json, "scope", "host");
    if (record && !record->system)
        add_list(json, &record_remote_list, record);
}

static void end_processes(struct json_writer *json, const struct place *place)
{
    const struct record *record = place->record;

    if (!record || record->system)
        return;
    add_list(json, &record_process_list, record);
    add_list(json, &record_process_sum_list, record);
}

static void end_group(struct json_writer *json, const struct place *place)
{
    add_list(json, &record_missing_list, place->record->group);
}

/* Adds keys of a section before the fields of the tables, and after them. */
static const struct {
    const char *section;
    void (*begin)(struct json_writer *json, const struct place *place);
    void (*end)(struct json_writer *json, const struct place *place);
} extras[] = {
    { "host", NULL, add_gpu_list },       { "limits", NULL, add_gpu_limits },
    { "gpu", begin_gpu, end_gpu },        { "network", NULL, end_network },
    { "processes", NULL, end_processes }, { "group", NULL, end_group },
};

/* ---- paths ---------------------------------------------------------------- */

static void enter(struct json_writer *json, struct place *place, const char *name,
                  size_t length)
{
    char *copy = place->name[place->depth++];

    memcpy(copy, name, length);
    copy[length] = '\0';
    json_begin(json, copy, '{');
    for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
        if (place->depth == 1 && extras[i].begin && strcmp(extras[i].section, copy) == 0)
            extras[i].begin(json, place);
    }
}

static void leave_to(struct json_writer *json, struct place *place, unsigned depth)
{
    while (place->depth > depth) {
        place->depth--;
        for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
            if (place->depth == 0 && extras[i].end &&
                strcmp(extras[i].section, place->name[0]) == 0)
                extras[i].end(json, place);
        }
        json_end(json);
    }
}

/* Opens and closes sections until exactly the sections of `path` are open. Returns the last
 * part of the path. */
static const char *go_to(struct json_writer *json, struct place *place, const char *path)
{
    unsigned depth = 0;
    const char *dot;

    while ((dot = strchr(path, '.')) && depth < PATH_DEPTH_MAX && dot - path < PATH_SIZE) {
        size_t length = (size_t)(dot - path);

        if (depth >= place->depth || strlen(place->name[depth]) != length ||
            memcmp(place->name[depth], path, length) != 0) {
            leave_to(json, place, depth);
            enter(json, place, path, length);
        }
        depth++;
        path = dot + 1;
    }
    leave_to(json, place, depth);
    return path;
}

/* Adds the fields of a table that belong to the whole record; `base` is the struct that
 * holds them. */
static void add_sections(struct json_writer *json, const struct field_table *table,
                         const struct record *record, const void *base)
{
    struct place place = { .record = record };

    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->rows[i];

        add_field(json, go_to(json, &place, field->path), field, base);
    }
    leave_to(json, &place, 0);
}

static void add_figures(struct json_writer *json, const struct spoor_figure *figures,
                        const struct record *record)
{
    struct place place = { .record = record };

    for (size_t i = 0; figures && i < figure_count(); i++)
        json_add_measure(json, go_to(json, &place, figure_path(i)), &figures[i]);
    leave_to(json, &place, 0);
}

static void add_device(struct json_writer *json, const struct record_gpu *gpu)
{
    struct place place = { 0 };

    json_begin(json, NULL, '{');
    add_fields(json, (struct field_table){ record_gpu_list.fields.rows, RECORD_GPU_IDENTITY },
               gpu);
    json_add_u64(json, go_to(json, &place, "memory.total_bytes"), gpu->memory_bytes);
    for (int i = 0; i < RECORD_GPU_MEASURES; i++)
        json_add_measure(json, go_to(json, &place, record_gpu_path((enum record_gpu_measure)i)),
                         &gpu->measures[i]);
    leave_to(json, &place, 0);
    add_texts(json, "throttled", gpu->throttled);
    json_end(json);
}

static void add_system(struct json_writer *json, const struct record *record)
{
    const struct record_system *system = record->system;
    struct place place = { .record = record };

    if (!system || !system->figures)
        return;
    for (size_t i = 0; i < record_system_figure_count(); i++)
        json_add_measure(json, go_to(json, &place, record_system_figure_path(i)),
                         &system->figures[i]);
    for (size_t i = 0; i < RECORD_SYSTEM_LISTS; i++) {
        (void)go_to(json, &place, record_system_lists[i].path);
        add_list(json, &record_system_lists[i], system);
    }
    leave_to(json, &place, 0);
}

/* ---- reports -------------------------------------------------------------- */

static void add_phases(struct json_writer *json, const struct record *record)
{
    json_begin(json, "phases", '[');
    for (size_t i = 0; i < record->phase_count; i++) {
        json_begin(json, NULL, '{');
        add_fields(json, record_phase_fields, &record->phases[i]);
        add_figures(json, record->phases[i].figures, NULL);
        json_end(json);
    }
    json_end(json);
}

/* ---- ranks ---- */

static void add_nodes(struct json_writer *json, const struct record_group *group)
{
    json_begin(json, "nodes", '[');
    for (size_t i = 0; i < group->node_count; i++) {
        json_begin_line(json, NULL, '{');
        add_fields(json, record_node_list.fields, &group->nodes[i]);
        json_add_measure(json, "memory", &group->nodes[i].memory);
        json_end(json);
    }
    json_end(json);
}

/* Adds one list per rank, with few digits: there may be thousands. */
static void add_cells(struct json_writer *json, const char *key,
                      const struct record_group *group, const float *cells, double digits)
{
    json_begin(json, key, '[');
    for (size_t i = 0; i < group->seen_count; i++) {
        json_begin_line(json, NULL, '[');
        for (size_t k = 0; k < group->cell_count; k++)
            json_add_number(json, NULL,
                            floor((double)cells[i * group->cell_count + k] * digits + 0.5) /
                                digits);
        json_end(json);
    }
    json_end(json);
}

static void add_group(struct json_writer *json, const struct record *record)
{
    const struct record_group *group = record->group;

    if (!group)
        return;
    add_sections(json, &record_group_fields, record, group);
    add_nodes(json, group);
    add_list(json, &record_rank_list, group);
    json_begin(json, "rank_curves", '{');
    json_begin_line(json, "seconds", '[');
    for (size_t k = 0; k < group->cell_count; k++)
        json_add_number(json, NULL, group->cell_seconds[k]);
    json_end(json);
    add_cells(json, "cores", group, group->cores, 100);
    add_cells(json, "memory_bytes", group, group->memory_bytes, 1);
    json_end(json);
}

static void add_recommendation(struct json_writer *json, const struct record *record,
                               enum recommendation_extra extra)
{
    struct needs needs;

    if (record->system)
        return;
    needs_of(record, NEEDS_MARGIN, &needs);
    recommendation_add_json(json, &needs, extra);
}

static void add_launch(struct json_writer *json, const struct record *record)
{
    if (!record->launch)
        return;
    json_begin(json, "launch", '{');
    add_fields(json, record_launch_fields, record->launch);
    json_end(json);
}

void json_add_report(struct json_writer *json, const struct record *record, size_t curve_points,
                     enum json_use use)
{
    json_begin(json, NULL, '{');
    json_add_text(json, "schema", RECORD_SCHEMA);
    add_sections(json, &record_run_fields, record, record);
    add_launch(json, record);
    add_sections(json, &record_machine_fields, record, record);
    add_figures(json, record->figures, record);
    add_system(json, record);
    add_phases(json, record);
    if (use != JSON_FOR_GROUP)
        add_recommendation(json, record,
                           use == JSON_FOR_PAGE ? RECOMMENDATION_REQUESTS
                                                : RECOMMENDATION_PLAIN);
    if (!record->system)
        add_sections(json, &record_distribution_fields, record, record);
    add_sections(json, &record_tracker_fields, record, record);
    add_group(json, record);
    curve_add_json(json, &record->curve, curve_points);
    add_list(json, &record_warning_list, record);
    if (record->context) {
        json_begin_value(json, "context");
        buffer_add(json->out, record->context, strlen(record->context));
    }
    json_end(json);
}

void json_write(const struct record *record, UNUSED const struct format_style *style,
                struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_add_report(&json, record, CURVE_JSON_POINTS, JSON_FOR_FILE);
    buffer_add(out, "\n", 1);
}

/* ---- lines of a group ---- */

static const struct field begin_rows[] = {
    { "begin.id", FIELD_TEXT, offsetof(struct record, id) },
    { "begin.started_at", FIELD_DATE, offsetof(struct record, started_at) },
    { "begin.host", FIELD_TEXT, offsetof(struct record, host) },
    { "begin.pid", FIELD_COUNT, offsetof(struct record, pid) },
    { "begin.user", FIELD_TEXT, offsetof(struct record, user) },
    { "begin.command", FIELD_TEXTS, offsetof(struct record, command) },
};

void rank_write_begin(const struct record *record, struct buffer *out)
{
    static const struct field_table fields = { begin_rows, ARRAY_SIZE(begin_rows) };
    struct json_writer json = { .out = out, .style = &json_compact };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    add_sections(&json, &fields, record, record);
    add_launch(&json, record);
    json_end(&json);
    buffer_add(out, "\n", 1);
}

/* Leaves out lists of processes and phases, and reduces the curve to a few columns that are
 * not 0: 10,000 ranks may be merged. */
void rank_write(const struct record *record, UNUSED const struct format_style *style,
                struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_compact };
    struct curve_column columns[GROUP_COLUMNS];
    struct record rank = *record;

    rank.process_count = rank.other_process_count = rank.phase_count = 0;
    rank.context = NULL;
    rank.curve.columns = columns;
    rank.curve.column_count = 0;
    for (size_t i = 0; i < GROUP_COLUMNS; i++) {
        const struct curve_column *column =
            curve_find(&record->curve, metric_row(group_metrics[i])->published.name);

        if (column && !(curve_get(&record->curve, column, 0, record->curve.count).high <= 0))
            columns[rank.curve.column_count++] = *column;
    }
    json_add_report(&json, &rank, GROUP_RANK_POINTS, JSON_FOR_GROUP);
    buffer_add(out, "\n", 1);
}

static void add_server(struct json_writer *json, const struct record *record)
{
    const struct record_server *server = record->server;
    const struct record_cloud *cloud = record->cloud;

    json_begin(json, "server", '{');
    add_fields(json, record_server_fields, server);
    add_list(json, &record_cache_list, server);
    add_list(json, &record_server_disk_list, server);
    json_end(json);
    if (cloud && cloud->vendor) {
        json_begin(json, "cloud", '{');
        add_fields(json, record_cloud_fields, cloud);
        json_end(json);
    } else {
        json_add_null(json, "cloud");
    }
    json_add_text(json, "cloud_reason", cloud ? cloud->reason : NULL);
}

void machine_write_json(const struct record *record, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '{');
    json_add_text(&json, "schema", RECORD_SCHEMA);
    json_add_text(&json, "hostname", record->host);
    add_sections(&json, &record_machine_fields, record, record);
    json_add_text(&json, "gpus_reason", record->gpus_reason);
    if (record->server)
        add_server(&json, record);
    json_end(&json);
    buffer_add(out, "\n", 1);
}
