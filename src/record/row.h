/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.h - one run as a line of flat JSON, below 2 kB, for the history.
 *
 *     {"id":"3f...","name":"train","tag.v":"1","elapsed_seconds":12.3,"cpu_total_seconds":40.1,...}
 *
 * A column is named after its path in the report, without "run." and with '_' for '.'. Unknown
 * values are left out, and so are the figures of the machine, of parts of the job and of parts
 * of its memory. Each tag is a column of its own, tag.KEY, so that a table of runs has a text
 * column per key: the type of a single object would depend on the keys. A figure with bounds
 * has NAME_low, if that is below its value, and NAME_high. Figures that are not exact and have
 * no bounds are in the list "sampled".
 */
#pragma once

#include "record/record.h"
#include "text/buffer.h"

enum { ROW_NAME_SIZE = 80, ROW_COMMAND_MAX = 600 };

/* Sets `ret` to the name of the column of a path. */
void row_name(const char *path, char ret[ROW_NAME_SIZE]);

/* Returns whether a row has this figure if it is known. */
bool row_has_figure(size_t index);

/* Writes a row and its newline. */
void row_write(const struct record *record, struct buffer *out);

/* Adds the file name of the full report to the row at the end of a buffer. */
void row_add_report(struct buffer *row, const char *report);

/* Makes an ID from the values of a run, for a run without an ID. */
void row_make_id(const struct record *record, char id[RUN_ID_SIZE]);

/* ---- in row_load.c: the library has no JSON parser ---------------------- */

struct json_t;
struct line_reader;
struct records;

/* Reads a row, which need not be NUL-terminated. -EBADMSG: it is not a row. The caller calls
 * record_done(). */
int row_parse(const char *text, size_t length, struct record *ret, struct spoor_error *err);

/* Makes a record from a row as parsed JSON, which may lack an ID. The caller calls
 * record_done(). */
int row_from_json(struct json_t *row, struct record *ret, struct spoor_error *err);

/* Reads a file of rows; `path` is for messages. Lines that are not rows are skipped, unless
 * there are no others. */
int rows_load(struct line_reader *input, const char *path, struct records *ret,
              struct spoor_error *err);
