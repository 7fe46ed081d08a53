/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_file.h - starts and stops of phases in a file, as gpu-tracker's sub-tracking has it:
 * compat/tracking/sub_tracking_append.c.
 */
#ifndef RUN_PHASE_FILE_H
#define RUN_PHASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "spoor/spoor.h"

/* The start or stop of a phase. */
struct phase_mark {
    int64_t process_id;
    const char *name;
    bool is_stop;
    double timestamp; /* seconds since 1970 */
};

/* Appends a row to a file, which is created if it does not exist. Several processes may do so at
 * the same time. `is_guarded`, for a CSV file whose name others can guess: fails if it is a
 * symbolic link or anything else but a regular file. */
int phase_file_append(const char *path, const struct phase_mark *mark, bool is_guarded,
                      struct spoor_error *err);

#endif
