/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - writes samples in the columns of the predecessors: with their names, units,
 * rounding and order.
 *
 * A dialect is data. A column names the raw values of a sample from which it is computed, and
 * the format of the number; a table is a list of columns; a dialect has a table for the job
 * ("process"), one for the machine ("system"), or one for both ("combined"), and the format of
 * a CSV file.
 *
 * A row covers the time between two samples: counters are written as increases, so the first
 * sample makes no row. If a counter decreases, the row has 0.
 *
 * compat/dialect_read.c uses the same tables to read such files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/stream.h"
#include "text/csv.h"

/* How a column is computed from its raw values. */
enum column_kind {
    /* The current sum of `plus` minus the sum of `minus`; without a job, `fallback` if there
     * is one. */
    COLUMN_LEVEL,
    /* The first of `plus` that is known and not 0, now or, if the job has exited, when the job
     * was last seen; otherwise `fallback`. */
    COLUMN_FIRST,
    COLUMN_GROWTH, /* increase of the sum of COLUMN_LEVEL since the previous row */
    /* Increase of the sum of COLUMN_LEVEL per nanosecond between two readings of `clock`; at
     * most the CPUs of the machine. */
    COLUMN_CORES,
    COLUMN_PART, /* increase of plus[0], times the share of plus[1] in plus[1] and plus[2] */
    COLUMN_REST, /* increase of plus[0] minus COLUMN_PART */
    COLUMN_PID,
    COLUMN_CHILDREN, /* the processes of the job without the main one */
    COLUMN_GPUS,     /* the number of busy GPUs */
    /* The number of GPUs that the job keeps busy; without a job, if the column has a
     * `fallback`, the number of all busy GPUs. */
    COLUMN_JOB_GPUS,
};

/* The format of the number: bits of column.flags. */
enum {
    COLUMN_INTEGER = 1u << 0,     /* whole units, rounded down */
    COLUMN_FIXED = 1u << 1,       /* all decimals, including zeros: 0.5000 */
    COLUMN_ZERO = 1u << 2,        /* 0 instead of 0.0 if there was no activity */
    COLUMN_NO_GPU_ZERO = 1u << 3, /* 0 if the machine has no GPU */
    COLUMN_ZERO_NONE = 1u << 4,   /* no value instead of 0 */
};

enum { COLUMN_ALL_DECIMALS = -1 };

struct column {
    const char *name;
    enum column_kind kind;
    uint64_t per; /* raw units per unit of the column */
    int decimals; /* decimals to round to; COLUMN_ALL_DECIMALS: not rounded */
    unsigned flags;
    size_t plus[4], minus[3]; /* offsets of raw values in struct sample; 0: no more */
    size_t fallback;          /* offset of the value to use instead; 0: none */
    enum metric_clock clock;  /* clock of COLUMN_CORES */
    /* Metrics that the column contributes to when a table is read; 0: none. */
    enum metric read_as[2];
};

/* Consecutive columns, with a prefix for their names. */
struct column_range {
    const struct column *columns;
    size_t count;
    const char *prefix;
};

struct dialect_table {
    const char *name; /* "process", "system" or "combined" */
    struct column_range ranges[3];
};

struct dialect {
    const char *name; /* "resource-tracker" */
    const struct csv_dialect *csv;
    const char *none; /* text for an unknown value in CSV; NULL: an empty cell */
    /* Writes a row of JSON that lists devices; NULL: JSON has the columns of the table. */
    void (*json_row)(const struct stream_row *row, struct buffer *out);
    struct dialect_table tables[3];
};

/* The value of a cell, rounded as it is written. */
struct cell {
    double value; /* NaN: no value */
    bool is_integer;
    int fixed_decimals; /* -1: as many as needed */
};

/* Finds a table by the names of dialect and table: "resource-tracker:combined". The name of a
 * dialect alone selects its process table for a job, otherwise its system table. false: there
 * is no such dialect, or it has no such table. */
bool dialect_find(const char *name, bool has_job, const struct dialect **ret,
                  const struct dialect_table **ret_table);

/* Returns a column by its index, from 0, with the prefix of its name. NULL: there are no
 * more. */
const struct column *dialect_column(const struct dialect_table *table, size_t index,
                                    const char **ret_prefix);

/* Whether a table needs the raw value at an offset in struct sample. */
bool dialect_reads(const struct dialect_table *table, size_t offset);

/* The names of all dialects, for messages. */
#define DIALECT_NAMES                                                         \
    "spoor, resource-tracker, resource-tracker-0.3, resource-tracker-0.1 or " \
    "resource-tracker-rs"

/* Returns the time that rates of a row cover: never less than the resolution of the counter,
 * since one tick in a shorter time would look like many cores. */
uint64_t dialect_rate_span_ns(const struct stream_row *row, enum metric_clock clock);

/* Computes a cell of a row that has a previous sample. */
struct cell dialect_cell(const struct column *column, const struct stream_row *row);

/* ---- encodings: see stream.h ------------------------------------------------ */

void dialect_csv_header(const struct stream *stream, struct buffer *out);
void dialect_csv_row(const struct stream *stream, const struct stream_row *row,
                     struct buffer *out);
void dialect_jsonl_row(const struct stream *stream, const struct stream_row *row,
                       struct buffer *out);
/* Writes a little-endian double per cell, NaN for no value. */
void dialect_f64_row(const struct stream *stream, const struct stream_row *row,
                     struct buffer *out);

/* Writes a JSON row of the dialect resource-tracker-rs. */
void dialect_rust_json_row(const struct stream_row *row, struct buffer *out);

/* The columns of the JSON rows of resource-tracker-rs. */
extern const struct dialect_table dialect_rust_objects;

/* ---- the tables: compat/dialect_*.c --------------------------------------------------------------- */

extern const struct dialect dialect_resource_tracker;     /* Python, 0.5 */
extern const struct dialect dialect_resource_tracker_0_3; /* Python, 0.3, as in its README */
extern const struct dialect dialect_resource_tracker_0_1; /* Python, 0.1: PidTracker */
extern const struct dialect dialect_resource_tracker_rs;  /* Rust */
