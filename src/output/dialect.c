/* SPDX-License-Identifier: Apache-2.0 */
#include "output/dialect.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "text/find.h"
#include "text/json_writer.h"
#include "text/number.h"

/* ---- dialect --------------------------------------------------------------- */

static const struct dialect *const dialects[] = {
    &dialect_resource_tracker,
    &dialect_resource_tracker_0_3,
    &dialect_resource_tracker_0_1,
    &dialect_resource_tracker_rs,
};

/* ---- finding a table ---------------------------------------------------------- */

bool dialect_find(const char *name, bool has_job, const struct dialect **ret,
                  const struct dialect_table **ret_table)
{
    size_t length = strcspn(name, ":");

    for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
        const struct dialect *dialect = dialects[i];
        const struct dialect_table *table;

        if (strlen(dialect->name) != length || memcmp(dialect->name, name, length) != 0)
            continue;
        table = FIND_ROW(dialect->tables, name,
                         name[length] ? name + length + 1
                         : has_job    ? "process"
                                      : "system");
        if (!table && !name[length])
            table = &dialect->tables[0];
        *ret = dialect;
        *ret_table = table;
        return table != NULL;
    }
    return false;
}

const struct column *dialect_column(const struct dialect_table *table, size_t index,
                                    const char **ret_prefix)
{
    for (size_t i = 0; i < ARRAY_SIZE(table->ranges); i++) {
        const struct column_range *range = &table->ranges[i];

        if (index < range->count) {
            *ret_prefix = range->prefix;
            return &range->columns[index];
        }
        index -= range->count;
    }
    return NULL;
}

bool dialect_reads(const struct dialect_table *table, size_t offset)
{
    const struct column *column;
    const char *prefix;

    for (size_t i = 0; (column = dialect_column(table, i, &prefix)) != NULL; i++) {
        if (column->plus[0] == offset)
            return true;
    }
    return false;
}

/* ---- raw values ----------------------------------------------------------------- */

static uint64_t sum_at(const struct sample *sample, const size_t *offsets, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count && offsets[i] != 0; i++)
        sum = sum_u64(sum, raw_at(sample, offsets[i]));
    return sum;
}

static uint64_t balance(const struct column *column, const struct sample *sample)
{
    uint64_t plus = sum_at(sample, column->plus, ARRAY_SIZE(column->plus));
    uint64_t minus = sum_at(sample, column->minus, ARRAY_SIZE(column->minus));

    return is_known(plus) && is_known(minus) ? sub_floor0(plus, minus) : UNKNOWN;
}

/* Returns the first value that is known and not 0; otherwise 0, or UNKNOWN if none is known.
 * The second half of the values are the maxima of the first half since the previous sample. If
 * the job has exited, the maxima are used instead if they exceed the current values. */
static uint64_t first_at(const struct sample *sample, const size_t offsets[4])
{
    bool is_gone = sample_job_is_gone(sample);
    size_t half = offsets[2] != 0 ? 2 : 1;
    uint64_t found = UNKNOWN;

    for (size_t i = is_gone ? half : 0; i < 2 * half; i++) {
        uint64_t value = raw_at(sample, offsets[i]);

        if (is_gone && value == raw_at(sample, offsets[i - half]))
            value = is_known(value) ? 0 : UNKNOWN;
        if (is_known(value) && (value > 0 || is_gone))
            return value;
        raise_to(&found, value);
    }
    return found;
}

static uint64_t first_of(const struct column *column, const struct stream_row *row)
{
    uint64_t now = first_at(row->sample, column->plus);
    uint64_t before = first_at(row->previous, column->plus);

    if (is_known(now) && now > 0)
        return now;
    if (is_known(before) && before > 0)
        return before;
    before = column->fallback != 0 ? raw_at(row->sample, column->fallback) : UNKNOWN;
    return is_known(before) ? before : now;
}

/* ---- kinds of columns ------------------------------------------------------------- */

static uint64_t power_of_ten(int exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* Returns the smallest amount that the column can show. Increases are counted in steps of this
 * size, so that later rows make up for the rounding errors of earlier ones. */
static uint64_t step_of(const struct column *column)
{
    return column->per / power_of_ten(column->decimals);
}

static uint64_t steps_grown(const struct column *column, uint64_t before, uint64_t now)
{
    uint64_t step = step_of(column);

    if (!is_known(before) || !is_known(now))
        return UNKNOWN;
    return sub_known(now / step, before / step);
}

static double in_units(const struct column *column, uint64_t steps)
{
    return as_number(steps) / (double)power_of_ten(column->decimals);
}

static double level(const struct column *column, uint64_t raw)
{
    if (!is_known(raw))
        return nan("");
    if (column->flags & COLUMN_INTEGER)
        return (double)(raw / column->per);
    return (double)raw / (double)column->per;
}

static double growth(const struct column *column, const struct stream_row *row)
{
    return in_units(column, steps_grown(column, balance(column, row->previous),
                                        balance(column, row->sample)));
}

uint64_t dialect_rate_span_ns(const struct stream_row *row, enum metric_clock clock)
{
    const struct sample *from = row->rates_from ? row->rates_from : row->previous;
    const struct sample_clock *now = &row->sample->clocks[clock];
    uint64_t span_ns = sub_floor0(row->sample->elapsed_ns + now->late_ns,
                                  from->elapsed_ns + from->clocks[clock].late_ns);

    return larger(larger(span_ns, now->resolution_ns / 2), 1);
}

static double cores(const struct column *column, const struct stream_row *row)
{
    const struct sample *from = row->rates_from ? row->rates_from : row->previous;
    uint64_t delta = sub_known(balance(column, row->sample), balance(column, from));
    uint64_t cpus = larger(from->host.cpu.cpus, row->sample->host.cpu.cpus);

    if (!is_known(delta))
        return nan("");
    /* fmin() ignores a NaN */
    return fmin((double)delta / (double)dialect_rate_span_ns(row, column->clock),
                as_number(cpus));
}

/* Returns the share of plus[1] in the increase of plus[1] and plus[2] or, if neither has
 * increased, in their sum. NaN: unknown. */
static double share(const struct column *column, const struct stream_row *row)
{
    uint64_t first = raw_at(row->sample, column->plus[1]);
    uint64_t second = raw_at(row->sample, column->plus[2]);
    uint64_t more_first = sub_known(first, raw_at(row->previous, column->plus[1]));
    uint64_t more_second = sub_known(second, raw_at(row->previous, column->plus[2]));

    if (!is_known(first) || !is_known(second))
        return nan("");
    if (is_known(more_first) && is_known(more_second) && more_first + more_second > 0)
        return (double)more_first / (double)(more_first + more_second);
    return first + second > 0 ? (double)first / (double)(first + second) : 1;
}

/* Returns CPU time, including time used at an unknown moment, so that rows add up to the
 * total. */
static uint64_t whole_at(const struct column *column, const struct sample *sample)
{
    return sum_u64(raw_at(sample, column->plus[0]), sample->missed_cpu_ns);
}

static double part(const struct column *column, const struct stream_row *row)
{
    uint64_t whole =
        steps_grown(column, whole_at(column, row->previous), whole_at(column, row->sample));
    double first = share(column, row);
    uint64_t steps;

    if (!is_known(whole) || isnan(first))
        return nan("");
    steps = (uint64_t)((double)whole * first + 0.5);
    return in_units(column, column->kind == COLUMN_PART ? steps : whole - steps);
}

/* Returns the number of processes other than the main one. The main process counts as alive as
 * long as it has threads. */
static double children(const struct stream_row *row)
{
    uint64_t count = row->sample->moment[METRIC_JOB_PROCESSES];
    uint64_t main_threads = row->pid > 0 ? row->sample->moment[METRIC_MAIN_THREADS] : 0;

    if (row->is_main_only || !is_known(count) || !is_known(main_threads))
        return nan("");
    return (double)sub_floor0(count, main_threads > 0);
}

static double busy_gpus(const struct stream_row *row, enum gpu_measure utilization)
{
    struct gpu_columns gpus;
    double count = nan("");

    if (row->gpu->state != GPU_READY)
        return count;
    gpus = gpu_columns_of(row->gpu);
    for (size_t i = 0; i < gpus.count; i++) {
        double values[GPU_MEASURE_COUNT];

        gpu_columns_read(row->gpu, gpus.places[i], values);
        if (!isnan(values[utilization]))
            count = (isnan(count) ? 0 : count) + (values[utilization] > 0);
    }
    return count;
}

static double value_of(const struct column *column, const struct stream_row *row)
{
    bool is_of_machine = row->is_machine_only && column->fallback != 0;

    switch (column->kind) {
    case COLUMN_LEVEL:
        return level(column, is_of_machine ? raw_at(row->sample, column->fallback)
                                           : balance(column, row->sample));
    case COLUMN_FIRST:
        return level(column, first_of(column, row));
    case COLUMN_GROWTH:
        return growth(column, row);
    case COLUMN_CORES:
        return cores(column, row);
    case COLUMN_PART:
    case COLUMN_REST:
        return part(column, row);
    case COLUMN_PID:
        return row->pid > 0 ? (double)row->pid : nan("");
    case COLUMN_CHILDREN:
        return children(row);
    case COLUMN_GPUS:
        return busy_gpus(row, GPU_UTILIZATION);
    case COLUMN_JOB_GPUS:
        return busy_gpus(row, is_of_machine ? GPU_UTILIZATION : GPU_JOB_UTILIZATION);
    }
    return nan("");
}

struct cell dialect_cell(const struct column *column, const struct stream_row *row)
{
    struct cell cell = {
        .value = value_of(column, row),
        .is_integer = column->flags & COLUMN_INTEGER,
        .fixed_decimals = column->flags & COLUMN_FIXED ? column->decimals : -1,
    };

    if (isnan(cell.value) && column->flags & COLUMN_NO_GPU_ZERO &&
        row->gpu->state == GPU_NONE) {
        cell.value = 0;
        cell.is_integer = cell.fixed_decimals < 0;
    }
    if (cell.value > 0) {
        if (!cell.is_integer && column->decimals >= 0)
            cell.value = decimal_round(cell.value, column->decimals);
        return cell;
    }
    if (column->flags & COLUMN_ZERO_NONE)
        cell.value = nan("");
    if (column->flags & COLUMN_ZERO)
        cell.is_integer = true;
    return cell;
}

/* ---- Rows of a dialect as CSV, JSON or doubles ----------------------------- */

static void write_number(const struct cell *cell, struct buffer *out)
{
    if (cell->is_integer)
        number_write_u64((uint64_t)cell->value, out);
    else if (cell->fixed_decimals >= 0)
        buffer_add_text(out, decimal_fixed(cell->value, cell->fixed_decimals).text);
    else
        buffer_add_text(out, decimal_float(cell->value).text);
}

/* Returns the name of a column with its prefix, as text of `scratch`. If memory runs out, sets
 * out->error. */
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
