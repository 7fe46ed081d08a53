/* SPDX-License-Identifier: Apache-2.0 */
/* tracking_csv.c - the tracking file as CSV: each row is one write of a whole line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "compat/tracking/tracking_format.h"
#include "text/csv.h"

struct csv {
    int fd;
    struct buffer lines; /* to be written next */
};

static struct csv_writer begin_lines(struct csv *csv)
{
    buffer_clear(&csv->lines);
    return (struct csv_writer){ .out = &csv->lines, .dialect = &csv_python };
}

static void add_number(struct csv_writer *writer, double value, enum tracking_type type)
{
    if (type == TRACKING_INTEGER)
        csv_add_i64(writer, (int64_t)value);
    else
        csv_add_number(writer, value);
}

static void add_header(struct csv_writer *writer, const struct tracking_field *fields,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_add_text(writer, fields[i].name);
    csv_end_row(writer);
}

/* Whole lines or nothing: what a full disk took of one is cut off again. */
static int write_lines(const struct csv *csv)
{
    off_t end = lseek(csv->fd, 0, SEEK_END);
    int r = buffer_write(&csv->lines, csv->fd);

    if (r < 0 && end >= 0)
        (void)!ftruncate(csv->fd, end);
    return r;
}

static void csv_free(struct csv *csv)
{
    buffer_done(&csv->lines);
    free(csv);
}

static int csv_close(void *state, struct spoor_error *err)
{
    struct csv *csv = state;
    int r = close(csv->fd) < 0 ? error_sys(err, errno, "close") : 0;

    csv_free(csv);
    return r;
}

static int csv_open(const char *path, void **ret, struct spoor_error *err)
{
    struct csv *csv = calloc(1, sizeof(*csv));
    int r;

    if (!csv)
        return error_set(err, ENOMEM, "out of memory");
    csv->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (csv->fd < 0) {
        r = error_sys(err, errno, "open");
        csv_free(csv);
        return r;
    }
    *ret = csv;
    return 0;
}

static int write_facts(struct csv *csv, const struct tracking_facts *facts)
{
    struct csv_writer writer = begin_lines(csv);
    struct tracking_value values[TRACKING_FACTS];

    tracking_fact_values(facts, values);
    add_header(&writer, tracking_fact_fields, TRACKING_FACTS);
    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        if (values[i].text)
            csv_add_text(&writer, values[i].text);
        else
            add_number(&writer, values[i].number, tracking_fact_fields[i].type);
    }
    csv_end_row(&writer);
    add_header(&writer, tracking_row_fields, TRACKING_COLUMNS);
    return write_lines(csv);
}

static int csv_create(const char *path, const struct tracking_facts *facts,
                      struct spoor_error *err)
{
    void *state = NULL;
    int r = csv_open(path, &state, err);

    if (!state)
        return r;
    r = write_facts(state, facts);
    if (r < 0)
        (void)error_sys(err, r, "write");
    return csv_close(state, r == 0 ? err : NULL) < 0 && r == 0 ? -EIO : r;
}

/* The sum of the percentages of nothing is the whole number 0: so it stands there for a group
 * without a process. */
static bool is_sum_of_nothing(const double row[TRACKING_COLUMNS], size_t column)
{
    switch (column) {
    case TRACKING_CPU_MAIN_SUM_UTILIZATION_PERCENT:
        return !(row[TRACKING_MAIN_N_THREADS] > 0);
    case TRACKING_CPU_DESCENDANTS_SUM_UTILIZATION_PERCENT:
        return !(row[TRACKING_DESCENDANTS_N_THREADS] > 0);
    case TRACKING_CPU_COMBINED_SUM_UTILIZATION_PERCENT:
        return !(row[TRACKING_COMBINED_N_THREADS] > 0);
    default:
        return false;
    }
}

static int csv_add(void *state, const double row[TRACKING_COLUMNS], struct spoor_error *err)
{
    struct csv_writer writer = begin_lines(state);
    int r;

    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        enum tracking_type type = tracking_row_fields[i].type;

        if (!(row[i] > 0) && is_sum_of_nothing(row, i))
            type = TRACKING_INTEGER;
        add_number(&writer, row[i], type);
    }
    csv_end_row(&writer);
    r = write_lines(state);
    return r < 0 ? error_sys(err, r, "write") : 0;
}

const struct tracking_format tracking_csv = { csv_create, csv_open, csv_add, csv_close };
