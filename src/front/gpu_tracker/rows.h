/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - samples as the rows of a tracking file. Pure: samples in, rows out.
 *
 * A row speaks of the time since the row before it. Rows are an interval apart; a sample that
 * comes earlier (the one right after the start) makes none, but the last sample always does.
 *
 * - Percentages are CPU time over the time since an earlier row, half an interval ago at least.
 * - Memory is what the sample says, or the kernel's high-water mark if that has risen.
 * - A command that has ended holds nothing. Its last row says what it held when last seen.
 */
#ifndef FRONT_GPU_TRACKER_ROWS_H
#define FRONT_GPU_TRACKER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "front/gpu_tracker/usage.h"
#include "spoor/spoor.h"
#include "store/tracking_file.h"

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
    size_t sample_count;
    bool is_latest_written;
    struct rows_sample first, latest;
    struct rows_sample alive;         /* the latest in which the command lived */
    struct rows_sample written;       /* of the latest row */
    struct rows_sample anchor, older; /* ends of the latest window of half an interval */
};

void rows_init(struct rows *rows, const struct usage_facts *facts, double interval_seconds);

/* Takes a sample. True: it makes a row. */
bool rows_take(struct rows *rows, const struct spoor_sample *sample,
               double row[TRACKING_COLUMNS]);

/* After the last sample. True: it has made no row yet, and does now. */
bool rows_finish(struct rows *rows, double row[TRACKING_COLUMNS]);

/* The job's CPU time from the first sample to the latest; NaN if unknown. */
void rows_cpu(const struct rows *rows, struct usage_run *run);

#endif
