/* SPDX-License-Identifier: Apache-2.0 */
/* dialect_write.c - rows of a dialect as CSV, JSON or doubles. */
#include <endian.h>
#include <math.h>
#include <string.h>

#include "output/dialect.h"
#include "text/json_writer.h"
#include "text/number.h"

static void write_number(const struct cell *cell, struct buffer *out)
{
    if (cell->is_integer)
        number_write_u64((uint64_t)cell->value, out);
    else if (cell->fixed_decimals >= 0)
        buffer_add_text(out, decimal_fixed(cell->value, cell->fixed_decimals).text);
    else
        buffer_add_text(out, decimal_float(cell->value).text);
}

/* The name of a column, in a buffer that is cleared first. Without memory for it `out` fails. */
static const char *name_of(const struct column *column, const char *prefix,
                           struct buffer *scratch, struct buffer *out)
{
    buffer_clear(scratch);
    buffer_add_text(scratch, prefix);
    buffer_add(scratch, column->name, strlen(column->name));
    if (buffer_error(scratch) < 0)
        out->error = scratch->error;
    return scratch->text;
}

void dialect_csv_header(const struct stream *stream, struct buffer *out)
{
    struct csv_writer csv = { .out = out, .dialect = stream->dialect->csv };
    CLEANUP(buffer_done) struct buffer name = { 0 };
    const struct column *column;
    const char *prefix;

    for (size_t i = 0; (column = dialect_column(stream->table, i, &prefix)) != NULL; i++)
        csv_add_text(&csv, name_of(column, prefix, &name, out));
    csv_end_row(&csv);
}

void dialect_csv_row(const struct stream *stream, const struct stream_row *row,
                     struct buffer *out)
{
    struct csv_writer csv = { .out = out, .dialect = stream->dialect->csv };
    const struct column *column;
    const char *prefix;

    for (size_t i = 0; (column = dialect_column(stream->table, i, &prefix)) != NULL; i++) {
        struct cell cell = dialect_cell(column, row);

        if (isnan(cell.value)) {
            csv_add_text(&csv, stream->dialect->none);
        } else {
            csv_begin_cell(&csv);
            write_number(&cell, out);
        }
    }
    csv_end_row(&csv);
}

void dialect_jsonl_row(const struct stream *stream, const struct stream_row *row,
                       struct buffer *out)
{
    struct json_writer json = { .out = out };
    CLEANUP(buffer_done) struct buffer name = { 0 };
    const struct column *column;
    const char *prefix;

    if (stream->dialect->json_row) {
        stream->dialect->json_row(row, out);
        return;
    }
    json_begin_line(&json, NULL, '{');
    for (size_t i = 0; (column = dialect_column(stream->table, i, &prefix)) != NULL; i++) {
        struct cell cell = dialect_cell(column, row);
        const char *key = name_of(column, prefix, &name, out);

        if (isnan(cell.value)) {
            json_add_null(&json, key);
        } else {
            json_begin_value(&json, key);
            write_number(&cell, out);
        }
    }
    json_end(&json);
    buffer_add(out, "\n", 1);
}

void dialect_f64_row(const struct stream *stream, const struct stream_row *row,
                     struct buffer *out)
{
    const struct column *column;
    const char *prefix;

    for (size_t i = 0; (column = dialect_column(stream->table, i, &prefix)) != NULL; i++) {
        struct cell cell = dialect_cell(column, row);
        char bytes[sizeof(uint64_t)];
        uint64_t bits;

        memcpy(&bits, &cell.value, sizeof(bits));
        bits = htole64(bits);
        memcpy(bytes, &bits, sizeof(bytes));
        buffer_add(out, bytes, sizeof(bytes));
    }
}
