/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - the results of an analysis, for all samples and for those in each code block. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_RESULTS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_RESULTS_H

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

/* A zeroed struct has no values. Equal numbers have a spread of exactly 0. */
struct spread {
    size_t count;
    double min, max;
    long double mean;
    long double squares; /* the sum of the squared distances from the mean */
    long double total;
};

void spread_add(struct spread *spread, double value);

/* Statistics of all values added; the standard deviation is that of a population. NaN: none was added. */
void spread_get(const struct spread *spread, double ret[STATISTICS]);

/* ---- calls --------------------------------------------------------------
 *
 * In each process a stop ends the latest start that is still open, so that a block may call
 * itself. A start that nothing ends (the process was killed, the row was lost) is not a call.
 */

struct call {
    double start, stop; /* seconds since 1970 */
    int64_t process_id;
};

/* By name, process, time; rows of the same time stay as the file has them. */
void calls_sort_events(struct block_log *log);

/* Returns the end of the events of the block that begins at `first`. */
size_t calls_block_end(const struct block_log *log, size_t first);

/* The calls of the events of one block, which are sorted; there is room for half as many as
 * there are events. Returns their number; -EBADMSG: a stop has no start; or -ENOMEM. */
int calls_pair(const struct block_event *events, size_t count, struct call *ret,
               struct spoor_error *err);

/* Sorts calls and joins those that touch: the result is the times at which any of them ran.
 * Returns how many are left. */
size_t calls_join(struct call *calls, size_t count);

/* Returns whether this time is in one of the joined calls. */
bool calls_contain(const struct call *joined, size_t count, double timestamp);

/* ---- results ------------------------------------------------------------ */

/* The columns of a tracking file but for the timestamp, which is the last. Their names are
 * those of tracking_row_fields. */
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
    struct block_result *blocks; /* by name; owned */
    size_t block_count;
};

void results_done(struct results *results);

/* Writes the results as the predecessor does. An unknown figure is NaN in text and null in
 * JSON. The last line of JSON has no newline. */
void results_write_text(const struct results *results, struct buffer *out);
void results_write_json(const struct results *results, struct buffer *out);

/* Reads the output of results_write_json(); `path` is for the message. The facts are not read. */
int results_parse(const char *text, size_t length, const char *path, struct results *ret,
                  struct spoor_error *err);

/* ---- tables of text ----------------------------------------------------- */

struct cell_text {
    char text[400];
};

/* A number with at most eight decimals, without trailing zeros after the first decimal:
 * "0.0", "1.77e-06". Unknown: "NaN". */
struct cell_text cell_number(double value);

/* A header, and under it rows of cells, all right-justified. */
struct text_table {
    const char *const *headers;
    const char *const *index;      /* to the left of each row; NULL: nothing */
    const struct cell_text *cells; /* row by row */
    size_t rows, columns;
    /* Cells may be words: the blank by which every column is wider than its header is added
     * to the cells instead. */
    bool has_words;
};

/* Each line is indented by `tabs`. */
void text_table_write(const struct text_table *table, unsigned tabs, struct buffer *out);

/* Writes a key as a title: "main_ram" becomes "Main Ram", indented by `tabs`. */
void text_title(const char *key, unsigned tabs, struct buffer *out);
void text_tabs(unsigned tabs, struct buffer *out);

/* ---- analysis -----------------------------------------------------------
 *
 * A sample belongs to a block if it was taken during one of its calls, their ends included; it counts once,
 * however many calls ran. Only the time of a sample is kept.
 */

struct analysis;

/* Sorts the log, which must outlive the analysis. -EBADMSG: the log contradicts itself. */
int analysis_open(struct block_log *log, struct analysis **ret, struct spoor_error *err);
void analysis_close(struct analysis **ret); /* for CLEANUP */

/* Takes one sample; for tracking_read(). 0 or -ENOMEM. */
tracking_row_seen analysis_add;

/* Results of all samples added. 0 or -ENOMEM. */
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

/* Sorts the blocks of each session and matches them. Names that differ in the line number cause a warning,
 * which is added to the messages. -EINVAL: the last message is the reason. Messages name blocks and sessions, so
 * they may be longer than a struct spoor_error. There must be at least one session. */
int comparison_match(struct compared *sessions, size_t count, struct text_list *messages);

/* Finds a statistic by its name. -EINVAL: there is none of that name. */
int comparison_statistic(const char *name, enum statistic *ret, struct spoor_error *err);

/* Writes sessions that match, those with smaller figures first. 0 or -ENOMEM. Nothing follows the last
 * line of JSON. */
int comparison_write(const struct compared *sessions, size_t count, enum statistic statistic,
                     enum gpu_tracker_format format, struct buffer *out);

#endif
