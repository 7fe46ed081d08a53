/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/text_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/utf8.h"

struct cell_text cell_number(double value)
{
    struct cell_text cell = { "NaN" };

    if (isnan(value))
        return cell;
    (void)snprintf(cell.text, sizeof(cell.text), "%.8f", value); /* fits: 309 digits */
    (void)snprintf(cell.text, sizeof(cell.text), "%s",
                   decimal_float(strtod(cell.text, NULL)).text);
    return cell;
}

/* In characters: what they look like is the terminal's business. */
static size_t width_of_safe(const char *text)
{
    size_t count = 0;
    uint32_t character;
    int length;

    for (; (length = utf8_decode(text, &character)) != 0; count++)
        text += length > 0 ? length : 1;
    return count;
}

/* As it will be written. */
static size_t width(const char *text)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };

    escape_unsafe(text, &safe);
    return safe.text ? width_of_safe(safe.text) : 0;
}

static size_t wider(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t index_width(const struct text_table *table)
{
    size_t result = 0;

    for (size_t row = 0; row < table->rows && table->index; row++)
        result = wider(result, width(table->index[row]));
    return result;
}

static size_t column_width(const struct text_table *table, size_t column)
{
    size_t result = width(table->headers[column]) + !table->has_words;

    for (size_t row = 0; row < table->rows; row++)
        result = wider(result, width(table->cells[row * table->columns + column].text) +
                                   table->has_words);
    return result;
}

void text_tabs(unsigned tabs, struct buffer *out)
{
    while (tabs-- > 0)
        buffer_add(out, "\t", 1);
}

static void put_right(const char *text, size_t columns, struct buffer *out)
{
    buffer_format(out, " %*s", (int)(columns - width(text)), "");
    escape_unsafe(text, out);
}

static void put_left(const char *text, size_t columns, struct buffer *out)
{
    escape_unsafe(text, out);
    buffer_format(out, "%*s", (int)(columns - width(text)), "");
}

void text_table_write(const struct text_table *table, unsigned tabs, struct buffer *out)
{
    size_t left = index_width(table);

    text_tabs(tabs, out);
    put_left("", left, out);
    for (size_t column = 0; column < table->columns; column++)
        put_right(table->headers[column], column_width(table, column), out);
    buffer_add(out, "\n", 1);
    for (size_t row = 0; row < table->rows; row++) {
        text_tabs(tabs, out);
        put_left(table->index ? table->index[row] : "", left, out);
        for (size_t column = 0; column < table->columns; column++)
            put_right(table->cells[row * table->columns + column].text,
                      column_width(table, column), out);
        buffer_add(out, "\n", 1);
    }
}

void text_title(const char *key, unsigned tabs, struct buffer *out)
{
    bool is_start = true;

    text_tabs(tabs, out);
    for (; *key; key++) {
        unsigned char c = (unsigned char)*key;

        buffer_format(out, "%c", c == '_' ? ' ' : is_start ? toupper(c) : tolower(c));
        is_start = !isalpha(c);
    }
}
