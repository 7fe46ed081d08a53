/* SPDX-License-Identifier: Apache-2.0 */
/* sample_row.h - lines of a table of samples, CSV or JSONL, as rows. Pure. */
#ifndef RECORD_SAMPLE_ROW_H
#define RECORD_SAMPLE_ROW_H

#include "record/sample_columns.h"

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
