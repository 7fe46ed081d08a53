/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv_writer.h"

#include <inttypes.h>
#include <math.h>

#include "base/unknown.h"
#include "text/decimal.h"
#include "text/escape.h"
#include "text/number.h"

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
