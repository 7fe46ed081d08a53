/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - resource usage exactly as gpu-tracker writes it: keys, labels, order, indentation,
 * numbers. No newline at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compat/tracking/tracking_file.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- formats and files -------------------------------------------------- */

enum gpu_tracker_format { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };

/* Parses the value of --format; NULL: not given. -EINVAL: no such format. */
int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err);

/* Checks that a file can be written or created. Changes nothing. */
int gpu_tracker_output_check(const char *path, struct spoor_error *err);

/* Writes a text unchanged to a file; or, if `path` is NULL, to stdout with a newline. */
int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err);

/* ---- usage --------------------------------------------------------------
 *
 * Converts figures in base units to numbers in the user's units; does no I/O. This interface
 * cannot express unknown figures, so they are 0; the caller warns about them.
 */

/* A unit: its name, and the factor that converts from the base unit (byte, second). */
struct usage_unit {
    const char *name;
    double coefficient;
};

/* Units sorted by name, ended by a row without a name. */
extern const struct usage_unit usage_memory_units[];
extern const struct usage_unit usage_time_units[];

/* Finds a unit by its name; NULL: unknown unit. */
const struct usage_unit *usage_unit_find(const struct usage_unit *units, const char *name);

/* Returns the factor that converts from the base unit, or to percent. NaN: the facts name an
 * unknown unit. */
double usage_scale(const struct tracking_facts *facts, enum tracking_unit unit);

/* A line of the report. */
struct usage_row {
    unsigned depth;
    enum {
        REPORT_SECTION,
        REPORT_UNIT,
        REPORT_COUNT,
        REPORT_NUMBER,
        REPORT_PERCENT,
        REPORT_TIME
    } kind;
    const char *key, *label;
    const char *path;        /* path of the figure; NULL: the value is not a figure */
    enum tracking_unit unit; /* of a figure or the time */
    size_t place;            /* if there is no path: index of a fact or a percentage */
};

enum { USAGE_ROWS = 60 };

extern const struct usage_row usage_rows[USAGE_ROWS];

/* The values of all rows of the report. */
struct resource_usage {
    struct {
        const char *unit; /* NULL: a number */
        double number;
    } values[USAGE_ROWS];
};

/* Returns a figure of the run by its path, like spoor_session_figure(); NaN: unknown. */
typedef double usage_figure(void *data, const char *path);

struct rows;

/* Returns the usage of a run. CPU times are not figures, so they are computed from `rows`. */
struct resource_usage usage_of(const struct tracking_facts *facts, const struct rows *rows,
                               double elapsed_seconds, usage_figure *figure, void *data);

/* ---- rows ---------------------------------------------------------------
 *
 * A row describes one moment. Peaks between rows are part of the result, but not of a row: they
 * may not belong to the code block in which the row falls.
 *
 * - Rows are an interval apart. An earlier sample becomes a row only if a row was requested, or
 *   if it is the last sample.
 * - Percentages are CPU time over the time since the previous row or, for an early last row,
 *   since the row before that.
 * - A command that has ended uses no memory, so its last row has the last values seen while it
 *   was alive. If it is the only row, it has the peaks.
 */

/* The metrics of the columns, then the peaks of the first three. */
enum { ROWS_PEAKS = 3, ROWS_METRICS = TRACKING_COLUMNS + ROWS_PEAKS };

/* The values of a sample that rows need. */
struct rows_sample {
    double elapsed_seconds, unix_seconds;
    double value[ROWS_METRICS]; /* NaN: unknown */
};

struct rows {
    const struct tracking_facts *facts; /* borrowed */
    double interval_seconds;
    size_t metric[ROWS_METRICS]; /* index in a sample; SIZE_MAX: no such metric */
    size_t sample_count, row_count;
    bool is_latest_written;
    struct rows_sample first, latest;
    struct rows_sample alive;    /* the latest sample in which the command was alive */
    struct rows_sample previous; /* the sample of the latest row; initially, the first */
    struct rows_sample older;    /* the sample of the row before `previous` */
};

void rows_init(struct rows *rows, const struct tracking_facts *facts, double interval_seconds);

/* Takes a sample. Returns true if it becomes a row. `wanted_after` is NULL if no row was
 * requested. Otherwise the caller needs a row that is later than *wanted_after (seconds
 * since 1970) and at most a millisecond old; if there is one already, false is returned. */
bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS]);

/* Called when a code block that began at `start` has stopped and rows_take() has made a row.
 * Returns true if the block used more memory in between; the row then describes that peak.
 * Its exact time is unknown: it is dated halfway between `start` (or the previous row, if
 * later) and now. */
bool rows_peak(const struct rows *rows, const struct spoor_sample *sample, double start,
               double row[TRACKING_COLUMNS]);

/* Called after the last sample. If no row was made from it yet, fills `row` and returns true. */
bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS]);

/* Returns the CPU time behind a column of CPU percentages, from the first sample to the
 * latest; NaN: unknown. */
double rows_cpu_seconds(const struct rows *rows, enum tracking_column column);

/* ---- the report --------------------------------------------------------- */

struct report_style {
    enum gpu_tracker_format format;
    bool is_descendents; /* spell "descendents" as in versions 1.2 to 3 */
};

void report_write(const struct resource_usage *usage, struct report_style style,
                  struct buffer *out);
