/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_files.h - the files that spoor report reads: JSON reports, samples, and tracking files of
 * gpu-tracker.
 */
#ifndef FRONT_SPOOR_REPORT_FILES_H
#define FRONT_SPOOR_REPORT_FILES_H

#include "record/load.h"

struct report_file {
    struct records records;
    bool is_samples; /* they were made from samples */
};

/* Zeroed is empty. */
struct report_files {
    struct report_file *files; /* owned */
    size_t count;
    struct record *runs; /* those of reports, then others; owned, but not what they hold */
    size_t run_count;
};

/* Reads all files. If one is a report and another has the samples of the same run, it is one run, with
 * the finer curve. Every message names the file. */
int report_files_load(char **paths, size_t count, struct report_files *ret,
                      struct spoor_error *err);
void report_files_done(struct report_files *files);

#endif
