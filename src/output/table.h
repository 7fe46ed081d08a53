/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - a table of texts and numbers in any format: aligned text, Markdown, CSV, JSON.
 *
 *     static const struct table_column columns[] = { { "NAME", "name" }, { "TIME", "elapsed_seconds" } };
 *     CLEANUP(table_done) struct table table = { .columns = columns, .column_count = 2 };
 *
 *     table_add_text(&table, "train");
 *     table_add_number(&table, 12.3, "12.3 s");
 *     table_write(&table, SPOOR_TEXT, &style, &out);
 *
 * Cells fill the rows from left to right. A failed allocation is remembered: table_error().
 */
#pragma once

#include "output/format.h"

struct table_column {
    const char *heading; /* heading for people; safe for a terminal */
    const char *key;     /* key in CSV and JSON */
};

struct table_cell {
    char *text;   /* text, or a number as people read it; owned; NULL: unknown */
    double value; /* the number; NaN: unknown */
    bool is_number;
};

/* The caller sets the columns and zeroes the rest. */
struct table {
    const struct table_column *columns;
    size_t column_count;
    struct table_cell *cells; /* owned; row by row */
    size_t cell_count;
    int error;
};

/* Adds a text, which may contain any bytes; NULL is unknown. */
void table_add_text(struct table *table, const char *text);
/* Adds a number. `shown` is the number as people read it, such as "12.3 s"; NULL: the number
 * itself, or unknown if that is NaN. */
void table_add_number(struct table *table, double value, const char *shown);

/* Writes the table. HTML is not supported. */
void table_write(const struct table *table, enum spoor_format format,
                 const struct format_style *style, struct buffer *out);
int table_error(const struct table *table);
void table_done(struct table *table);
