/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_load.h - records made from a table of samples: CSV or JSONL, with our columns or
 * resource-tracker's. Part of the program, not of the library.
 *
 * The run may have been interrupted: incomplete rows are skipped, with a warning in the record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record/load.h"
#include "record/replay.h"
#include "text/line_reader.h"
#include "text/text_list.h"

/* ---- columns ------------------------------------------------------------ */

enum sample_column_use {
    COLUMN_OTHER,
    COLUMN_UNIX,
    COLUMN_ELAPSED,
    COLUMN_INTERVAL_MS,
    COLUMN_RUN_ID,
    COLUMN_METRIC,
    COLUMN_GPU,
};

struct sample_column {
    enum sample_column_use use;
    int metrics[2]; /* metrics that the column contributes to; -1: none */
    enum replay_kind kind;
    double unit, offset; /* base units = value * unit + offset */
    struct gpu_place gpu;
    size_t gpu_measure; /* as in series_gpu_measure() */
};

/* The key of the time in rows with nested objects. */
#define NESTED_TIME "timestamp_secs"

/* Finds the columns of a predecessor (compat/dialect_read.c). Members of nested objects are
 * named "cpu.utime_secs". False: it is not a table of a predecessor. */
bool sample_columns_find_foreign(const char *const *names, size_t count,
                                 struct sample_column *columns);

/* The name of a column that rows with nested objects may have, by its index; empty: no more. */
struct sample_column_name {
    char text[64];
} sample_columns_nested(size_t index);

/* ---- Tables of samples, CSV or JSONL, as rows of a replay; no I/O ---------- */

/* A zeroed struct is empty. */
struct sample_table {
    bool is_json;
    struct text_list names;        /* names of all columns, in their order */
    struct sample_column *columns; /* owned */
    size_t
        first_count; /* columns of the first row of JSONL; others that rows may have follow */
};

/* Finds the columns in the first line of the file: the header of a CSV table, or the first row of
 * JSONL. -EBADMSG: it is not a table of samples; -ENOMEM. */
int sample_table_begin(struct sample_table *table, const char *line);
void sample_table_done(struct sample_table *table);

/* Reads a line into *ret, which must be cleared. Returns false if it is not a complete row. */
bool sample_table_read(const struct sample_table *table, const char *line,
                       struct replay_row *ret);

/* Returns the index of a measure of GPUs, as in series_gpu_measure(); -1: not charted. */
int sample_column_gpu_measure(const char *name);

/* Reads a file, which may hold several runs, as --append writes them; they are named `name`.
 * On success the caller calls records_done(). -EBADMSG: not a table of samples; messages do
 * not contain the file name. */
int samples_load(struct line_reader *lines, const char *name, struct records *ret,
                 struct spoor_error *err);

/* Gives a report the curve of the samples of its run, which is finer, and the figures that
 * the report lacks. `samples` must outlive the report, which shares its memory. */
void samples_merge(struct record *report, const struct record *samples);
