/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sample_row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "text/number.h"

/* More are not from us. */
enum { COLUMNS_MAX = 16384, DEPTH_MAX = 32 };

/* A cell or a value that may be quoted. Whatever is not from us is no ID. */
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

/* A number, with or without quotes; NaN: an empty cell. The cursor stops behind it. */
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

static bool read_csv_row(const struct sample_columns *columns, const char *at,
                         struct replay_row *ret)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct sample_column *column = &columns->items[i];
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
        if (i + 1 < columns->count && *at++ != ',')
            return false;
    }
    at += *at == '\r';
    return *at == '\0';
}

/* ---- JSON --------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r");
}

/* Behind a text that begins here; NULL: it does not end. */
static const char *skip_text(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : NULL;
}

/* Behind a value of any kind; NULL: it does not end. */
static const char *skip_value(const char *at)
{
    unsigned depth = 0;

    do {
        at = skip_blanks(at);
        if (*at == '"')
            at = skip_text(at);
        else if (*at == '[' || *at == '{')
            depth++, at++;
        else if ((*at == ']' || *at == '}') && depth > 0)
            depth--, at++;
        else if ((*at == ',' || *at == ':') && depth > 0)
            at++;
        else
            at += strcspn(at, " \t\r,:]}");
    } while (at && *at && depth > 0 && depth < DEPTH_MAX);
    return depth == 0 ? at : NULL;
}

/* A member of an object. */
struct member {
    const char *key;
    size_t length;
    const char *value;
};

/* Goes to the next member: 1; 0 at the end of the object; -EBADMSG. The cursor stops at the value, and
 * begins at the '{' or behind a value. */
static int next_member(const char **cursor, struct member *ret)
{
    const char *at = skip_blanks(*cursor), *end;

    if (*at == '}') {
        *cursor = at + 1;
        return 0;
    }
    if (*at != '{' && *at != ',')
        return -EBADMSG;
    at = skip_blanks(at + 1);
    if (*at == '}') {
        *cursor = at + 1;
        return 0;
    }
    end = *at == '"' ? skip_text(at) : NULL;
    if (!end)
        return -EBADMSG;
    ret->key = at + 1;
    ret->length = (size_t)(end - at) - 2;
    at = skip_blanks(end);
    if (*at != ':')
        return -EBADMSG;
    ret->value = *cursor = skip_blanks(at + 1);
    return 1;
}

static bool is_key(const struct member *member, const char *name)
{
    return strncmp(member->key, name, member->length) == 0 && name[member->length] == '\0';
}

/* A number or null (NaN), or something else that is skipped (NaN). */
static bool read_value(const char **cursor, double *ret)
{
    const char *end;

    *ret = (double)NAN;
    if (number_read(cursor, ret) == 0)
        return true;
    end = skip_value(*cursor);
    if (!end || end == *cursor)
        return false;
    *cursor = end;
    return true;
}

/* A member of a row, or of an object or of one of a list of objects in it. */
struct leaf {
    struct member member;
    const struct member *parent; /* NULL: of the row itself */
    size_t element;              /* of a list */
};

/* Moves the cursor from a value behind it. */
typedef int leaf_visit(void *data, const struct leaf *leaf, const char **cursor);

static int walk_object(const char **cursor, const struct member *parent, size_t element,
                       leaf_visit *visit, void *data);

static int walk_list(const char **cursor, const struct member *parent, leaf_visit *visit,
                     void *data)
{
    const char *at = skip_blanks(*cursor + 1);
    int r = 0;

    for (size_t i = 0; r == 0 && *at == '{'; i++) {
        r = walk_object(&at, parent, i, visit, data);
        at = skip_blanks(at);
        if (*at == ',')
            at = skip_blanks(at + 1);
    }
    *cursor = at + 1;
    return r == 0 && *at != ']' ? -EBADMSG : r;
}

/* Our list of GPUs says in each element which one it is. */
static bool is_gpu_list(const struct member *member)
{
    return is_key(member, "gpus") && *member->value == '[';
}

/* Visits the members of an object. Those of a row may be objects or lists of such. */
static int walk_object(const char **cursor, const struct member *parent, size_t element,
                       leaf_visit *visit, void *data)
{
    struct leaf leaf = { .parent = parent, .element = element };
    int r;

    while ((r = next_member(cursor, &leaf.member)) > 0) {
        const char *value = leaf.member.value;
        bool is_list = *value == '[' && *skip_blanks(value + 1) == '{';

        if (!parent && *value == '{')
            r = walk_object(cursor, &leaf.member, 0, visit, data);
        else if (!parent && is_list && !is_gpu_list(&leaf.member))
            r = walk_list(cursor, &leaf.member, visit, data);
        else
            r = visit(data, &leaf, cursor);
        if (r < 0)
            return r;
    }
    return r;
}

/* An element of "gpus": which GPU it is stands before the rest. */
static bool read_gpu(const char **cursor, struct replay_row *ret)
{
    struct sample_column column = { .use = COLUMN_GPU, .gpu = { .part = -1 }, .unit = 1 };
    struct member member;
    double value;
    int r;

    while ((r = next_member(cursor, &member)) > 0) {
        char name[64] = "";
        int measure;

        if (!read_value(cursor, &value))
            return false;
        if (isnan(value) || member.length >= sizeof(name))
            continue;
        memcpy(name, member.key, member.length);
        measure = sample_column_gpu_measure(name);
        if (is_key(&member, "index") && value >= 0 && value < 1e6) {
            column.gpu.index = (unsigned)value;
        } else if (is_key(&member, "part") && value >= 0 && value < 1e6) {
            column.gpu.part = (int)value;
        } else if (measure >= 0) {
            column.gpu_measure = (size_t)measure;
            sample_column_add(&column, value, ret);
        }
    }
    return r == 0;
}

static bool read_gpus(const char **cursor, struct replay_row *ret)
{
    const char *at = skip_blanks(*cursor + 1);

    while (*at == '{') {
        if (!read_gpu(&at, ret))
            return false;
        at = skip_blanks(at);
        if (*at == ',')
            at = skip_blanks(at + 1);
    }
    *cursor = at + 1;
    return *at == ']';
}

static bool is_named(const struct leaf *leaf, const char *name)
{
    if (leaf->parent) {
        size_t length = leaf->parent->length;

        if (strncmp(leaf->parent->key, name, length) != 0 || name[length] != '.')
            return false;
        name += length + 1;
    }
    return is_key(&leaf->member, name);
}

struct row_reading {
    const struct sample_table *table;
    struct replay_row *row;
    size_t place; /* of the column that comes next in the order of the first row */
};

static struct sample_column find_column(struct row_reading *reading, const struct leaf *leaf)
{
    const struct sample_table *table = reading->table;
    size_t count = table->columns.count, i = reading->place;

    if (i >= count || !is_named(leaf, table->names[i])) {
        for (i = 0; i < count && !is_named(leaf, table->names[i]);)
            i++;
    }
    if (i == count)
        return (struct sample_column){ .use = COLUMN_OTHER };
    if (i < table->first_count)
        reading->place = i + 1;
    return table->columns.items[i];
}

static int read_leaf(void *data, const struct leaf *leaf, const char **cursor)
{
    struct row_reading *reading = data;
    struct sample_column column = find_column(reading, leaf);
    double value;

    if (!leaf->parent && is_gpu_list(&leaf->member))
        return read_gpus(cursor, reading->row) ? 0 : -EBADMSG;
    if (column.use == COLUMN_RUN_ID)
        read_run_id(*cursor, reading->row);
    if (!read_value(cursor, &value))
        return -EBADMSG;
    if (leaf->parent && column.use == COLUMN_GPU)
        column.gpu.index = (unsigned)leaf->element;
    if (!isnan(value))
        sample_column_add(&column, value, reading->row);
    return 0;
}

static bool read_json_row(const struct sample_table *table, const char *at,
                          struct replay_row *ret)
{
    struct row_reading reading = { .table = table, .row = ret };

    return *at == '{' && walk_object(&at, NULL, 0, read_leaf, &reading) == 0 &&
           *skip_blanks(at) == '\0';
}

/* ---- tables ----------------------------------------------------------------------- */

/* With a parent: "parent.name". */
static int add_name(struct sample_table *table, const struct member *parent, const char *text,
                    size_t length)
{
    size_t count = table->columns.count;
    size_t before = parent ? parent->length + 1 : 0;
    char **names;

    if (count == COLUMNS_MAX)
        return -EBADMSG;
    names = reallocarray(table->names, count + 1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    table->names = names;
    names[count] = calloc(before + length + 1, 1);
    if (!names[count])
        return -ENOMEM;
    if (parent) {
        memcpy(names[count], parent->key, parent->length);
        names[count][parent->length] = '.';
    }
    memcpy(names[count] + before, text, length);
    table->columns.count++;
    return 0;
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

static int add_key(void *data, const struct leaf *leaf, const char **cursor)
{
    double value;

    if (!read_value(cursor, &value))
        return -EBADMSG;
    return add_name(data, leaf->parent, leaf->member.key, leaf->member.length);
}

static int add_keys(struct sample_table *table, const char *at)
{
    int r = walk_object(&at, NULL, 0, add_key, table);
    const char *name;

    table->first_count = table->columns.count;
    for (size_t i = 0; r == 0; i++) {
        name =
            sample_columns_optional((const char *const *)table->names, table->first_count, i);
        if (!name)
            break;
        r = add_name(table, NULL, name, strlen(name));
    }
    return r;
}

static void forget_names(struct sample_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(table->names[i]);
    free(table->names);
    table->names = NULL;
}

int sample_table_begin(struct sample_table *table, const char *line)
{
    struct sample_table new = { .is_json = *line == '{' };
    struct sample_columns columns;
    int r;

    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        line += 3;
    r = new.is_json ? add_keys(&new, line) : add_header(&new, line);
    if (r == 0)
        r = sample_columns_find((const char *const *)new.names, new.columns.count, &columns);
    if (r < 0) {
        forget_names(&new, new.columns.count);
        return r;
    }
    new.columns = columns;
    *table = new;
    return 0;
}

void sample_table_done(struct sample_table *table)
{
    forget_names(table, table->columns.count);
    sample_columns_done(&table->columns);
}

bool sample_table_read(const struct sample_table *table, const char *line,
                       struct replay_row *ret)
{
    bool is_whole = table->is_json ? read_json_row(table, line, ret)
                                   : read_csv_row(&table->columns, line, ret);

    return is_whole && !isnan(ret->unix_seconds);
}
