/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - resource usage as gpu-tracker writes it, to the letter: keys, labels,
 * order, indentation, numbers. No newline at the end.
 */
#ifndef COMPAT_GPU_TRACKER_REPORT_H
#define COMPAT_GPU_TRACKER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/tracking/tracking_file.h"
#include "spoor/spoor.h"
#include "text/buffer.h"

/* ---- formats and files -------------------------------------------------- */

enum gpu_tracker_format { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };

/* The value of --format; NULL: not given. -EINVAL: there is no such format. */
int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err);

/* Checks that a file can be written or created. Changes nothing. */
int gpu_tracker_output_check(const char *path, struct spoor_error *err);

/* Writes a text unchanged to a file; or, if `path` is NULL, to stdout with a newline. */
int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err);

/* ---- usage --------------------------------------------------------------
 *
 * Pure: figures in base units go in, numbers in the user's units come out. This interface cannot express
 * unknown figures, so they are 0; the caller names them.
 */

/* A unit is its name and the value of one base unit (byte, second) in it. */
struct usage_unit {
    const char *name;
    double coefficient;
};

/* Units sorted by name, ended by a row without a name. */
extern const struct usage_unit usage_memory_units[];
extern const struct usage_unit usage_time_units[];

/* NULL: unknown unit. */
const struct usage_unit *usage_unit_find(const struct usage_unit *units, const char *name);

/* The coefficient of a unit of the facts: TRACKING_RAM_UNIT, ...; NaN: unknown unit. */
double usage_coefficient(const struct tracking_facts *facts, enum tracking_fact unit);

/* A line of the report. */
struct usage_row {
    unsigned depth;
    enum {
        REPORT_SECTION,
        REPORT_UNIT,
        REPORT_COUNT,
        REPORT_RAM,
        REPORT_GPU_RAM,
        REPORT_PERCENT,
        REPORT_TIME
    } kind;
    const char *key, *label;
    const char *path; /* path of the figure; NULL: the value is not a figure */
    size_t place;     /* without a path, index of a fact, or of a percentage */
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

/* Returns a figure of the run by its path, as spoor_session_figure(); NaN: unknown. */
typedef double usage_figure(void *data, const char *path);

struct rows;

/* `rows` have the CPU time, which is not a figure. */
struct resource_usage usage_of(const struct tracking_facts *facts, const struct rows *rows,
                               double elapsed_seconds, usage_figure *figure, void *data);

/* ---- rows ---------------------------------------------------------------
 *
 * A row describes one moment: the peaks between rows belong to the result, not to the code block that the row
 * falls into.
 *
 * - Rows are an interval apart. A sample that comes earlier makes one if it was requested, and so
 *   does the last sample.
 * - Percentages are CPU time over the time since the row before.
 * - A command that has ended holds nothing. Its last row has the last values seen; if it is the only row, the
 *   peak.
 */

/* The metrics of the columns, then the peaks of the first three. */
enum { ROWS_PEAKS = 3, ROWS_METRICS = TRACKING_COLUMNS + ROWS_PEAKS };

/* The values kept of a sample. */
struct rows_sample {
    double elapsed_seconds, unix_seconds;
    double value[ROWS_METRICS]; /* NaN: not known */
};

struct rows {
    const struct tracking_facts *facts; /* borrowed */
    double interval_seconds;
    size_t metric[ROWS_METRICS]; /* index in a sample; SIZE_MAX: no such metric */
    size_t sample_count, row_count;
    bool is_latest_written;
    struct rows_sample first, latest;
    struct rows_sample alive;    /* the latest sample in which the command was alive */
    struct rows_sample previous; /* the sample of the latest row; at first the first sample */
    struct rows_sample older;    /* the sample of the row before `previous` */
};

void rows_init(struct rows *rows, const struct tracking_facts *facts, double interval_seconds);

/* Takes a sample. Returns true if it makes a row. `wanted_after` is NULL if this sample was
 * not requested. Otherwise a row is requested that is later than *wanted_after (seconds
 * since 1970) and at most a millisecond old; such a row may exist already. */
bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS]);

/* Called when a code block that began at `start` has stopped and rows_take() has made a row.
 * Returns true if the block held more memory in between; the row then describes that moment,
 * whose time is only known to be between the previous row and now. */
bool rows_peak(const struct rows *rows, const struct spoor_sample *sample, double start,
               double row[TRACKING_COLUMNS]);

/* Called after the last sample. Returns true if that sample has made no row yet, and makes
 * one. */
bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS]);

/* The CPU time of a column, a percentage of it, from the first sample to the latest; NaN if unknown. */
double rows_cpu_seconds(const struct rows *rows, enum tracking_column column);

/* ---- the report --------------------------------------------------------- */

struct report_style {
    enum gpu_tracker_format format;
    bool is_descendents; /* spelled as in versions 1.2 to 3 */
};

void report_write(const struct resource_usage *usage, struct report_style style,
                  struct buffer *out);

#endif
