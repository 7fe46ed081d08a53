/* SPDX-License-Identifier: Apache-2.0 */
/* sample_table.h - tables of samples, CSV or JSONL, as rows of a replay. Pure. */
#ifndef RECORD_SAMPLE_TABLE_H
#define RECORD_SAMPLE_TABLE_H

#include "record/replay.h"

/* Which metrics the columns of a table of samples are: a table of ours, or one in
 * the columns of resource-tracker (docs/DIALECTS.md). Members of nested objects are named "cpu.utime_secs". */

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
    int metrics[2]; /* that it is, or a part of; -1: none */
    enum replay_kind kind;
    double unit, offset; /* base units = value * unit + offset */
    struct gpu_place gpu;
    size_t gpu_measure; /* as in series_gpu_measure() */
};

/* Zeroed is empty. */
struct sample_columns {
    struct sample_column *items; /* owned */
    size_t count;
};

/* From the names of all columns. -EBADMSG: it is not a table of samples; -ENOMEM. */
int sample_columns_find(const char *const *names, size_t count, struct sample_columns *ret);
void sample_columns_done(struct sample_columns *columns);

/* Columns that the first row of such a table may lack, in any order; NULL at the end. */
const char *sample_columns_optional(const char *const *names, size_t count, size_t index);

/* Tells a replay what the rows say. */
void sample_columns_begin(const struct sample_columns *columns, struct replay *replay);

/* Adds a cell to a row that was cleared. */
void sample_column_add(const struct sample_column *column, double value,
                       struct replay_row *row);

/* Which GPU, and what of it: "gpu0_1_utilization", or of a GPU that is known the measure alone.
 * -1: none that is charted. */
int sample_column_gpu_measure(const char *name);

/* ---- Lines of a table of samples, CSV or JSONL, as rows. Pure -------------- */

/* Zeroed is empty. */
struct sample_table {
    bool is_json;
    char **names; /* of all columns, in their order; owned */
    size_t
        first_count; /* those of the first row of JSONL; then come others that rows may have */
    struct sample_columns columns;
};

/* Finds the columns in the first line of the file: the header of a CSV table, or the first row of
 * JSONL. -EBADMSG: it is not a table of samples; -ENOMEM. */
int sample_table_begin(struct sample_table *table, const char *line);
void sample_table_done(struct sample_table *table);

/* Reads a row into one that was cleared. false: it is not a whole row. */
bool sample_table_read(const struct sample_table *table, const char *line,
                       struct replay_row *ret);

#endif
