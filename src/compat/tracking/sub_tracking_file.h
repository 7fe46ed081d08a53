/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sub_tracking_file.h - a file of the times at which code blocks of a job started and stopped.
 *
 * A row is process_id, code_block_name, position (0 start, 1 stop), timestamp (seconds since
 * 1970). The suffix of the file name is its kind: .csv or .sqlite (table data).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/job_socket.h"
#include "spoor/spoor.h"

struct block_event {
    int64_t process_id;
    char *name;   /* owned */
    size_t order; /* position among the rows of the file, from 0 */
    double timestamp;
    bool is_stop;
};

/* All rows of a file. A zeroed log is empty. */
struct block_log {
    struct block_event *events; /* owned */
    size_t count, capacity;
};

/* Adds a row, in memory. 0 or -ENOMEM. */
int block_log_add(struct block_log *log, int64_t process_id, const char *name, bool is_stop,
                  double timestamp);
void block_log_done(struct block_log *log);

/* Reads a file. Every message contains its name. */
int sub_tracking_read(const char *path, struct block_log *ret, struct spoor_error *err);

/* Writes the rows of all files, one file after the other, to a new file of the same kind. On
 * failure, the new file is removed. */
int sub_tracking_combine(const char *path, const char *const *files, size_t count,
                         struct spoor_error *err);
