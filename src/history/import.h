/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - runs that other programs measured, as records:
 *
 *     info.json of con/duct
 *     benchmark files of Snakemake (TSV): one run for each repetition
 *     trace files of Nextflow (TSV): one run for each task
 *
 * Each run has the tag "imported" with the name of the file and, in a table, its row. No figure is exact.
 */
#ifndef HISTORY_IMPORT_H
#define HISTORY_IMPORT_H

#include <stdbool.h>

#include "record/load.h"

/* Returns whether a file begins like one of these. */
bool import_is_known(const char *start);

/* Reads the text of a file; `path` is its name. Changes the text. */
int import_read(struct buffer *text, const char *path, struct records *ret,
                struct spoor_error *err);

#endif
