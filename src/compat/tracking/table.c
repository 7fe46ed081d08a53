/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tracking/table.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/buffer.h"
#include "text/csv.h"
#include "text/number.h"

enum { BUSY_MS = 5000 };

struct table {
    const char *path;           /* borrowed */
    const char *const *columns; /* borrowed */
    size_t count;
    /* for a CSV file; `db` is then NULL: */
    struct csv_reader csv;
    size_t cells;                   /* number of cells in the header, and therefore in each
                                     * row */
    size_t cell[TABLE_COLUMNS_MAX]; /* index of a column in a row */
    /* for an SQLite file: */
    sqlite3 *db;
    sqlite3_stmt *select;
    uint64_t row; /* number of the current row, from 1 */
};

enum table_kind table_kind(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && strcmp(dot, ".csv") == 0)
        return TABLE_CSV;
    return dot && strcmp(dot, ".sqlite") == 0 ? TABLE_SQLITE : TABLE_NONE;
}

int table_check_name(const char *path, struct spoor_error *err)
{
    enum table_kind kind = table_kind(path);

    if (kind != TABLE_NONE)
        return (int)kind;
    return error_set(err, EINVAL,
                     "Invalid file name: \"%s\". Valid file extensions are \".csv\" and "
                     "\".sqlite\".",
                     path);
}

int table_refuse(const struct table *table, struct spoor_error *err, const char *fmt, ...)
{
    char what[sizeof(err->message)];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args); /* may be truncated */
    va_end(args);
    if (table->db)
        return error_set(err, EBADMSG, "File %s, row %llu: %s", table->path,
                         (unsigned long long)table->row, what);
    return error_set(err, EBADMSG, "File %s, line %u: %s", table->path, table->csv.line, what);
}

static int csv_next(struct table *table, struct spoor_error *err)
{
    int r = csv_reader_next(&table->csv);

    if (r == -EBADMSG)
        return table_refuse(table, err, "invalid CSV: an unclosed quote, or a NUL byte");
    if (r == -E2BIG)
        return table_refuse(table, err, "the line is too long");
    return r < 0 ? error_sys(err, r, "File %s", table->path) : r;
}

static int find_cell(struct table *table, size_t column, struct spoor_error *err)
{
    for (size_t i = 0; i < table->csv.count; i++) {
        if (strcmp(csv_reader_cell(&table->csv, i), table->columns[column]) == 0) {
            table->cell[column] = i;
            return 0;
        }
    }
    return table_refuse(table, err, "missing column \"%s\"", table->columns[column]);
}

static int csv_open(struct table *table, const struct table_place *place,
                    struct spoor_error *err)
{
    for (unsigned i = 0; i <= place->lines_before; i++) {
        int r = csv_next(table, err);

        if (r == 0)
            return table_refuse(table, err, "the file ends before the header of its rows");
        if (r < 0)
            return r;
    }
    table->cells = table->csv.count;
    for (size_t i = 0; i < table->count; i++) {
        int r = find_cell(table, i, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int fail_sqlite(const struct table *table, struct spoor_error *err)
{
    return error_set(err, EBADMSG, "File %s: %s", table->path, sqlite3_errmsg(table->db));
}

static int sqlite_open(struct table *table, const struct table_place *place,
                       struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer sql = { 0 };
    const char *name = place->name;
    int code;

    for (size_t i = 0; i < table->count; i++) {
        const char *column = table->columns[i];

        buffer_format(&sql, "%s%s", i ? ", " : "SELECT ", column);
    }
    buffer_format(&sql, " FROM %s", name);
    if (buffer_error(&sql) < 0)
        return error_set(err, ENOMEM, "out of memory");
    /* Not read-only: SQLite may have to merge the log of a writer that was killed. */
    code = sqlite3_open_v2(table->path, &table->db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(table->db, BUSY_MS);
        code = table_distrust(table->db);
    }
    if (code != SQLITE_OK ||
        sqlite3_prepare_v2(table->db, sql.text, -1, &table->select, NULL) != SQLITE_OK)
        return fail_sqlite(table, err);
    return 0;
}

int table_distrust(sqlite3 *db)
{
    static const struct {
        int option, value;
    } settings[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
        { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
    };
    int code = SQLITE_OK;

    /* The result is the previous limit. */
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CSV_RECORD_MAX);
    for (size_t i = 0; code == SQLITE_OK && i < ARRAY_SIZE(settings); i++)
        code = sqlite3_db_config(db, settings[i].option, settings[i].value, NULL);
    return code;
}

static void cleanup_table(struct table **table)
{
    table_close(*table);
}

int table_open(const char *path, const struct table_place *place, const char *const *columns,
               size_t count, struct table **ret, struct spoor_error *err)
{
    CLEANUP(cleanup_table) struct table *table = calloc(1, sizeof(*table));
    int kind = table_check_name(path, err);
    struct stat status;
    FILE *in;
    int r;

    if (kind < 0)
        return kind;
    if (!table)
        return error_set(err, ENOMEM, "out of memory");
    table->path = path;
    table->columns = columns;
    table->count = count;
    /* Open an SQLite file here as well, so that both kinds report the same errors. */
    in = fopen(path, "re");
    if (!in)
        return error_sys(err, errno, "File %s", path);
    if (kind == TABLE_CSV)
        table->csv.in = in;
    r = fstat(fileno(in), &status) == 0 && S_ISDIR(status.st_mode) ? -EISDIR : 0;
    if (kind == TABLE_SQLITE)
        fclose(in);
    if (r < 0)
        return error_sys(err, r, "File %s", path);
    r = kind == TABLE_CSV ? csv_open(table, place, err) : sqlite_open(table, place, err);
    if (r == 0)
        *ret = take_ptr(table);
    return r;
}

void table_close(struct table *table)
{
    if (!table)
        return;
    sqlite3_finalize(table->select);
    sqlite3_close(table->db);
    if (table->csv.in)
        fclose(table->csv.in);
    csv_reader_done(&table->csv);
    free(table);
}

int table_next(struct table *table, struct spoor_error *err)
{
    int r;

    table->row++;
    if (table->db) {
        r = sqlite3_step(table->select);
        if (r != SQLITE_ROW && r != SQLITE_DONE)
            return fail_sqlite(table, err);
        return r == SQLITE_ROW;
    }
    r = csv_next(table, err);
    if (r > 0 && table->csv.count != table->cells)
        return table_refuse(table, err, "%zu cells, but the header has %zu", table->csv.count,
                            table->cells);
    return r;
}

const char *table_text(struct table *table, size_t column)
{
    const char *text;

    if (!table->db)
        return csv_reader_cell(&table->csv, table->cell[column]);
    text = (const char *)sqlite3_column_text(table->select, (int)column);
    return text ? text : "";
}

static bool is_sqlite_number(struct table *table, size_t column)
{
    int type = table->db ? sqlite3_column_type(table->select, (int)column) : SQLITE_NULL;

    return type == SQLITE_FLOAT || type == SQLITE_INTEGER;
}

int table_number(struct table *table, size_t column, double *ret, struct spoor_error *err)
{
    const char *text;

    if (is_sqlite_number(table, column)) {
        double value = sqlite3_column_double(table->select, (int)column);

        if (isfinite(value)) {
            *ret = value;
            return 0;
        }
    }
    text = table_text(table, column);
    if (decimal_parse(text, ret) < 0)
        return table_refuse(table, err, "\"%s\" in column \"%s\" is not a number", text,
                            table->columns[column]);
    return 0;
}

int table_integer(struct table *table, size_t column, int64_t *ret, struct spoor_error *err)
{
    const char *text = table_text(table, column);
    const char *end = text;

    if (parse_i64(&end, ret) < 0 || *end != '\0')
        return table_refuse(table, err, "\"%s\" in column \"%s\" is not an integer", text,
                            table->columns[column]);
    return 0;
}
