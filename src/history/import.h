/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - reads runs that other programs measured:
 *
 *     info.json of con/duct
 *     benchmark files of Snakemake (TSV): one run for each repetition
 *     trace files of Nextflow (TSV): one run for each task
 *
 * Each run gets the tag "imported" with the name of the file and, for a table, the number of
 * the row. No figure is exact.
 */
#pragma once

#include <stdbool.h>

#include "record/load.h"

/* Returns whether a file that begins with `start` has one of these formats. */
bool import_is_known(const char *start);

/* Parses the text of a file; modifies the text. `path` is for names and messages. */
int import_read(struct buffer *text, const char *path, struct records *ret,
                struct spoor_error *err);
