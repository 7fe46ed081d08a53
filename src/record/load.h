/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - records read from JSON reports (schema spoor/1). Part of the program, not of the
 * library, which has no JSON parser.
 *
 * Keys of later versions are ignored; values of missing keys are unknown. Files are not
 * trusted: contents that are not reports are refused with a message.
 */
#pragma once

#include "record/record.h"
#include "text/buffer.h"

#define NOT_A_REPORT "expected a report written by 'spoor run -f json'"

/* The reason for figures that a report does not have. */
#define LOAD_MISSING "not in this report"

/* Larger files, and files with more reports, are refused. */
enum { LOAD_BYTES_MAX = 64 << 20, LOAD_REPORTS_MAX = 4096 };

/* The reports of a file, one after the other as --append writes them. */
struct records {
    struct record *items; /* owned */
    size_t count;         /* at least 1 */
};

/* Reads an open file. `text` has the part that was already read; the rest is appended to it.
 * `path` is for messages. On success the caller calls records_done(); *ret is untouched on
 * failure. -EBADMSG: something in the file is not a report. */
int records_read(int fd, const char *path, struct buffer *text, struct records *ret,
                 struct spoor_error *err);
void records_done(struct records *records);

/* Makes room for one more record. The caller fills it in, then increments the count. NULL: out
 * of memory, with a message. */
struct record *records_next(struct records *records, struct spoor_error *err);

/* Reads one report from a text; the message does not contain a file name. *ret_length is the
 * length of the report; NULL: nothing may follow it. The caller calls record_done(). */
int record_parse(const char *text, size_t length, struct record *ret, size_t *ret_length,
                 struct spoor_error *err);

/* Makes a record from parsed JSON. Does not check the schema. The caller calls
 * record_done(). */
struct json_t;
int record_from_json(const struct json_t *root, struct record *ret, struct spoor_error *err);

/* Reads the curve of a report; NULL: the report has none. -EBADMSG: it is not a curve. */
int load_curve(struct record *record, const struct json_t *curve, struct spoor_error *err);

/* Loads a tracking file of gpu-tracker as a record: compat/tracking/tracking_load.c. Every
 * message contains the name of the file. */
int tracking_load(const char *path, const char *name, struct records *ret,
                  struct spoor_error *err);
