/* SPDX-License-Identifier: Apache-2.0 */
#include "record/load.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/error.h"
#include "record/group.h"
#include "record/launch.h"
#include "series/figure.h"

/* ---- load context ---------------------------------------------------------- */

static void load_context(struct record *record, const json_t *context)
{
    char *text;

    if (!json_is_object(context))
        return;
    text = json_dumps(context, JSON_COMPACT);
    if (text)
        record->context = record_text(record, text);
    else
        record->error = -ENOMEM;
    free(text);
}

/* ---- load curve ------------------------------------------------------------ */

/* spoor writes no more than this. */
enum { POINTS_MAX = 65536, COLUMNS_MAX = 4096 };

static int load_seconds(struct record *record, const json_t *array, struct spoor_error *err)
{
    struct record_curve *curve = &record->curve;
    size_t count = json_array_size(array);
    double before = 0;

    if (!json_is_array(array) || count > POINTS_MAX)
        return error_set(err, EBADMSG, "curve.seconds: expected an array of at most %d numbers",
                         POINTS_MAX);
    curve->seconds = record_alloc(record, count, sizeof(*curve->seconds));
    for (size_t i = 0; curve->seconds && i < count; i++) {
        const json_t *value = json_array_get(array, i);

        curve->seconds[i] = json_number_value(value);
        if (!json_is_number(value) || !(curve->seconds[i] >= before))
            return error_set(err, EBADMSG,
                             "curve.seconds: expected numbers that never decrease");
        before = curve->seconds[i];
    }
    curve->count = curve->seconds ? count : 0;
    return 0;
}

static int refuse_values(const struct curve_column *column, const char *key, size_t count,
                         struct spoor_error *err)
{
    return error_set(err, EBADMSG,
                     "curve.columns.%.64s.%s: expected an array of %zu numbers or nulls",
                     column->name, key, count);
}

/* If the lowest or mean values are missing, they are equal to the highest values. */
static int load_values(struct record *record, const struct curve_column *column,
                       const json_t *object, const char *key, float **ret,
                       struct spoor_error *err)
{
    const json_t *array = json_object_get(object, key);
    size_t count = record->curve.count;
    float *values;

    if (!array && column->high) {
        *ret = column->high;
        return 0;
    }
    if (!json_is_array(array) || json_array_size(array) != count)
        return refuse_values(column, key, count, err);
    values = record_alloc(record, count, sizeof(*values));
    for (size_t i = 0; values && i < count; i++) {
        const json_t *value = json_array_get(array, i);

        if (!json_is_number(value) && !json_is_null(value))
            return refuse_values(column, key, count, err);
        values[i] = json_is_null(value) ? (float)NAN : (float)json_number_value(value);
    }
    *ret = values;
    return 0;
}

/* An unknown point must be unknown in all three arrays. */
static int check_unknown(const struct curve_column *column, size_t count,
                         struct spoor_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(column->high[i]) != isnan(column->low[i]) ||
            isnan(column->high[i]) != isnan(column->mean[i]))
            return error_set(err, EBADMSG,
                             "curve.columns.%.64s: expected the same nulls in all arrays",
                             column->name);
    }
    return 0;
}

static int load_column(struct record *record, const char *name, const json_t *object,
                       struct spoor_error *err)
{
    struct record_curve *curve = &record->curve;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    struct curve_column column = { .name = record_text(record, name) };
    int r;

    if (!kind || (strcmp(kind, "rate") != 0 && strcmp(kind, "gauge") != 0))
        return error_set(err, EBADMSG, "curve.columns.%.64s.kind: expected rate or gauge",
                         name);
    if (!column.name)
        return 0; /* record->error is set */
    column.is_rate = strcmp(kind, "rate") == 0;
    r = load_values(record, &column, object, "high", &column.high, err);
    if (r == 0)
        r = load_values(record, &column, object, "low", &column.low, err);
    if (r == 0)
        r = load_values(record, &column, object, "mean", &column.mean, err);
    if (r < 0 || !column.high || !column.low || !column.mean)
        return r; /* record->error is set */
    curve->columns[curve->column_count++] = column;
    return check_unknown(&column, curve->count, err);
}

int load_curve(struct record *record, const json_t *curve, struct spoor_error *err)
{
    json_t *columns = json_object_get(curve, "columns");
    json_t *samples = json_object_get(curve, "samples");
    json_t *column;
    const char *name;
    int r;

    if (!curve || json_is_null(curve))
        return 0;
    if (!json_is_object(columns) || json_object_size(columns) > COLUMNS_MAX)
        return error_set(err, EBADMSG, "curve.columns: expected an object");
    if (!json_is_integer(samples) || json_integer_value(samples) < 0)
        return error_set(err, EBADMSG, "curve.samples: expected a whole number");
    record->curve.samples = (uint64_t)json_integer_value(samples);
    r = load_seconds(record, json_object_get(curve, "seconds"), err);
    record->curve.columns =
        record_alloc(record, json_object_size(columns), sizeof(*record->curve.columns));
    json_object_foreach(columns, name, column)
    {
        if (r == 0 && record->curve.columns)
            r = load_column(record, name, column, err);
    }
    return r;
}

/* ---- load ------------------------------------------------------------------ */

/* Maximum number of phases and of GPUs, which use much memory, and of ranks, which use little.
 * spoor writes no more. */
enum { ITEMS_MAX = 4096, RANKS_MAX = 1 << 20 };

struct loader {
    struct record *record;
    char at[160]; /* the object whose members are read, for messages: "phases[3]." */
    const struct field_table *fields; /* for load_row() */
    bool has_ranks;                   /* arrays may have RANKS_MAX elements */
    const char **recent; /* the text that was loaded last: sources and reasons repeat */
    struct spoor_error *err;
};

static int refuse(const struct loader *loader, const char *path, const char *expected)
{
    return error_set(loader->err, EBADMSG, "%s%s: expected %s", loader->at, path, expected);
}

/* Reports that a part of a path, or the value that contains the path, is not an object. Omits
 * the dot at the end of either name. */
static int refuse_around(const struct loader *loader, const char *path, const char *rest)
{
    if (rest == path)
        return error_set(loader->err, EBADMSG, "%.*s: expected an object",
                         (int)strlen(loader->at) - 1, loader->at);
    return error_set(loader->err, EBADMSG, "%s%.*s: expected an object", loader->at,
                     (int)(rest - path) - 1, path);
}

/* Finds the value at a dotted path; NULL: it is missing or null. Fails if a part of the path
 * is not an object. */
static int find(const struct loader *loader, const json_t *object, const char *path,
                json_t **ret)
{
    const char *rest = path;
    json_t *value;

    for (;;) {
        size_t length = strcspn(rest, ".");
        char key[64];

        if (!json_is_object(object))
            return refuse_around(loader, path, rest);
        if (length >= sizeof(key))
            /* No path of our tables is that long. */
            return refuse(loader, path, "a shorter key");
        memcpy(key, rest, length);
        key[length] = '\0';
        value = json_object_get(object, key);
        if (!value || json_is_null(value) || rest[length] == '\0')
            break;
        object = value;
        rest += length + 1;
    }
    *ret = json_is_null(value) ? NULL : value;
    return 0;
}

/* ---- fields --------------------------------------------------------------- */

static int load_text(const struct loader *loader, const char *path, const json_t *value,
                     const char **ret)
{
    if (!json_is_string(value))
        return refuse(loader, path, "a string");
    *ret = record_share_text(loader->record, json_string_value(value), *loader->recent);
    *loader->recent = *ret;
    return 0;
}

static int load_texts(const struct loader *loader, const char *path, const json_t *value,
                      const char ***ret)
{
    size_t count = json_array_size(value);
    const char **texts;
    int r = 0;

    if (!json_is_array(value))
        return refuse(loader, path, "an array of strings");
    texts = record_alloc(loader->record, count + 1, sizeof(*texts));
    for (size_t i = 0; texts && r == 0 && i < count; i++)
        r = load_text(loader, path, json_array_get(value, i), &texts[i]);
    *ret = texts;
    return r;
}

static int load_tags(const struct loader *loader, const char *path, json_t *value,
                     struct record_tags *ret)
{
    const char *key;
    json_t *member;
    int r = 0;

    if (!json_is_object(value))
        return refuse(loader, path, "an object");
    ret->items = record_alloc(loader->record, json_object_size(value), sizeof(*ret->items));
    json_object_foreach(value, key, member)
    {
        struct record_tag tag = { record_text(loader->record, key), NULL };

        if (r == 0 && ret->items)
            r = load_text(loader, path, member, &tag.value);
        if (r == 0 && ret->items)
            ret->items[ret->count++] = tag;
    }
    return r;
}

static int load_field(const struct loader *loader, const json_t *object,
                      const struct field *field, void *base)
{
    void *at = (char *)base + field->offset;
    json_t *value;
    int r = find(loader, object, field->path, &value);

    if (r < 0 || !value)
        return r;
    switch (field->kind) {
    case FIELD_TEXT:
        return load_text(loader, field->path, value, at);
    case FIELD_COUNT:
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return refuse(loader, field->path, "a whole number that is not negative");
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
        break;
    case FIELD_NUMBER:
        if (!json_is_number(value))
            return refuse(loader, field->path, "a number");
        *(double *)at = json_number_value(value);
        break;
    case FIELD_DATE:
        if (!json_is_string(value) || clock_parse(json_string_value(value), at) < 0)
            return refuse(loader, field->path, "a date as 2026-03-14T09:26:53.589Z");
        break;
    case FIELD_FLAG:
    case FIELD_IF_TRUE:
        if (!json_is_boolean(value))
            return refuse(loader, field->path, "true or false");
        *(bool *)at = json_is_true(value);
        break;
    case FIELD_TEXTS:
        return load_texts(loader, field->path, value, at);
    case FIELD_TAGS:
        return load_tags(loader, field->path, value, at);
    }
    return 0;
}

static int load_fields(const struct loader *loader, const json_t *object,
                       const struct field_table *table, void *base)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < table->count; i++)
        r = load_field(loader, object, &table->rows[i], base);
    return r;
}

/* ---- figures -------------------------------------------------------------- */

static const struct field figure_rows[] = {
    { "value", FIELD_NUMBER, offsetof(struct spoor_figure, value) },
    { "source", FIELD_TEXT, offsetof(struct spoor_figure, source) },
    { "exact", FIELD_FLAG, offsetof(struct spoor_figure, is_exact) },
    { "low", FIELD_NUMBER, offsetof(struct spoor_figure, low) },
    { "high", FIELD_NUMBER, offsetof(struct spoor_figure, high) },
    { "reason", FIELD_TEXT, offsetof(struct spoor_figure, reason) },
};
static const struct field_table figure_fields = { figure_rows, ARRAY_SIZE(figure_rows) };

static int load_figure(const struct loader *loader, const json_t *object, const char *path,
                       struct spoor_figure *ret)
{
    struct loader inner = { .record = loader->record,
                            .recent = loader->recent,
                            .err = loader->err };
    json_t *value;
    int r = find(loader, object, path, &value);

    *ret = record_unknown_figure(LOAD_MISSING);
    if (r < 0 || !value)
        return r;
    (void)snprintf(inner.at, sizeof(inner.at), "%.60s%.90s.", loader->at, path);
    ret->reason = NULL;
    return load_fields(&inner, value, &figure_fields, ret);
}

/* Loads `count` figures, at the paths that `path` returns. */
static int load_figures(const struct loader *loader, const json_t *object, size_t count,
                        const char *(*path)(size_t index), struct spoor_figure **ret)
{
    struct spoor_figure *figures = record_alloc(loader->record, count, sizeof(*figures));
    int r = 0;

    for (size_t i = 0; figures && r == 0 && i < count; i++)
        r = load_figure(loader, object, path(i), &figures[i]);
    *ret = figures;
    return r;
}

/* ---- arrays of objects ---------------------------------------------------- */

/* Allocates *ret_items for all elements of an array, sets *ret_count to their number and calls
 * `each` for every element. */
static int load_array(struct loader *loader, const json_t *object, const char *path,
                      size_t item_size, void **ret_items, size_t *ret_count,
                      int (*each)(struct loader *loader, const json_t *object, void *item))
{
    json_t *array;
    size_t count;
    int r = find(loader, object, path, &array);

    if (r < 0 || !array)
        return r;
    count = json_array_size(array);
    if (!json_is_array(array) || count > (loader->has_ranks ? RANKS_MAX : ITEMS_MAX))
        return refuse(loader, path,
                      loader->has_ranks ? "an array of at most 1048576 objects"
                                        : "an array of at most 4096 objects");
    *ret_items = record_alloc(loader->record, count, item_size);
    for (size_t i = 0; *ret_items && r == 0 && i < count; i++) {
        (void)snprintf(loader->at, sizeof(loader->at), "%s[%zu].", path, i);
        r = each(loader, json_array_get(array, i), (char *)*ret_items + i * item_size);
    }
    loader->at[0] = '\0';
    *ret_count = *ret_items ? count : 0;
    return r;
}

/* Loads an object that has only the fields of loader->fields. */
static int load_row(struct loader *loader, const json_t *object, void *item)
{
    field_table_clear(loader->fields, item);
    return load_fields(loader, object, loader->fields, item);
}

/* `base` is the struct that has the list. */
static int load_list(struct loader *loader, const json_t *root, const struct list_field *list,
                     void *base,
                     int (*each)(struct loader *loader, const json_t *object, void *item))
{
    void *items = NULL;
    int r;

    loader->fields = &list->fields;
    r = load_array(loader, root, list->path, list->item_size, &items,
                   (size_t *)(void *)((char *)base + list->count), each);
    memcpy((char *)base + list->items, &items, sizeof(items));
    return r;
}

static int load_lists(struct loader *loader, const json_t *root)
{
    static const struct list_field *const lists[] = { &record_process_list,
                                                      &record_process_sum_list,
                                                      &record_remote_list,
                                                      &record_warning_list };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++)
        r = load_list(loader, root, lists[i], loader->record, load_row);
    return r;
}

static int load_phase(struct loader *loader, const json_t *object, void *item)
{
    struct record_phase *phase = item;
    int r;

    phase->started_at = phase->elapsed_seconds = (double)NAN;
    r = load_fields(loader, object, &record_phase_fields, phase);
    return r < 0 ? r
                 : load_figures(loader, object, figure_count(), figure_path, &phase->figures);
}

static int load_gpu(struct loader *loader, const json_t *object, void *item)
{
    struct record_gpu *gpu = item;

    *gpu = (struct record_gpu){ .index = UNKNOWN, .part = UNKNOWN, .memory_bytes = UNKNOWN };
    for (size_t i = 0; i < RECORD_GPU_MEASURES; i++)
        gpu->measures[i] = record_unknown_figure(NULL);
    return load_fields(loader, object, &record_gpu_list.fields, gpu);
}

/* Every GPU of the job is in host.gpus as well, with the same numbers. */
static struct record_gpu *find_gpu(struct record *record, const struct record_gpu *like)
{
    for (size_t i = 0; i < record->gpu_count; i++) {
        if (record->gpus[i].index == like->index && record->gpus[i].part == like->part)
            return &record->gpus[i];
    }
    return NULL;
}

static int load_device(struct loader *loader, const json_t *object, void *item)
{
    static const struct field throttled = { "throttled", FIELD_TEXTS,
                                            offsetof(struct record_gpu, throttled) };
    struct record_gpu *gpu = item;
    int r = load_gpu(loader, object, gpu);

    if (r < 0)
        return r;
    gpu = find_gpu(loader->record, gpu);
    if (!gpu)
        return refuse(loader, "index", "a GPU of host.gpus");
    gpu->is_selected = true;
    for (int i = 0; r == 0 && i < RECORD_GPU_MEASURES; i++)
        r = load_figure(loader, object, record_gpu_path((enum record_gpu_measure)i),
                        &gpu->measures[i]);
    return r < 0 ? r : load_field(loader, object, &throttled, gpu);
}

static int load_gpus(struct loader *loader, const json_t *root)
{
    static const struct field whole_gpus = { "gpu.count", FIELD_COUNT,
                                             offsetof(struct record, whole_gpus) };
    struct record *record = loader->record;
    size_t count;
    void *items = NULL;
    int r = load_list(loader, root, &record_gpu_list, record, load_gpu);

    if (r == 0)
        r = load_array(loader, root, "gpu.devices", sizeof(*record->gpus), &items, &count,
                       load_device);
    return r < 0 ? r : load_field(loader, root, &whole_gpus, record);
}

static int load_system(struct loader *loader, const json_t *root)
{
    struct record *record = loader->record;
    json_t *section;
    int r = find(loader, root, "system", &section);

    if (r < 0 || !section)
        return r;
    record->system = record_alloc(record, 1, sizeof(*record->system));
    if (!record->system)
        return 0; /* the error is in the record */
    r = load_figures(loader, root, record_system_figure_count(), record_system_figure_path,
                     &record->system->figures);
    for (size_t i = 0; r == 0 && i < RECORD_SYSTEM_LISTS; i++)
        r = load_list(loader, root, &record_system_lists[i], record->system, load_row);
    return r;
}

/* ---- the ranks of a group -------------------------------------------------- */

static int load_node(struct loader *loader, const json_t *object, void *item)
{
    struct record_node *node = item;
    int r = load_row(loader, object, node);

    return r < 0 ? r : load_figure(loader, object, "memory", &node->memory);
}

/* Loads one list of cells per rank into one array. */
static int load_cells(struct loader *loader, const json_t *curves, const char *key, float **ret)
{
    const struct record_group *group = loader->record->group;
    const json_t *lists = json_object_get(curves, key);
    float *cells =
        record_alloc(loader->record, group->seen_count, group->cell_count * sizeof(*cells));

    for (size_t i = 0; cells && i < group->seen_count; i++) {
        const json_t *list = json_array_get(lists, i);

        if (json_array_size(list) != group->cell_count)
            return refuse(loader, key, "one list of cells for each rank");
        for (size_t k = 0; k < group->cell_count; k++) {
            const json_t *cell = json_array_get(list, k);

            cells[i * group->cell_count + k] =
                json_is_number(cell) ? (float)json_number_value(cell) : (float)NAN;
        }
    }
    *ret = cells;
    return 0;
}

static int load_rank_curves(struct loader *loader, const json_t *root)
{
    struct record_group *group = loader->record->group;
    const json_t *curves = json_object_get(root, "rank_curves");
    const json_t *seconds = json_object_get(curves, "seconds");
    size_t count = json_array_size(seconds);
    int r;

    if (count == 0)
        return 0;
    (void)snprintf(loader->at, sizeof(loader->at), "rank_curves.");
    if (count > GROUP_CELLS_MAX)
        return refuse(loader, "seconds", "fewer cells");
    group->cell_seconds = record_alloc(loader->record, count, sizeof(*group->cell_seconds));
    for (size_t k = 0; group->cell_seconds && k < count; k++)
        group->cell_seconds[k] = json_number_value(json_array_get(seconds, k));
    group->cell_count = count;
    r = load_cells(loader, curves, "cores", &group->cores);
    if (r == 0)
        r = load_cells(loader, curves, "memory_bytes", &group->memory_bytes);
    loader->at[0] = '\0';
    return r;
}

static int load_group(struct loader *loader, const json_t *root)
{
    struct record *record = loader->record;
    struct record_group *group;
    int r;

    if (!json_object_get(root, "group"))
        return 0;
    record->group = group = record_alloc(record, 1, sizeof(*group));
    if (!group)
        return 0; /* the error is in the record */
    field_table_clear(&record_group_fields, group);
    r = load_fields(loader, root, &record_group_fields, group);
    loader->has_ranks = true;
    if (r == 0)
        r = load_list(loader, root, &record_missing_list, group, load_row);
    if (r == 0)
        r = load_list(loader, root, &record_node_list, group, load_node);
    if (r == 0)
        r = load_list(loader, root, &record_rank_list, group, load_row);
    loader->has_ranks = false;
    return r < 0 ? r : load_rank_curves(loader, root);
}

/* ---- the report ----------------------------------------------------------- */

static int check_schema(const json_t *root, struct spoor_error *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));

    if (!schema)
        return error_set(err, EBADMSG, "no schema; " NOT_A_REPORT);
    if (strcmp(schema, RECORD_SCHEMA) != 0)
        return error_set(err, EBADMSG,
                         "schema '%.32s' is not supported; this version reads " RECORD_SCHEMA,
                         schema);
    if (!json_is_object(json_object_get(root, "run")))
        return error_set(err, EBADMSG, "not the report of a run; " NOT_A_REPORT);
    return 0;
}

static int load_cloud(struct loader *loader, const json_t *root)
{
    json_t *section = NULL;
    int r = find(loader, root, "host.cloud", &section);

    if (r < 0 || json_object_size(section) == 0)
        return r;
    loader->record->cloud = record_alloc(loader->record, 1, sizeof(*loader->record->cloud));
    if (!loader->record->cloud)
        return 0; /* the error is in the record */
    return load_fields(loader, section, &record_cloud_fields, loader->record->cloud);
}

static int load_launch(struct loader *loader, const json_t *root)
{
    const json_t *section = json_object_get(root, "launch");
    struct launch *launch = section ? record_alloc(loader->record, 1, sizeof(*launch)) : NULL;

    if (!launch)
        return 0; /* no such list, or the error is in the record */
    field_table_clear(&record_launch_fields, launch);
    loader->record->launch = launch;
    return load_fields(loader, section, &record_launch_fields, launch);
}

static int load_all(struct loader *loader, const json_t *root)
{
    struct record *record = loader->record;
    void *items = NULL;
    int r = 0;

    load_context(record, json_object_get(root, "context"));
    for (size_t i = 0; r == 0 && i < RECORD_TABLES; i++)
        r = load_fields(loader, root, record_tables[i], record);
    if (r == 0)
        r = load_gpus(loader, root);
    if (r == 0)
        r = load_cloud(loader, root);
    if (r == 0)
        r = load_launch(loader, root);
    if (r == 0)
        r = load_figures(loader, root, figure_count(), figure_path, &record->figures);
    if (r == 0)
        r = load_array(loader, root, "phases", sizeof(*record->phases), &items,
                       &record->phase_count, load_phase);
    record->phases = items;
    if (r == 0)
        r = load_lists(loader, root);
    if (r == 0)
        r = load_system(loader, root);
    if (r == 0)
        r = load_group(loader, root);
    if (r == 0)
        r = load_curve(record, json_object_get(root, "curve"), loader->err);
    /* If memory ran out, a key that is in the file may be missing here: `r` may be
     * misleading. */
    return record->error < 0 ? error_set(loader->err, record->error, "out of memory") : r;
}

int record_from_json(const json_t *root, struct record *ret, struct spoor_error *err)
{
    struct record record;
    const char *recent = NULL;
    struct loader loader = { .record = &record, .recent = &recent, .err = err };
    int r;

    record_init(&record);
    r = load_all(&loader, root);
    if (r < 0)
        record_done(&record);
    else
        *ret = record;
    return r;
}

int record_parse(const char *text, size_t length, struct record *ret, size_t *ret_length,
                 struct spoor_error *err)
{
    json_error_t error;
    json_auto_t *root =
        json_loadb(text, length, ret_length ? JSON_DISABLE_EOF_CHECK : 0, &error);
    int r;

    if (!root && error.line < 0) /* not a syntax error in the text */
        return error_set(err, ENOMEM, "out of memory");
    if (!root)
        return error_set(err, EBADMSG, "not valid JSON (line %d, column %d); " NOT_A_REPORT,
                         error.line, error.column);
    r = check_schema(root, err);
    if (r == 0)
        r = record_from_json(root, ret, err);
    if (r == 0 && ret_length)
        *ret_length = (size_t)error.position;
    return r;
}

/* ---- The reports of a file ------------------------------------------------- */

void records_done(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        record_done(&records->items[i]);
    free(records->items);
    *records = (struct records){ 0 };
}

struct record *records_next(struct records *records, struct spoor_error *err)
{
    struct record *items = reallocarray(records->items, records->count + 1, sizeof(*items));

    if (!items) {
        (void)error_set(err, ENOMEM, "out of memory");
        return NULL;
    }
    records->items = items;
    return &items[records->count];
}

static int parse_next(const char **cursor, const char *end, struct records *records,
                      struct spoor_error *err)
{
    struct record *next = records_next(records, err);
    size_t length;
    int r;

    if (!next)
        return -ENOMEM;
    if (records->count == LOAD_REPORTS_MAX)
        return error_set(err, EFBIG, "more than %d reports", LOAD_REPORTS_MAX);
    r = record_parse(*cursor, (size_t)(end - *cursor), next, &length, err);
    if (r < 0)
        return records->count > 0 ? error_prefix(err, r, "report %zu", records->count + 1) : r;
    records->count++;
    *cursor += length;
    while (*cursor < end && strchr(" \t\r\n", **cursor) && **cursor)
        (*cursor)++;
    return 0;
}

int records_read(int fd, const char *path, struct buffer *text, struct records *ret,
                 struct spoor_error *err)
{
    CLEANUP(records_done) struct records records = { 0 };
    const char *cursor, *end;
    int r = buffer_read(text, fd, LOAD_BYTES_MAX);

    if (r == -EFBIG)
        return error_set(err, EFBIG, "'%s' is larger than 64 MiB; " NOT_A_REPORT, path);
    if (r < 0)
        return error_sys(err, r, "cannot read '%s'", path);
    cursor = text->text;
    end = text->text + text->length;
    do {
        r = parse_next(&cursor, end, &records, err);
        if (r < 0)
            return error_prefix(err, r, "'%s'", path);
    } while (cursor < end);
    *ret = records;
    records = (struct records){ 0 };
    return 0;
}
