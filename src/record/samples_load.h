/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_load.h - records made from a table of samples: CSV or JSONL, in our columns or in those of
 * resource-tracker. Part of the program, not of the library.
 *
 * The run may have been interrupted: a row that is incomplete is skipped, and the record warns of it.
 */
#ifndef RECORD_SAMPLES_LOAD_H
#define RECORD_SAMPLES_LOAD_H

#include "record/load.h"
#include "text/line_reader.h"

/* Reads a file, which may hold several runs, as --append writes them; they are named `name`. On success
 * the caller ends *ret with records_done(). -EBADMSG: it is not a table of samples; messages do not
 * name the file. */
int samples_load(struct line_reader *lines, const char *name, struct records *ret,
                 struct spoor_error *err);

#endif
