/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.c - the report as one row.
 *
 * RFC 4180, except that lines end in "\n". An unknown value is an empty cell. Every row has all
 * columns, so rows of different runs fit under one header.
 */
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "output/format.h"
#include "record/launch.h"
#include "record/record.h"
#include "series/figure.h"
#include "text/csv.h"
#include "text/escape.h"

/* Adds words in shell quoting, and frees them. */
static void add_words(struct csv_writer *csv, struct buffer *words)
{
    csv_begin_cell(csv);
    if (buffer_error(words) == 0 && words->length > 0)
        escape_csv_quote(words->text, csv->out);
    buffer_done(words);
}

static void add_date(struct csv_writer *csv, double unix_seconds)
{
    struct clock_text date = clock_format(unix_seconds);

    csv_add_text(csv, date.text[0] ? date.text : NULL);
}

static void add_field(struct csv_writer *csv, const struct field *field, const void *base)
{
    const void *at = field_at(field, base);
    struct buffer words = { 0 };

    switch (field->kind) {
    case FIELD_TEXT:
        csv_add_text(csv, *(const char *const *)at);
        break;
    case FIELD_COUNT:
        csv_add_u64(csv, *(const uint64_t *)at);
        break;
    case FIELD_NUMBER:
        csv_add_number(csv, *(const double *)at);
        break;
    case FIELD_DATE:
        add_date(csv, *(const double *)at);
        break;
    case FIELD_TEXTS:
        escape_command(*(const char *const *const *)at, &words);
        add_words(csv, &words);
        break;
    case FIELD_TAGS:
        tags_write(at, &words);
        add_words(csv, &words);
        break;
    case FIELD_FLAG:
    case FIELD_IF_TRUE:
        break; /* no column */
    }
}

/* The columns of the run and their names. */
static const struct {
    const char *name, *path;
} run_columns[] = {
    { "run_id", "run.id" },
    { "name", "run.name" },
    { "tags", "run.tags" },
    { "command", "run.command" },
    { "started_at", "run.started_at" },
    { "elapsed_seconds", "run.elapsed_seconds" },
    { "exit_code", "run.exit_code" },
    { "signal", "run.signal" },
    { "samples", "run.samples" },
};

static void add_run_column(struct csv_writer *csv, const char *path,
                           const struct record *record)
{
    for (size_t i = 0; i < record_run_fields.count; i++) {
        if (strcmp(record_run_fields.rows[i].path, path) == 0)
            add_field(csv, &record_run_fields.rows[i], record);
    }
}

static void add_path(const char *path, struct csv_writer *csv)
{
    csv_begin_cell(csv);
    for (; *path; path++)
        buffer_add(csv->out, *path == '.' ? "_" : path, 1);
}

void csv_header(struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    for (size_t i = 0; i < ARRAY_SIZE(run_columns); i++)
        csv_add_text(&csv, run_columns[i].name);
    for (size_t i = 0; i < figure_count(); i++)
        add_path(figure_path(i), &csv);
    for (size_t i = 0; i < record_tracker_fields.count; i++)
        add_path(record_tracker_fields.rows[i].path, &csv);
    for (size_t i = 0; i < record_launch_fields.count; i++)
        add_path(record_launch_fields.rows[i].path, &csv);
    csv_end_row(&csv);
}

void csv_write(const struct record *record, const struct format_style *style,
               struct buffer *out)
{
    struct csv_writer csv = { .out = out };

    if (style->has_header)
        csv_header(out);
    for (size_t i = 0; i < ARRAY_SIZE(run_columns); i++)
        add_run_column(&csv, run_columns[i].path, record);
    for (size_t i = 0; i < figure_count(); i++)
        csv_add_number(&csv, record->figures[i].value);
    for (size_t i = 0; i < record_tracker_fields.count; i++)
        add_field(&csv, &record_tracker_fields.rows[i], record);
    for (size_t i = 0; i < record_launch_fields.count; i++) {
        if (record->launch)
            add_field(&csv, &record_launch_fields.rows[i], record->launch);
        else
            csv_add_text(&csv, NULL);
    }
    csv_end_row(&csv);
}
