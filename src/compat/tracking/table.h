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
 * The suffix of the file is its kind. Only one row is held in memory. Columns may stand in any order in the
 * file, with others between them.
 */
#ifndef COMPAT_TRACKING_TABLE_H
#define COMPAT_TRACKING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "spoor/spoor.h"

enum { TABLE_COLUMNS_MAX = 32 };

enum table_kind { TABLE_NONE, TABLE_CSV, TABLE_SQLITE };

/* The position of the rows, in a file of either kind. */
struct table_place {
    const char *name;      /* the table of an SQLite file */
    unsigned lines_before; /* the lines of a CSV file before its header */
};

struct table;
struct sqlite3;

/* Another user may have made the file: its tables are read, but its views and triggers, which can do
 * work of any length, are not run, and no cell is longer than a record of a CSV file may be. Returns a code
 * of SQLite. */
int table_distrust(struct sqlite3 *db);

/* TABLE_NONE: neither .csv nor .sqlite. */
enum table_kind table_kind(const char *path);

/* Like table_kind(), but fails with -EINVAL and a message if the name is of neither kind. */
int table_check_name(const char *path, struct spoor_error *err);

/* Every message contains the name of the file. -EBADMSG: the file is malformed. */
int table_open(const char *path, const struct table_place *place, const char *const *columns,
               size_t count, struct table **ret, struct spoor_error *err);
void table_close(struct table *table);

/* Goes to the next row. Returns 1, 0 at the end, or -errno. */
int table_next(struct table *table, struct spoor_error *err);

/* Returns a cell of the row, by the index of its column in `columns`. The text is valid
 * until the next row. table_number() loses no digit of a number of an SQLite file. */
const char *table_text(struct table *table, size_t column);
int table_number(struct table *table, size_t column, double *ret, struct spoor_error *err);
int table_integer(struct table *table, size_t column, int64_t *ret, struct spoor_error *err);

/* Returns -EBADMSG with a message about the current row. */
int table_refuse(const struct table *table, struct spoor_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
