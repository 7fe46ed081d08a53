/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sample_row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "text/number_reader.h"

/* More are not from us. */
enum { COLUMNS_MAX = 16384, DEPTH_MAX = 32 };

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

        if (column->use == COLUMN_OTHER) {
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

/* ---- JSONL: an object of numbers, and a list of GPUs -------------------------------- */

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

/* An element of "gpus": which GPU it is stands before the rest. */
static bool read_gpu(const char **cursor, struct replay_row *ret)
{
    struct sample_column column = { .use = COLUMN_GPU, .gpu = { .part = -1 } };
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

/* Members stand in the order of the first row, but for one that has changed. */
static const struct sample_column *find_column(const struct sample_table *table, size_t place,
                                               const struct member *member)
{
    static const struct sample_column none = { .use = COLUMN_OTHER };

    if (place < table->columns.count && is_key(member, table->names[place]))
        return &table->columns.items[place];
    for (size_t i = 0; i < table->columns.count; i++) {
        if (is_key(member, table->names[i]))
            return &table->columns.items[i];
    }
    return &none;
}

static bool read_json_row(const struct sample_table *table, const char *at,
                          struct replay_row *ret)
{
    struct member member;
    size_t place = 0;
    int r;

    if (*at != '{')
        return false;
    while ((r = next_member(&at, &member)) > 0) {
        double value;

        if (is_key(&member, "gpus") && *at == '[') {
            if (!read_gpus(&at, ret))
                return false;
        } else {
            const struct sample_column *column = find_column(table, place, &member);

            if (!read_value(&at, &value))
                return false;
            if (!isnan(value))
                sample_column_add(column, value, ret);
        }
        place++;
    }
    return r == 0 && *skip_blanks(at) == '\0';
}

/* ---- tables ----------------------------------------------------------------------- */

static int add_name(struct sample_table *table, const char *text, size_t length)
{
    size_t count = table->columns.count;
    char **names;

    if (count == COLUMNS_MAX)
        return -EBADMSG;
    names = reallocarray(table->names, count + 1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    table->names = names;
    names[count] = strndup(text, length);
    if (!names[count])
        return -ENOMEM;
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
        r = add_name(table, at, length);
        at += length;
        at += is_quoted && *at == '"';
        at += *at == ',';
    }
    return r;
}

static int add_keys(struct sample_table *table, const char *at)
{
    struct member member;
    double value;
    int r;

    while ((r = next_member(&at, &member)) > 0) {
        if (!read_value(&at, &value))
            return -EBADMSG;
        r = add_name(table, member.key, member.length);
        if (r < 0)
            return r;
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
