/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - a record read from a JSON report (schema spoor/1). Part of the program, not of
 * the library, which does without a JSON parser.
 *
 * Keys of later versions are ignored; keys that are missing become unknown. The file may
 * hold anything: what is not such a report is refused with a message.
 */
#ifndef RECORD_LOAD_H
#define RECORD_LOAD_H

#include "record/record.h"

/* The size of a report, at most. */
enum { LOAD_BYTES_MAX = 16 << 20 };

/* Reads a file; "-" is standard input. On success the caller ends *ret with record_done();
 * it is untouched on failure. -EBADMSG: it is not a report. */
int record_load(const char *path, struct record *ret, struct spoor_error *err);

/* The same from a text; the message does not name a file. */
int record_parse(const char *text, size_t length, struct record *ret, struct spoor_error *err);

#endif
