/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - samples as the rows of a tracking file. Pure: samples in, rows out.
 *
 * A row is what was true at its moment: the peaks between rows belong to the result, not to the
 * code block that the row falls into.
 *
 * - Rows are an interval apart. A sample that comes earlier makes one if it was requested, and so
 *   does the last sample.
 * - Percentages are CPU time over the time since the row before.
 * - A command that has ended holds nothing. Its last row says what it held when last seen; if it
 *   is the only row, what the command held at most.
 */
#ifndef COMPAT_GPU_TRACKER_ROWS_H
#define COMPAT_GPU_TRACKER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "compat/gpu_tracker/usage.h"
#include "compat/tracking/tracking_file.h"
#include "spoor/spoor.h"

enum { ROWS_METRICS = 20 };

/* What is kept of a sample. */
struct rows_sample {
    double elapsed_seconds, unix_seconds;
    double value[ROWS_METRICS]; /* NaN: not known */
};

struct rows {
    const struct usage_facts *facts; /* borrowed */
    double interval_seconds;
    size_t metric[ROWS_METRICS]; /* index in a sample; SIZE_MAX: no such metric */
    size_t sample_count, row_count;
    bool is_latest_written;
    struct rows_sample first, latest;
    struct rows_sample alive;    /* the latest in which the command lived */
    struct rows_sample previous; /* of the latest row; at first the first sample */
    struct rows_sample older;    /* of the row before that */
};

void rows_init(struct rows *rows, const struct usage_facts *facts, double interval_seconds);

/* Takes a sample. True: it makes a row. `wanted_after` is NULL if this sample was not requested.
 * Otherwise a row is wanted that is later than *wanted_after (seconds since 1970), and no older
 * than a millisecond: there may be one already. */
bool rows_take(struct rows *rows, const struct spoor_sample *sample, const double *wanted_after,
               double row[TRACKING_COLUMNS]);

/* A code block that began at `start` has just stopped, and rows_take() made a row of that. Did it
 * hold more meanwhile than it does now? True: the row is changed into one of that time, which is
 * not known exactly. The sample before was taken when the block began. */
bool rows_peak(const struct rows *rows, const struct spoor_sample *sample, double start,
               double row[TRACKING_COLUMNS]);

/* After the last sample. True: it has made no row yet, and does now. */
bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS]);

/* The job's CPU time from the first sample to the latest; NaN if unknown. */
void rows_cpu(const struct rows *rows, struct usage_run *run);

#endif
