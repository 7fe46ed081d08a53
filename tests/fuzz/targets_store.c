/* SPDX-License-Identifier: Apache-2.0 */
/* targets_store.c - the files of gpu-tracker: tracking and sub-tracking files, as CSV and as
 * SQLite. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/tracking_file.h"
#include "fuzz.h"
#include "record/load.h"

/* ---- tracking files ------------------------------------------------------------------ */

static int see_row(const double row[TRACKING_COLUMNS], void *data)
{
    for (size_t i = 0; i < TRACKING_COLUMNS; i++)
        CHECK(isfinite(row[i]));
    ++*(size_t *)data;
    return 0;
}

/* Writes a file, and removes the files that SQLite may have left next to an earlier file. */
static const char *write_file(const char *name, const char *text, size_t length)
{
    static const char *const suffixes[] = { "-journal", "-wal", "-shm" };
    const char *path = fuzz_path(name, text, length);
    char beside[512];

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        (void)snprintf(beside, sizeof(beside), "%s%s", path, suffixes[i]);
        (void)unlink(beside);
    }
    return path;
}

static void read_tracking(const char *name, const char *text, size_t length)
{
    const char *path = write_file(name, text, length);
    CLEANUP(records_done) struct records records = { 0 };
    struct tracking_facts facts;
    struct spoor_error err = { 0 };
    size_t rows = 0;
    int r = tracking_read(path, &facts, see_row, &rows, &err);

    CHECK(r == 0 || (r < 0 && strstr(err.message, path)));
    if (r == 0 && tracking_load(path, "run", &records, &err) == 0)
        CHECK(rows > 0 && records.count == 1);
}

static void run_tracking_csv(char *text, size_t length)
{
    read_tracking("tracking.csv", text, length);
}

static void run_tracking_sqlite(char *text, size_t length)
{
    read_tracking("tracking.sqlite", text, length);
}

/* ---- sub-tracking files ---------------------------------------------------------------- */

/* Each call takes two rows, so there are at most half as many calls as rows. */
static void analyze(struct block_log *log)
{
    CLEANUP(buffer_done) struct buffer out = { 0 };
    struct analysis *analysis = NULL;
    struct results results = { 0 };
    struct spoor_error err;
    size_t rows = log->count, calls = 0;

    if (analysis_open(log, &analysis, &err) < 0)
        return;
    for (unsigned i = 0; i < 3; i++) {
        double row[TRACKING_COLUMNS] = { 0 };

        row[TRACKING_TIMESTAMP] = 1.7e9 + i;
        CHECK(analysis_add(row, analysis) == 0);
    }
    CHECK(analysis_get(analysis, &results) == 0);
    for (size_t i = 0; i < results.block_count; i++) {
        calls += results.blocks[i].num_calls;
        CHECK(results.blocks[i].num_non_empty_calls <= results.blocks[i].num_calls);
        CHECK(results.blocks[i].num_timepoints <= 3);
    }
    CHECK(calls * 2 <= rows);
    results_write_text(&results, &out);
    CHECK(buffer_error(&out) == 0);
    results_done(&results);
    analysis_close(&analysis);
}

static void read_sub_tracking(const char *name, const char *text, size_t length)
{
    const char *path = write_file(name, text, length);
    struct block_log log = { 0 };
    struct spoor_error err = { 0 };

    if (sub_tracking_read(path, &log, &err) < 0) {
        CHECK(strstr(err.message, path));
        return;
    }
    for (size_t i = 0; i < log.count; i++)
        CHECK(isfinite(log.events[i].timestamp) && log.events[i].name);
    analyze(&log);
    block_log_done(&log);
}

static void run_sub_tracking_csv(char *text, size_t length)
{
    read_sub_tracking("sub_tracking.csv", text, length);
}

static void run_sub_tracking_sqlite(char *text, size_t length)
{
    read_sub_tracking("sub_tracking.sqlite", text, length);
}

/* Appended rows must read back unchanged. */
static void run_sub_tracking_append(char *text, size_t length)
{
    const char *path = write_file("append.csv", "", 0);
    struct phase_mark mark = { .process_id = (int64_t)length, .name = text, .timestamp = 1.5 };
    struct block_log log = { 0 };
    struct spoor_error err;

    (void)unlink(path);
    CHECK(phase_file_append(path, &mark, true, &err) == 0);
    mark.is_stop = true;
    CHECK(phase_file_append(path, &mark, true, &err) == 0);
    CHECK(sub_tracking_read(path, &log, &err) == 0);
    CHECK(log.count == 2 && !log.events[0].is_stop && log.events[1].is_stop);
    CHECK(strcmp(log.events[1].name, text) == 0);
    CHECK(log.events[0].process_id == (int64_t)length);
    block_log_done(&log);
}

const struct fuzz_target store_targets[] = {
    { "tracking_csv", run_tracking_csv, 20 },
    { "tracking_sqlite", run_tracking_sqlite, 100 },
    { "sub_tracking_csv", run_sub_tracking_csv, 10 },
    { "sub_tracking_sqlite", run_sub_tracking_sqlite, 160 },
    { "sub_tracking_append", run_sub_tracking_append, 10 },
    { NULL, NULL, 0 },
};
