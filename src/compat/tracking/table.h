/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of a CSV file or of a table in an SQLite file, one after the other.
 *
 *     static const char *const columns[] = { "name", "size" };
 *     r = table_open(path, &source, columns, 2, &table, &err);
 *     while ((r = table_next(table, &err)) > 0)
 *         r = table_number(table, 1, &size, &err);
 *     table_close(table);
 *
 * The suffix of the file name is its kind. Only one row is held in memory. The file may have
 * the columns in any order, with other columns between them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "spoor/spoor.h"

enum { TABLE_COLUMNS_MAX = 32 };

enum table_kind { TABLE_NONE, TABLE_CSV, TABLE_SQLITE };

/* Where the rows are in a file of either kind. */
struct table_place {
    const char *name;      /* table in an SQLite file */
    unsigned lines_before; /* lines before the header of a CSV file */
};

struct table;
struct sqlite3;

/* Protects us from a file of another user: its views and triggers, which could run for any
 * time, are disabled, and a cell must not be longer than CSV_RECORD_MAX. Returns an SQLite
 * code. */
int table_distrust(struct sqlite3 *db);

/* Returns TABLE_NONE if the suffix is neither .csv nor .sqlite. */
enum table_kind table_kind(const char *path);

/* Like table_kind(), but fails with -EINVAL and a message instead of TABLE_NONE. */
int table_check_name(const char *path, struct spoor_error *err);

/* Opens a file. Every message contains the name of the file. -EBADMSG: the file is
 * malformed. */
int table_open(const char *path, const struct table_place *place, const char *const *columns,
               size_t count, struct table **ret, struct spoor_error *err);
void table_close(struct table *table);

/* Goes to the next row. Returns 1, 0 at the end, or -errno. */
int table_next(struct table *table, struct spoor_error *err);

/* Returns a cell of the row, by the index of its column in `columns`. The text is valid
 * until the next row. table_number() returns numbers of an SQLite file with full precision. */
const char *table_text(struct table *table, size_t column);
int table_number(struct table *table, size_t column, double *ret, struct spoor_error *err);
int table_integer(struct table *table, size_t column, int64_t *ret, struct spoor_error *err);

/* Describes a fault of the current row in `err` and returns -EBADMSG. */
int table_refuse(const struct table *table, struct spoor_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
