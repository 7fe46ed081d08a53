/* SPDX-License-Identifier: Apache-2.0 */
#include "record/samples_load.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "series/figure.h"
#include "text/find.h"
#include "text/number.h"

/* ---- sample table ---------------------------------------------------------- */

#define RUN_ID "run_id"

static bool has(const struct text_list *names, const char *name)
{
    return find_row(names->items, names->count, sizeof(*names->items), 0, name);
}

/* ---- our columns -------------------------------------------------------------- */

int sample_column_gpu_measure(const char *name)
{
    for (int i = 0; i < SERIES_GPU_MEASURES; i++) {
        if (strcmp(gpu_measure_row(series_gpu_measure((size_t)i))->name, name) == 0)
            return i;
    }
    return -1;
}

/* Recognizes a column of a GPU such as "gpu0_1_utilization". */
static bool find_gpu(const char *name, struct sample_column *ret)
{
    struct gpu_place place;
    int measure;

    if (!begins_with(name, "gpu"))
        return false;
    name += strlen("gpu");
    if (!gpu_place_parse(&name, &place) || *name++ != '_')
        return false;
    measure = sample_column_gpu_measure(name);
    if (measure < 0)
        return false;
    *ret = (struct sample_column){
        .use = COLUMN_GPU,
        .gpu = place,
        .gpu_measure = (size_t)measure,
        .unit = 1,
    };
    return true;
}

static void find_own(const char *name, struct sample_column *ret)
{
    int metric = replay_metric(name);

    if (metric >= 0)
        *ret = (struct sample_column){
            .use = COLUMN_METRIC, .metrics = { metric, -1 }, .kind = REPLAY_VALUE, .unit = 1
        };
    else
        (void)find_gpu(name, ret); /* other columns are not charted */
}

static void find_common(const char *name, struct sample_column *ret)
{
    if (strcmp(name, "timestamp") == 0 || strcmp(name, NESTED_TIME) == 0)
        ret->use = COLUMN_UNIX;
    else if (strcmp(name, "elapsed_seconds") == 0)
        ret->use = COLUMN_ELAPSED;
    else if (strcmp(name, RUN_ID) == 0)
        ret->use = COLUMN_RUN_ID;
}

/* Finds the meaning of each column. Returns 0; -EBADMSG: not a table of samples; or -ENOMEM. */
static int find_columns(struct sample_table *table)
{
    const char *const *names = (const char *const *)table->names.items;
    size_t count = table->names.count;
    struct sample_column *columns = calloc(count + 1, sizeof(*columns));
    bool is_own = has(&table->names, "elapsed_seconds") && has(&table->names, "job_rss_bytes");
    bool is_timed = has(&table->names, "timestamp") || has(&table->names, NESTED_TIME);

    table->columns = columns;
    if (!columns)
        return -ENOMEM;
    if (!names || !is_timed || (!is_own && !sample_columns_find_foreign(names, count, columns)))
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        if (is_own)
            find_own(names[i], &columns[i]);
        find_common(names[i], &columns[i]);
    }
    return 0;
}

/* ---- rows ----------------------------------------------------------------------- */

/* Sets the kind of each counter of the table in a replay. */
static void sample_table_set_kinds(const struct sample_table *table, struct replay *replay)
{
    for (size_t i = 0; i < table->names.count; i++) {
        const struct sample_column *column = &table->columns[i];

        for (size_t k = 0; k < 2 && column->use == COLUMN_METRIC; k++) {
            if (column->metrics[k] >= 0)
                replay_set_kind(replay, column->metrics[k], column->kind);
        }
    }
}

/* Several columns may be parts of one metric. */
static void add_part(double *value, double part)
{
    *value = isnan(*value) ? part : *value + part;
}

static void add_gpu(const struct sample_column *column, double value, struct series_gpus *gpus)
{
    size_t i = 0;

    while (i < gpus->count && (gpus->places[i].index != column->gpu.index ||
                               gpus->places[i].part != column->gpu.part))
        i++;
    if (i == SERIES_GPUS_MAX)
        return;
    if (i == gpus->count) {
        gpus->places[gpus->count++] = column->gpu;
        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++)
            gpus->values[i][k] = (float)NAN;
    }
    gpus->values[i][column->gpu_measure] = (float)value;
}

/* Adds a cell to a row that was cleared. */
static void sample_column_add(const struct sample_column *column, double value,
                              struct replay_row *row)
{
    switch (column->use) {
    case COLUMN_UNIX:
        row->unix_seconds = value;
        break;
    case COLUMN_ELAPSED:
        row->elapsed_seconds = value;
        break;
    case COLUMN_METRIC:
        value = value * column->unit + column->offset;
        add_part(&row->value[column->metrics[0]], value);
        if (column->metrics[1] >= 0)
            add_part(&row->value[column->metrics[1]], value);
        break;
    case COLUMN_GPU:
        add_gpu(column, value * column->unit, &row->gpus);
        break;
    case COLUMN_INTERVAL_MS:
        row->interval_seconds = value / 1e3;
        break;
    case COLUMN_RUN_ID: /* a text, not a number */
    case COLUMN_OTHER:
        break;
    }
}

/* ---- sample row ------------------------------------------------------------ */

/* spoor writes no more columns than this. */
enum { COLUMNS_MAX = 16384 };

/* Reads a run ID from a cell or a value that may be quoted. Ignores a text that is too long. */
static void read_run_id(const char *at, struct replay_row *ret)
{
    size_t length;

    at += *at == '"';
    length = strspn(at, "0123456789abcdef");
    if (length >= sizeof(ret->run_id))
        return;
    memcpy(ret->run_id, at, length);
    ret->run_id[length] = '\0';
}

/* ---- CSV ------------------------------------------------------------------------ */

/* Reads a number, with or without quotes; NaN: an empty cell. Moves the cursor past it. */
static bool read_cell(const char **cursor, double *ret)
{
    bool is_quoted = **cursor == '"';

    *cursor += is_quoted;
    *ret = (double)NAN;
    if (**cursor != ',' && **cursor != '"' && **cursor != '\0' && **cursor != '\r' &&
        number_read(cursor, ret) < 0)
        return false;
    if (is_quoted && *(*cursor)++ != '"')
        return false;
    return true;
}

static bool read_csv_row(const struct sample_table *table, const char *at,
                         struct replay_row *ret)
{
    for (size_t i = 0; i < table->names.count; i++) {
        const struct sample_column *column = &table->columns[i];
        double value;

        if (column->use == COLUMN_RUN_ID)
            read_run_id(at, ret);
        if (column->use == COLUMN_OTHER || column->use == COLUMN_RUN_ID) {
            at = strchrnul(at, ',');
        } else {
            if (!read_cell(&at, &value))
                return false;
            if (!isnan(value))
                sample_column_add(column, value, ret);
        }
        if (i + 1 < table->names.count && *at++ != ',')
            return false;
    }
    at += *at == '\r';
    return *at == '\0';
}

/* ---- JSON --------------------------------------------------------------------------- */

/* A member of a row, of an object in it, or of an object in a list of objects in it. */
struct leaf {
    const char *key;
    const char *parent; /* NULL: a member of the row itself */
    size_t element;     /* index of the object in the list */
    const json_t *value;
};

typedef int leaf_visit(void *data, const struct leaf *leaf);

/* Whether this is our own list of GPUs, whose elements have the index of their GPU. */
static bool is_gpu_list(const char *key, const json_t *value)
{
    return strcmp(key, "gpus") == 0 && json_is_array(value);
}

/* Visits the members of an object. Members of a row may be objects or lists of objects. */
static int walk_object(json_t *object, const char *parent, size_t element, leaf_visit *visit,
                       void *data)
{
    const char *key;
    json_t *value;
    int r = json_is_object(object) ? 0 : -EBADMSG;

    json_object_foreach(object, key, value)
    {
        struct leaf leaf = { key, parent, element, value };
        bool is_list =
            !parent && !is_gpu_list(key, value) && json_is_object(json_array_get(value, 0));

        if (r < 0)
            break;
        if (!parent && json_is_object(value))
            r = walk_object(value, key, 0, visit, data);
        else if (!is_list)
            r = visit(data, &leaf);
        for (size_t i = 0; r == 0 && is_list && i < json_array_size(value); i++)
            r = walk_object(json_array_get(value, i), key, i, visit, data);
    }
    return r;
}

/* Visits the members of a row. -EBADMSG: the line is not an object. */
static int walk_row(const char *line, leaf_visit *visit, void *data)
{
    json_t *row = json_loads(line, JSON_DECODE_INT_AS_REAL, NULL);
    int r = walk_object(row, NULL, 0, visit, data);

    json_decref(row);
    return r;
}

static bool is_small(const json_t *value)
{
    return json_number_value(value) >= 0 && json_number_value(value) < 1e6;
}

/* Reads an element of "gpus". */
static int read_gpu(json_t *object, struct replay_row *ret)
{
    struct sample_column column = { .use = COLUMN_GPU, .gpu = { .part = -1 }, .unit = 1 };
    const json_t *index = json_object_get(object, "index");
    const json_t *part = json_object_get(object, "part");
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return -EBADMSG;
    if (json_is_number(index) && is_small(index))
        column.gpu.index = (unsigned)json_number_value(index);
    if (json_is_number(part) && is_small(part))
        column.gpu.part = (int)json_number_value(part);
    json_object_foreach(object, key, value)
    {
        int measure = json_is_number(value) ? sample_column_gpu_measure(key) : -1;

        if (measure < 0)
            continue;
        column.gpu_measure = (size_t)measure;
        sample_column_add(&column, json_number_value(value), ret);
    }
    return 0;
}

static bool is_named(const struct leaf *leaf, const char *name)
{
    if (leaf->parent) {
        size_t length = strlen(leaf->parent);

        if (strncmp(leaf->parent, name, length) != 0 || name[length] != '.')
            return false;
        name += length + 1;
    }
    return strcmp(leaf->key, name) == 0;
}

struct row_reading {
    const struct sample_table *table;
    struct replay_row *row;
    size_t place; /* index of the next column in the order of the first row */
};

static struct sample_column find_column(struct row_reading *reading, const struct leaf *leaf)
{
    const struct sample_table *table = reading->table;
    size_t count = table->names.count, i = reading->place;

    if (i >= count || !is_named(leaf, table->names.items[i])) {
        for (i = 0; i < count && !is_named(leaf, table->names.items[i]);)
            i++;
    }
    if (i == count)
        return (struct sample_column){ .use = COLUMN_OTHER };
    if (i < table->first_count)
        reading->place = i + 1;
    return table->columns[i];
}

static int read_leaf(void *data, const struct leaf *leaf)
{
    struct row_reading *reading = data;
    struct sample_column column = find_column(reading, leaf);
    int r = 0;

    if (!leaf->parent && is_gpu_list(leaf->key, leaf->value)) {
        for (size_t i = 0; r == 0 && i < json_array_size(leaf->value); i++)
            r = read_gpu(json_array_get(leaf->value, i), reading->row);
        return r;
    }
    if (column.use == COLUMN_RUN_ID && json_is_string(leaf->value))
        read_run_id(json_string_value(leaf->value), reading->row);
    if (leaf->parent && column.use == COLUMN_GPU)
        column.gpu.index = (unsigned)leaf->element;
    if (json_is_number(leaf->value))
        sample_column_add(&column, json_number_value(leaf->value), reading->row);
    return 0;
}

/* ---- tables ----------------------------------------------------------------------- */

/* Adds a column name, as "parent.name" if there is a parent. */
static int add_name(struct sample_table *table, const char *parent, const char *text,
                    size_t length)
{
    if (table->names.count == COLUMNS_MAX)
        return -EBADMSG;
    return text_list_format(&table->names, NULL, "%s%s%.*s", parent ? parent : "",
                            parent ? "." : "", (int)length, text);
}

static int add_header(struct sample_table *table, const char *at)
{
    int r = 0;

    while (r == 0 && *at && *at != '\r') {
        bool is_quoted = *at == '"';
        size_t length;

        at += is_quoted;
        length = strcspn(at, is_quoted ? "\"" : ",\r");
        r = add_name(table, NULL, at, length);
        at += length;
        at += is_quoted && *at == '"';
        at += *at == ',';
    }
    return r;
}

static int add_key(void *data, const struct leaf *leaf)
{
    return add_name(data, leaf->parent, leaf->key, strlen(leaf->key));
}

static int add_keys(struct sample_table *table, const char *at)
{
    int r = walk_row(at, add_key, table);
    bool is_nested = has(&table->names, NESTED_TIME);

    table->first_count = table->names.count;
    if (r == 0 && !is_nested) /* rows of an earlier version have no ID */
        r = add_name(table, NULL, RUN_ID, strlen(RUN_ID));
    for (size_t i = 0; r == 0 && is_nested; i++) {
        struct sample_column_name name = sample_columns_nested(i);

        if (*name.text == '\0')
            break;
        r = add_name(table, NULL, name.text, strlen(name.text));
    }
    return r;
}

int sample_table_begin(struct sample_table *table, const char *line)
{
    struct sample_table new = { .is_json = *line == '{' };
    int r;

    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        line += 3;
    r = new.is_json ? add_keys(&new, line) : add_header(&new, line);
    if (r == 0)
        r = find_columns(&new);
    if (r < 0)
        sample_table_done(&new);
    else
        *table = new;
    return r;
}

void sample_table_done(struct sample_table *table)
{
    text_list_done(&table->names);
    free(table->columns);
    *table = (struct sample_table){ 0 };
}

bool sample_table_read(const struct sample_table *table, const char *line,
                       struct replay_row *ret)
{
    struct row_reading reading = { .table = table, .row = ret };
    bool is_whole = table->is_json ? walk_row(line, read_leaf, &reading) == 0
                                   : read_csv_row(table, line, ret);

    return is_whole && !isnan(ret->unix_seconds);
}

/* ---- samples load ---------------------------------------------------------- */

#define NOT_SAMPLES "expected a report, or samples as --samples writes them"

/* A run whose end has not been read. Its rows may be interleaved with rows of concurrent
 * runs. */
struct open_run {
    struct replay *replay;
    uint64_t skipped; /* rows that could not be read, each after a row of this run */
};

struct loading {
    struct line_reader *lines; /* borrowed */
    struct sample_table table;
    const char *name;
    struct open_run *runs; /* at least one; owned */
    size_t run_count;
    size_t current; /* the run of the last row */
    struct records records;
    struct spoor_error *err;
};

static void loading_done(struct loading *loading)
{
    sample_table_done(&loading->table);
    for (size_t i = 0; i < loading->run_count; i++)
        replay_free(loading->runs[i].replay);
    free(loading->runs);
    records_done(&loading->records);
}

static int begin_run(struct loading *loading, struct open_run *run)
{
    *run = (struct open_run){ .replay = replay_new() };
    if (!run->replay)
        return error_set(loading->err, ENOMEM, "out of memory");
    sample_table_set_kinds(&loading->table, run->replay);
    return 0;
}

static int add_run(struct loading *loading)
{
    struct open_run *runs =
        reallocarray(loading->runs, loading->run_count + 1, sizeof(*loading->runs));

    if (!runs)
        return error_set(loading->err, ENOMEM, "out of memory");
    loading->runs = runs;
    if (loading->run_count == LOAD_REPORTS_MAX)
        return error_set(loading->err, EFBIG, "more than %d runs", LOAD_REPORTS_MAX);
    loading->current = loading->run_count++;
    return begin_run(loading, &runs[loading->current]);
}

static int end_run(struct loading *loading, struct open_run *run)
{
    struct records *records = &loading->records;
    struct record *next = records_next(records, loading->err);
    int r;

    if (!next)
        return -ENOMEM;
    if (records->count == LOAD_REPORTS_MAX)
        return error_set(loading->err, EFBIG, "more than %d runs", LOAD_REPORTS_MAX);
    r = replay_finish(run->replay, loading->name, run->skipped, next);
    if (r == -ENODATA)
        return error_set(loading->err, EBADMSG, "no complete row; " NOT_SAMPLES);
    if (r < 0)
        return error_sys(loading->err, r, "cannot make the report");
    records->count++;
    replay_free(take_ptr(run->replay));
    return 0;
}

static int find_run(struct loading *loading, const struct replay_row *row)
{
    size_t i = loading->current;

    if (replay_has_id_of(loading->runs[i].replay, row))
        return 0;
    for (i = 0; i < loading->run_count; i++) {
        loading->current = i;
        if (replay_has_id_of(loading->runs[i].replay, row))
            return 0;
    }
    return add_run(loading);
}

static int add_row(struct loading *loading, const struct replay_row *row)
{
    int r = find_run(loading, row);
    struct open_run *run = &loading->runs[loading->current];

    if (r == 0 && replay_is_over(run->replay, row)) {
        r = end_run(loading, run);
        if (r == 0)
            r = begin_run(loading, run);
    }
    if (r == 0)
        replay_add(run->replay, row);
    return r;
}

static int refuse_line(const struct loading *loading, int code)
{
    if (code == -E2BIG || code == -EBADMSG)
        return error_set(loading->err, EBADMSG, "not a table of samples; " NOT_SAMPLES);
    return code < 0 ? error_sys(loading->err, code, "cannot be read") : code;
}

/* The last line is truncated if the run was interrupted, and may still look complete. */
static int read_rows(struct loading *loading, struct line line)
{
    struct replay_row row;
    int r = 1;

    while (r > 0) {
        replay_row_clear(&row);
        if (!line.is_torn && sample_table_read(&loading->table, line.text, &row))
            r = add_row(loading, &row);
        else if (line.length > 0)
            loading->runs[loading->current].skipped++;
        if (r >= 0)
            r = refuse_line(loading, line_reader_next(loading->lines, &line));
    }
    return r;
}

static int load(struct loading *loading)
{
    struct line line;
    int r = line_reader_next(loading->lines, &line);

    if (r > 0)
        r = sample_table_begin(&loading->table, line.text);
    if (r < 0)
        return refuse_line(loading, r);
    if (loading->table.names.count == 0)
        return error_set(loading->err, EBADMSG, "the file is empty; " NOT_SAMPLES);
    if (!loading->table.is_json) /* the first line is the header */
        line = (struct line){ .text = line.text + line.length };
    r = add_run(loading);
    if (r == 0 && loading->runs) /* never NULL here; the check is for clang-tidy */
        r = read_rows(loading, line);
    for (size_t i = 0; r >= 0 && i < loading->run_count; i++)
        r = end_run(loading, &loading->runs[i]);
    return r;
}

int samples_load(struct line_reader *lines, const char *name, struct records *ret,
                 struct spoor_error *err)
{
    CLEANUP(loading_done)
    struct loading loading = { .lines = lines, .name = name, .err = err };
    int r = load(&loading);

    if (r < 0)
        return r;
    *ret = loading.records;
    loading.records = (struct records){ 0 };
    return 0;
}

void samples_merge(struct record *report, const struct record *samples)
{
    report->curve = samples->curve;
    for (size_t i = 0; report->figures && samples->figures && i < figure_count(); i++) {
        const char *reason = report->figures[i].reason;

        if (reason && strcmp(reason, LOAD_MISSING) == 0)
            report->figures[i] = samples->figures[i];
    }
}
