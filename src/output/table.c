/* SPDX-License-Identifier: Apache-2.0 */
#include "output/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "output/text_layout.h"
#include "text/csv.h"
#include "text/escape.h"
#include "text/json_writer.h"
#include "text/number.h"
#include "text/utf8.h"

enum { GAP = 2, COLUMNS_MAX = 64, TEXT_MIN = 16, HEADING_MAX = 24 };

/* ---- cells -------------------------------------------------------------- */

static void add_cell(struct table *table, const char *text, double value, bool is_number)
{
    struct table_cell *cells =
        reallocarray(table->cells, table->cell_count + 1, sizeof(*cells));
    char *copy = text ? strdup(text) : NULL;

    if (cells)
        table->cells = cells;
    if (!cells || (text && !copy)) {
        table->error = -ENOMEM;
        free(copy);
        return;
    }
    cells[table->cell_count++] = (struct table_cell){ copy, value, is_number };
}

void table_add_text(struct table *table, const char *text)
{
    add_cell(table, text, (double)NAN, false);
}

void table_add_number(struct table *table, double value, const char *shown)
{
    if (!shown && !isnan(value))
        add_cell(table, number_short(value).text, value, true);
    else
        add_cell(table, shown, value, true);
}

int table_error(const struct table *table)
{
    return table->error;
}

void table_done(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = 0;
}

static size_t row_count(const struct table *table)
{
    return table->column_count > 0 ? table->cell_count / table->column_count : 0;
}

static const struct table_cell *cell_at(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->column_count + column];
}

/* A column has numbers if none of its cells is a text. */
static bool is_number_column(const struct table *table, size_t column)
{
    for (size_t row = 0; row < row_count(table); row++) {
        const struct table_cell *cell = cell_at(table, row, column);

        if (!cell->is_number && cell->text)
            return false;
    }
    return true;
}

/* ---- text --------------------------------------------------------------- */

static void add_safe(const struct table_cell *cell, const struct format_style *style,
                     struct buffer *out)
{
    const struct page page = { .has_unicode = style->has_unicode };

    if (!cell->text)
        buffer_add_text(out, "-");
    else
        page_escape_command(&page, cell->text, out);
}

static void measure(const struct table *table, const struct format_style *style, size_t *widths)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };

    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = utf8_columns(table->columns[column].heading);
        if (widths[column] > HEADING_MAX)
            widths[column] = HEADING_MAX;
        for (size_t row = 0; row < row_count(table); row++) {
            size_t width;

            buffer_clear(&text);
            add_safe(cell_at(table, row, column), style, &text);
            width = utf8_columns(buffer_text(&text));
            if (width > widths[column])
                widths[column] = width;
        }
    }
}

static void shrink(const struct table *table, size_t columns, size_t *widths)
{
    for (;;) {
        size_t total = 0, widest = table->column_count;

        for (size_t i = 0; i < table->column_count; i++) {
            total += widths[i] + (i > 0 ? GAP : 0);
            if (!is_number_column(table, i) && widths[i] > TEXT_MIN &&
                (widest == table->column_count || widths[i] > widths[widest]))
                widest = i;
        }
        if (total <= columns || widest == table->column_count)
            return;
        widths[widest] -= total - columns < widths[widest] - TEXT_MIN
                              ? total - columns
                              : widths[widest] - TEXT_MIN;
    }
}

static void add_aligned(const char *text, size_t width, bool is_right, bool is_last,
                        struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer fitting = { 0 };
    size_t used;

    page_cut(text, width, &fitting);
    used = utf8_columns(buffer_text(&fitting));
    if (is_right)
        buffer_format(out, "%*s", (int)(used < width ? width - used : 0), "");
    buffer_add_text(out, buffer_text(&fitting));
    if (!is_right && !is_last)
        buffer_format(out, "%*s", (int)(used < width ? width - used : 0), "");
    if (!is_last)
        buffer_format(out, "%*s", GAP, "");
}

static void write_text(const struct table *table, const struct format_style *style,
                       struct buffer *out)
{
    size_t widths[COLUMNS_MAX];
    struct page page = { .out = out, .has_color = style->has_color };
    CLEANUP(buffer_done) struct buffer text = { 0 };
    bool is_number[COLUMNS_MAX];

    measure(table, style, widths);
    shrink(table, style->columns, widths);
    for (size_t i = 0; i < table->column_count; i++) {
        is_number[i] = is_number_column(table, i);
        add_aligned(table->columns[i].heading, widths[i], is_number[i],
                    i + 1 == table->column_count, &text);
    }
    page_line(&page, PAGE_DIM, &text);
    for (size_t row = 0; row < row_count(table); row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            buffer_clear(&text);
            add_safe(cell_at(table, row, i), style, &text);
            add_aligned(buffer_text(&text), widths[i], is_number[i],
                        i + 1 == table->column_count, out);
        }
        buffer_add(out, "\n", 1);
    }
}

/* ---- other formats ------------------------------------------------------ */

/* Escapes the text of a cell: a bar would end it, and HTML would be interpreted. */
static void escape_markdown(const char *text, struct buffer *out)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };

    escape_unsafe(text, &safe);
    for (const char *at = buffer_text(&safe); *at; at++) {
        if (strchr("|\\`*_<>[]", *at))
            buffer_add(out, "\\", 1);
        buffer_add(out, at, 1);
    }
}

static void add_markdown_cell(const char *text, struct buffer *out)
{
    buffer_add_text(out, " ");
    escape_markdown(text, out);
    buffer_add_text(out, " |");
}

static void write_markdown(const struct table *table, struct buffer *out)
{
    buffer_add_text(out, "|");
    for (size_t i = 0; i < table->column_count; i++)
        add_markdown_cell(table->columns[i].heading, out);
    buffer_add_text(out, "\n|");
    for (size_t i = 0; i < table->column_count; i++)
        buffer_add_text(out, is_number_column(table, i) ? " ---: |" : " --- |");
    for (size_t row = 0; row < row_count(table); row++) {
        buffer_add_text(out, "\n|");
        for (size_t i = 0; i < table->column_count; i++) {
            const struct table_cell *cell = cell_at(table, row, i);

            add_markdown_cell(cell->text ? cell->text : "-", out);
        }
    }
    buffer_add_text(out, "\n");
}

static void write_csv(const struct table *table, struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    for (size_t i = 0; i < table->column_count; i++)
        csv_add_text(&csv, table->columns[i].key);
    csv_end_row(&csv);
    for (size_t row = 0; row < row_count(table); row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            const struct table_cell *cell = cell_at(table, row, i);

            if (cell->is_number)
                csv_add_number(&csv, cell->value);
            else
                csv_add_text(&csv, cell->text);
        }
        csv_end_row(&csv);
    }
}

static void write_json(const struct table *table, struct buffer *out)
{
    struct json_writer json = { .out = out };

    json_begin(&json, NULL, '[');
    for (size_t row = 0; row < row_count(table); row++) {
        json_begin(&json, NULL, '{');
        for (size_t i = 0; i < table->column_count; i++) {
            const struct table_cell *cell = cell_at(table, row, i);

            if (cell->is_number)
                json_add_number(&json, table->columns[i].key, cell->value);
            else
                json_add_text(&json, table->columns[i].key, cell->text);
        }
        json_end(&json);
    }
    json_end(&json);
    buffer_add_text(out, "\n");
}

void table_write(const struct table *table, enum spoor_format format,
                 const struct format_style *style, struct buffer *out)
{
    if (format == SPOOR_JSON)
        write_json(table, out);
    else if (format == SPOOR_CSV)
        write_csv(table, out);
    else if (format == SPOOR_MARKDOWN)
        write_markdown(table, out);
    else
        write_text(table, style, out);
}
