/* SPDX-License-Identifier: Apache-2.0 */
/* tracking_csv.c - the tracking file as CSV: each row is one write of a whole line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/tracking_format.h"
#include "text/decimal.h"

/* Enough for the facts and both headers, and for a row of 22 numbers. */
enum { LINES_MAX = 2048 };

struct csv {
    int fd;
};

struct lines {
    char text[LINES_MAX];
    size_t length;
    bool is_cut; /* a cell did not fit */
};

static void add_cell(struct lines *lines, const char *cell, char separator)
{
    size_t length = strlen(cell);

    if (lines->is_cut || length + 2 > LINES_MAX - lines->length) {
        lines->is_cut = true;
        return;
    }
    memcpy(lines->text + lines->length, cell, length);
    lines->length += length;
    if (separator == '\n')
        lines->text[lines->length++] = '\r';
    lines->text[lines->length++] = separator;
}

static char separator(size_t i, size_t count)
{
    return i + 1 < count ? ',' : '\n';
}

static void add_number(struct lines *lines, double value, enum tracking_type type, char after)
{
    char text[24];

    if (type == TRACKING_INTEGER) {
        (void)snprintf(text, sizeof(text), "%.0f", value); /* fits: a count */
        add_cell(lines, text, after);
    } else {
        add_cell(lines, decimal_float(value).text, after);
    }
}

static void add_header(struct lines *lines, const struct tracking_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_cell(lines, fields[i].name, separator(i, count));
}

/* Whole lines or nothing: what a full disk took of one is cut off again. */
static int write_lines(const struct csv *csv, const struct lines *lines)
{
    off_t end = lseek(csv->fd, 0, SEEK_END);
    size_t done = 0;

    if (lines->is_cut)
        return -EMSGSIZE;
    while (done < lines->length) {
        ssize_t n = write(csv->fd, lines->text + done, lines->length - done);
        int r = n < 0 ? -errno : -EIO;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (end >= 0)
                (void)!ftruncate(csv->fd, end);
            return r;
        }
        done += (size_t)n;
    }
    return 0;
}

static int csv_close(void *state, struct spoor_error *err)
{
    struct csv *csv = state;
    int r = close(csv->fd) < 0 ? error_sys(err, errno, "close") : 0;

    free(csv);
    return r;
}

static int csv_open(const char *path, const struct tracking_facts *facts, void **ret,
                    struct spoor_error *err)
{
    struct tracking_value values[TRACKING_FACTS];
    AUTO_FREE struct csv *csv = malloc(sizeof(*csv));
    struct lines lines = { .length = 0 };
    AUTO_CLOSE int fd = -1;
    int r;

    if (!csv)
        return error_set(err, ENOMEM, "out of memory");
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return error_sys(err, errno, "cannot open the file %s", path);
    csv->fd = fd;
    tracking_fact_values(facts, values);
    add_header(&lines, tracking_fact_fields, TRACKING_FACTS);
    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        char after = separator(i, TRACKING_FACTS);

        if (values[i].text)
            add_cell(&lines, values[i].text, after);
        else
            add_number(&lines, values[i].number, tracking_fact_fields[i].type, after);
    }
    add_header(&lines, tracking_row_fields, TRACKING_COLUMNS);
    r = write_lines(csv, &lines);
    if (r < 0)
        return error_sys(err, r, "cannot write to the file %s", path);
    csv->fd = take_fd(&fd);
    *ret = take_ptr(csv);
    return 0;
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
    struct lines lines = { .length = 0 };
    int r;

    for (size_t i = 0; i < TRACKING_COLUMNS; i++) {
        enum tracking_type type = tracking_row_fields[i].type;

        if (!(row[i] > 0) && is_sum_of_nothing(row, i))
            type = TRACKING_INTEGER;
        add_number(&lines, row[i], type, separator(i, TRACKING_COLUMNS));
    }
    r = write_lines(state, &lines);
    return r < 0 ? error_sys(err, r, "write") : 0;
}

const struct tracking_format tracking_csv = { csv_open, csv_add, csv_close };
