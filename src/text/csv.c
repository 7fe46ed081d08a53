/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/reserve.h"
#include "text/escape.h"
#include "text/number.h"

/* ---- csv writer ------------------------------------------------------------ */

const struct csv_dialect csv_safe = { "\n", escape_csv, false };
const struct csv_dialect csv_python = { "\r\n", escape_csv_minimal, true };
const struct csv_dialect csv_pandas = { "\n", escape_csv_minimal, true };
const struct csv_dialect csv_quoted = { "\n", escape_csv_always, true };
const struct csv_dialect csv_quoted_crlf = { "\r\n", escape_csv_always, true };

static const struct csv_dialect *dialect_of(const struct csv_writer *csv)
{
    return csv->dialect ? csv->dialect : &csv_safe;
}

void csv_begin_cell(struct csv_writer *csv)
{
    if (csv->has_cells)
        buffer_add(csv->out, ",", 1);
    csv->has_cells = true;
}

void csv_add_text(struct csv_writer *csv, const char *text)
{
    csv_begin_cell(csv);
    if (text)
        dialect_of(csv)->escape(text, csv->out);
}

void csv_add_number(struct csv_writer *csv, double value)
{
    csv_begin_cell(csv);
    if (!isfinite(value))
        return;
    if (dialect_of(csv)->is_python)
        buffer_add_text(csv->out, decimal_float(value).text);
    else
        number_write(value, csv->out);
}

void csv_add_u64(struct csv_writer *csv, uint64_t value)
{
    csv_begin_cell(csv);
    if (is_known(value))
        number_write_u64(value, csv->out);
}

void csv_add_i64(struct csv_writer *csv, int64_t value)
{
    csv_begin_cell(csv);
    buffer_format(csv->out, "%" PRId64, value);
}

void csv_add_seconds(struct csv_writer *csv, uint64_t nanoseconds, unsigned decimals)
{
    csv_begin_cell(csv);
    if (is_known(nanoseconds))
        number_write_seconds(nanoseconds, decimals, csv->out);
}

void csv_end_row(struct csv_writer *csv)
{
    buffer_add_text(csv->out, dialect_of(csv)->line_end);
    csv->has_cells = false;
}

/* ---- csv reader ------------------------------------------------------------ */

static int add(struct csv_reader *reader, char c)
{
    if (reader->length == CSV_RECORD_MAX)
        return -E2BIG;
    if (reserve(&reader->text, &reader->capacity, reader->length + 1, 1) < 0)
        return -ENOMEM;
    reader->text[reader->length++] = c;
    return 0;
}

static int begin_cell(struct csv_reader *reader)
{
    if (reader->count == CSV_CELLS_MAX)
        return -E2BIG;
    reader->starts[reader->count++] = reader->length;
    return 0;
}

/* Reads from after the opening quote to after the closing quote. */
static int read_quoted(struct csv_reader *reader)
{
    for (;;) {
        int c = getc_unlocked(reader->in);
        int r;

        if (c == '"') {
            c = getc_unlocked(reader->in);
            if (c != '"') {
                (void)ungetc(c, reader->in); /* EOF is not put back */
                return 0;
            }
        }
        if (c == EOF || c == '\0')
            return -EBADMSG;
        if (c == '\n')
            reader->line++;
        r = add(reader, (char)c);
        if (r < 0)
            return r;
    }
}

/* Reads one cell; *ret_end is the character that ended it: ',', '\n' or EOF. */
static int read_cell(struct csv_reader *reader, int *ret_end)
{
    bool is_start = true;
    int r = begin_cell(reader);

    while (r == 0) {
        int c = getc_unlocked(reader->in);

        if (c == '\r') {
            int next = getc_unlocked(reader->in);

            if (next == '\n')
                c = '\n';
            else
                (void)ungetc(next, reader->in); /* EOF is not put back */
        }
        if (c == ',' || c == '\n' || c == EOF) {
            *ret_end = c;
            return add(reader, '\0');
        }
        if (c == '\0')
            return -EBADMSG;
        r = c == '"' && is_start ? read_quoted(reader) : add(reader, (char)c);
        is_start = false;
    }
    return r;
}

int csv_reader_next(struct csv_reader *reader)
{
    int end;

    do {
        int r;

        reader->length = reader->count = 0;
        reader->line++;
        do {
            r = read_cell(reader, &end);
        } while (r == 0 && end == ',');
        if (r < 0)
            return r;
        if (ferror(reader->in))
            return errno ? -errno : -EIO;
    } while (end == '\n' && reader->count == 1 && reader->text[0] == '\0');
    return end == EOF && reader->count == 1 && reader->text[0] == '\0' ? 0 : 1;
}

const char *csv_reader_cell(const struct csv_reader *reader, size_t i)
{
    return reader->text + reader->starts[i];
}

void csv_reader_done(struct csv_reader *reader)
{
    free(reader->text);
    *reader = (struct csv_reader){ 0 };
}
