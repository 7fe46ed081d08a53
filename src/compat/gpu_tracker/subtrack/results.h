/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - the results of an analysis: over all samples, and over the samples in each
 * code block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "compat/gpu_tracker/report.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/tracking_file.h"
#include "front/option.h"
#include "text/buffer.h"

/* ---- statistics --------------------------------------------------------- */

enum statistic { STATISTIC_MIN, STATISTIC_MAX, STATISTIC_MEAN, STATISTIC_STD, STATISTICS };

extern const char *const statistic_names[STATISTICS];

/* A zeroed struct has no values. The deviation of equal numbers is exactly 0. */
struct spread {
    size_t count;
    double min, max;
    long double mean;
    long double squares; /* the sum of the squared distances from the mean */
    long double total;
};

void spread_add(struct spread *spread, double value);

/* Returns statistics of all values added: NaN if there are none. The standard deviation is
 * of a population. */
void spread_get(const struct spread *spread, double ret[STATISTICS]);

/* ---- calls --------------------------------------------------------------
 *
 * In each process, a stop ends the latest start that is still open, so that a block may call
 * itself. A start without a stop (the process was killed, the row was lost) is not a call.
 */

struct call {
    double start, stop; /* seconds since 1970 */
    int64_t process_id;
};

/* Sorts by name, process and time; rows with the same time keep their order in the file. */
void calls_sort_events(struct block_log *log);

/* Returns the index after the last event of the block that begins at `first`. */
size_t calls_block_end(const struct block_log *log, size_t first);

/* Pairs the starts and stops of one block, whose events are sorted. `ret` has room for half
 * as many calls. Returns their number; -EBADMSG: a stop has no start; or -ENOMEM. */
int calls_pair(const struct block_event *events, size_t count, struct call *ret,
               struct spoor_error *err);

/* Sorts calls and joins those that touch or overlap: the result is the times in which any call
 * ran. Returns how many are left. */
size_t calls_join(struct call *calls, size_t count);

/* Returns whether a time is inside one of the joined calls. */
bool calls_contain(const struct call *joined, size_t count, double timestamp);

/* ---- results ------------------------------------------------------------ */

/* The columns of a tracking file except the timestamp, which is the last. Their names are in
 * tracking_row_fields. */
enum { MEASUREMENTS = TRACKING_TIMESTAMP };

struct block_result {
    char *name; /* owned */
    size_t num_timepoints;
    size_t num_calls;
    size_t num_non_empty_calls;
    double compute_time[STATISTICS];        /* seconds per call; NaN without a call */
    double compute_time_total;              /* seconds */
    double usage[MEASUREMENTS][STATISTICS]; /* NaN without a sample */
};

/* A zeroed struct is empty. */
struct results {
    double overall[MEASUREMENTS][STATISTICS];
    struct tracking_facts facts;
    struct block_result *blocks; /* sorted by name; owned */
    size_t block_count;
};

void results_done(struct results *results);

/* Write the results as the predecessor does. An unknown figure is NaN in text and null in
 * JSON. JSON does not end with a newline. */
void results_write_text(const struct results *results, struct buffer *out);
void results_write_json(const struct results *results, struct buffer *out);

/* Parses the output of results_write_json(), except the facts; `path` is for the message. */
int results_parse(const char *text, size_t length, const char *path, struct results *ret,
                  struct spoor_error *err);

/* ---- tables of text ----------------------------------------------------- */

struct cell_text {
    char text[400];
};

/* Formats a number with at most eight decimals, without trailing zeros after the first
 * decimal: "0.0", "1.77e-06". Unknown: "NaN". */
struct cell_text cell_number(double value);

/* A header, and under it rows of cells, all right-justified. */
struct text_table {
    const char *const *headers;
    const char *const *index;      /* to the left of each row; NULL: nothing */
    const struct cell_text *cells; /* row by row */
    size_t rows, columns;
    /* Cells may be words: a column is wider than its widest cell. Otherwise, it is wider
     * than its header. */
    bool has_words;
};

/* Writes the table, with each line indented by `tabs`. */
void text_table_write(const struct text_table *table, unsigned tabs, struct buffer *out);

/* Writes a key as a title: "main_ram" becomes "Main Ram", indented by `tabs`. */
void text_title(const char *key, unsigned tabs, struct buffer *out);
void text_tabs(unsigned tabs, struct buffer *out);

/* ---- analysis -----------------------------------------------------------
 *
 * A sample belongs to a block if it was taken during one of the block's calls, start and stop
 * included. A sample counts once, even if several calls ran. Only the times of samples are
 * kept in memory.
 */

struct analysis;

/* Sorts the log, which must outlive the analysis. -EBADMSG: the log contradicts itself. */
int analysis_open(struct block_log *log, struct analysis **ret, struct spoor_error *err);
void analysis_close(struct analysis **ret); /* for CLEANUP */

/* Adds one sample: the callback for tracking_read(). 0 or -ENOMEM. */
tracking_row_seen analysis_add;

/* Returns the results of all samples added. 0 or -ENOMEM. */
int analysis_get(struct analysis *analysis, struct results *ret);

/* ---- comparison ----------------------------------------------------------
 *
 * The results of several sessions side by side. Blocks are matched in the order of their names; line numbers
 * after the last colon are compared as numbers.
 */

struct compared {
    const char *name;       /* name of the session; borrowed */
    const char *path;       /* path of its results; borrowed */
    struct results results; /* owned */
};

/* Sorts the blocks of each session and matches them. Names that differ in their line number
 * cause a warning, which is added to the messages. -EINVAL: the last message is the reason.
 * Messages name blocks and sessions, so they may not fit into a struct spoor_error. There
 * must be at least one session. */
int comparison_match(struct compared *sessions, size_t count, struct text_list *messages);

/* Writes matched sessions, for each figure the smallest value first. 0 or -ENOMEM. JSON does
 * not end with a newline. */
int comparison_write(const struct compared *sessions, size_t count, enum statistic statistic,
                     enum gpu_tracker_format format, struct buffer *out);
