/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - rebuilds the record of a run from its rows, as far as they contain its values.
 *
 * Rows are added one after the other; memory use does not depend on their number. The interval
 * is computed from the first rows, which wait until it is known. Part of the program, not of
 * the library.
 */
#pragma once

#include <stdbool.h>

#include "record/record.h"
#include "series/series.h"

/* The form of a counter in the rows: its value, the increase since the previous row, or this
 * increase per second. In the first row, the increase is since the start of the run, or over
 * one interval if the rows do not contain the time since the start. */
enum replay_kind { REPLAY_VALUE, REPLAY_GROWTH, REPLAY_RATE };

struct replay_row {
    double unix_seconds;
    /* Time since the start of the run; NaN: computed from the other members. */
    double elapsed_seconds;
    double interval_seconds; /* time since the previous row; NaN: computed from unix_seconds */
    double value[METRIC_COUNT]; /* in base units; NaN: unknown */
    struct series_gpus gpus;
    char run_id[RUN_ID_SIZE]; /* empty: unknown */
};

struct replay;

/* Creates a replay without rows; NULL: out of memory. */
struct replay *replay_new(void);
void replay_free(struct replay *replay);

/* Returns the index of a metric by its name; -1: there is no such metric. */
int replay_metric(const char *name);
void replay_set_kind(struct replay *replay, int metric, enum replay_kind kind);

void replay_row_clear(struct replay_row *row);

/* Returns whether a row has the run ID of the rows so far; true also if there is none yet. */
bool replay_has_id_of(const struct replay *replay, const struct replay_row *row);

/* Returns whether a row belongs to another run, which began after the rows so far. */
bool replay_is_over(const struct replay *replay, const struct replay_row *row);

void replay_add(struct replay *replay, const struct replay_row *row);

/* Makes the record of all rows. `skipped`: rows that could not be read; the record warns of
 * them. -ENODATA: there was no row; -ENOMEM. The caller calls record_done(). */
int replay_finish(struct replay *replay, const char *name, uint64_t skipped,
                  struct record *ret);
