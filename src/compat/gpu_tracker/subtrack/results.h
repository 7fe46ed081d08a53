/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - what an analysis found: of all samples, and of those in each code block. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_RESULTS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_RESULTS_H

#include <stddef.h>

#include "compat/gpu_tracker/subtrack/statistics.h"
#include "compat/tracking/tracking_file.h"
#include "text/buffer.h"

/* The columns of a tracking file but for the timestamp, which is the last. Their names are
 * those of tracking_row_fields. */
enum { MEASUREMENTS = TRACKING_TIMESTAMP };

struct block_result {
    char *name; /* owned */
    size_t num_timepoints;
    size_t num_calls;
    size_t num_non_empty_calls;
    double compute_time[STATISTICS];        /* seconds a call; NaN without a call */
    double compute_time_total;              /* seconds */
    double usage[MEASUREMENTS][STATISTICS]; /* NaN without a sample */
};

/* Zeroed is empty. */
struct results {
    double overall[MEASUREMENTS][STATISTICS];
    struct tracking_read_facts facts;
    struct block_result *blocks; /* by name; owned */
    size_t block_count;
};

void results_done(struct results *results);

/* As the predecessor prints them; a figure that is not known is NaN in text, null in JSON.
 * Nothing follows the last line of JSON, which has no newline. */
void results_write_text(const struct results *results, struct buffer *out);
void results_write_json(const struct results *results, struct buffer *out);

/* Reads back what results_write_json() wrote; `path` is for the message. The facts are not
 * read. */
int results_parse(const char *text, size_t length, const char *path, struct results *ret,
                  struct spoor_error *err);

#endif
