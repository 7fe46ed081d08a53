/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/reserve.h"
#include "compat/gpu_tracker/subtrack/calls.h"

struct block {
    char *name;
    struct call *calls; /* as they were */
    size_t call_count;
    struct call *joined; /* the times at which any of them ran */
    size_t joined_count;
    struct tally usage[MEASUREMENTS];
};

struct analysis {
    struct block *blocks; /* by name */
    size_t block_count;
    struct tally overall[MEASUREMENTS];
    double *timestamps;
    size_t timestamp_count, timestamp_capacity;
};

static void cleanup_analysis(struct analysis **analysis)
{
    analysis_close(*analysis);
}

static int add_block(struct analysis *analysis, const char *name,
                     const struct block_event *events, size_t count, struct spoor_error *err)
{
    struct block *block = &analysis->blocks[analysis->block_count++];
    int calls;

    block->name = strdup(name);
    block->calls = calloc(count / 2 + 1, sizeof(*block->calls));
    block->joined = calloc(count / 2 + 1, sizeof(*block->joined));
    if (!block->name || !block->calls || !block->joined)
        return error_set(err, ENOMEM, "out of memory");
    calls = calls_pair(events, count, block->calls, err);
    if (calls < 0)
        return calls;
    block->call_count = (size_t)calls;
    memcpy(block->joined, block->calls, block->call_count * sizeof(*block->calls));
    block->joined_count = calls_join(block->joined, block->call_count);
    return 0;
}

/* Where the events of the block end that begin at `first`. */
static size_t block_end(const struct block_log *log, size_t first)
{
    const char *name = block_log_name(log, &log->events[first]);
    size_t end = first + 1;

    while (end < log->count && strcmp(block_log_name(log, &log->events[end]), name) == 0)
        end++;
    return end;
}

int analysis_open(struct block_log *log, struct analysis **ret, struct spoor_error *err)
{
    CLEANUP(cleanup_analysis) struct analysis *analysis = calloc(1, sizeof(*analysis));
    size_t blocks = 0;

    calls_sort_events(log);
    for (size_t i = 0; i < log->count; i = block_end(log, i))
        blocks++;
    if (!analysis || !(analysis->blocks = calloc(blocks + 1, sizeof(*analysis->blocks))))
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0, end; i < log->count; i = end) {
        int r;

        end = block_end(log, i);
        r = add_block(analysis, block_log_name(log, &log->events[i]), &log->events[i], end - i,
                      err);
        if (r < 0)
            return r;
    }
    *ret = analysis;
    analysis = NULL;
    return 0;
}

void analysis_close(struct analysis *analysis)
{
    if (!analysis)
        return;
    for (size_t i = 0; i < analysis->block_count; i++) {
        free(analysis->blocks[i].name);
        free(analysis->blocks[i].calls);
        free(analysis->blocks[i].joined);
    }
    free(analysis->blocks);
    free(analysis->timestamps);
    free(analysis);
}

static int keep_timestamp(struct analysis *analysis, double timestamp)
{
    if (reserve(&analysis->timestamps, &analysis->timestamp_capacity,
                analysis->timestamp_count + 1, sizeof(timestamp)) < 0)
        return -ENOMEM;
    analysis->timestamps[analysis->timestamp_count++] = timestamp;
    return 0;
}

static void add_row(struct tally tallies[MEASUREMENTS], const double row[TRACKING_COLUMNS])
{
    for (size_t i = 0; i < MEASUREMENTS; i++)
        tally_add(&tallies[i], row[i]);
}

int analysis_add(const double row[TRACKING_COLUMNS], void *data)
{
    struct analysis *analysis = data;
    double timestamp = row[TRACKING_TIMESTAMP];

    add_row(analysis->overall, row);
    for (size_t i = 0; i < analysis->block_count; i++) {
        struct block *block = &analysis->blocks[i];

        if (calls_contain(block->joined, block->joined_count, timestamp))
            add_row(block->usage, row);
    }
    return keep_timestamp(analysis, timestamp);
}

static int compare_timestamps(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Was a sample taken during this call? The timestamps are sorted. */
static bool has_sample(const struct analysis *analysis, const struct call *call)
{
    size_t low = 0, high = analysis->timestamp_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (analysis->timestamps[middle] < call->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < analysis->timestamp_count && analysis->timestamps[low] <= call->stop;
}

static int get_block(const struct analysis *analysis, const struct block *block,
                     struct block_result *ret)
{
    struct tally time = { 0 };

    ret->name = strdup(block->name);
    if (!ret->name)
        return -ENOMEM;
    ret->num_calls = block->call_count;
    ret->num_timepoints = block->usage[0].count;
    for (size_t i = 0; i < block->call_count; i++) {
        tally_add(&time, block->calls[i].stop - block->calls[i].start);
        ret->num_non_empty_calls += has_sample(analysis, &block->calls[i]);
    }
    tally_get(&time, ret->compute_time);
    ret->compute_time_total = tally_total(&time);
    for (size_t i = 0; i < MEASUREMENTS; i++)
        tally_get(&block->usage[i], ret->usage[i]);
    return 0;
}

int analysis_get(struct analysis *analysis, struct results *ret)
{
    struct results results = { .blocks =
                                   calloc(analysis->block_count + 1, sizeof(*results.blocks)) };

    if (!results.blocks)
        return -ENOMEM;
    if (analysis->timestamp_count > 0)
        qsort(analysis->timestamps, analysis->timestamp_count, sizeof(*analysis->timestamps),
              compare_timestamps);
    for (size_t i = 0; i < MEASUREMENTS; i++)
        tally_get(&analysis->overall[i], results.overall[i]);
    for (size_t i = 0; i < analysis->block_count; i++) {
        results.block_count++;
        if (get_block(analysis, &analysis->blocks[i], &results.blocks[i]) < 0) {
            results_done(&results);
            return -ENOMEM;
        }
    }
    *ret = results;
    return 0;
}
