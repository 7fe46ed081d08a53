/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/results.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/reserve.h"
#include "text/escape.h"
#include "text/json_writer.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- statistics --------------------------------------------------------- */

const char *const statistic_names[STATISTICS] = {
    [STATISTIC_MIN] = "min",
    [STATISTIC_MAX] = "max",
    [STATISTIC_MEAN] = "mean",
    [STATISTIC_STD] = "std",
};

/* Uses Welford's recurrence: no large sums, no second pass. */
void spread_add(struct spread *spread, double value)
{
    long double exact = (long double)value;
    long double distance = exact - spread->mean;

    spread->min = spread->count == 0 || value < spread->min ? value : spread->min;
    spread->max = spread->count == 0 || value > spread->max ? value : spread->max;
    spread->count++;
    spread->mean += distance / (long double)spread->count;
    spread->squares += distance * (exact - spread->mean);
    spread->total += exact;
}

void spread_get(const struct spread *spread, double ret[STATISTICS])
{
    if (spread->count == 0) {
        for (size_t i = 0; i < STATISTICS; i++)
            ret[i] = (double)NAN;
        return;
    }
    ret[STATISTIC_MIN] = spread->min;
    ret[STATISTIC_MAX] = spread->max;
    ret[STATISTIC_MEAN] = (double)spread->mean;
    ret[STATISTIC_STD] = (double)sqrtl(spread->squares / (long double)spread->count);
}

/* ---- calls -------------------------------------------------------------- */

static int compare_events(const void *left, const void *right)
{
    const struct block_event *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (order == 0)
        order = (a->process_id > b->process_id) - (a->process_id < b->process_id);
    if (order == 0)
        order = compare_numbers(a->timestamp, b->timestamp);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

size_t calls_block_end(const struct block_log *log, size_t first)
{
    size_t end = first;

    while (end < log->count && strcmp(log->events[end].name, log->events[first].name) == 0)
        end++;
    return end;
}

void calls_sort_events(struct block_log *log)
{
    if (log->count > 0)
        qsort(log->events, log->count, sizeof(*log->events), compare_events);
}

/* Reports a stop without a matching start. The message also names the next row, if any. */
static int refuse_stop(const struct block_event *stop, const struct block_event *end,
                       struct spoor_error *err)
{
    const struct block_event *next = stop + 1;
    struct decimal_text first = decimal_float(stop->timestamp), second;

    if (next == end)
        return error_set(err, EBADMSG,
                         "Sub-tracking file is invalid. Detected a stop (%s) of process ID "
                         "%lld without a start.",
                         first.text, (long long)stop->process_id);
    second = decimal_float(next->timestamp);
    if (next->process_id != stop->process_id)
        return error_set(err, EBADMSG,
                         "Sub-tracking file is invalid. Detected timestamp pair (%s, %s) with "
                         "differing process IDs: %lld and %lld.",
                         first.text, second.text, (long long)stop->process_id,
                         (long long)next->process_id);
    return error_set(
        err, EBADMSG,
        "Sub-tracking file is invalid. Detected timestamp pair (%s, %s) of process "
        "ID %lld with a start time greater than the stop time.",
        first.text, second.text, (long long)stop->process_id);
}

int calls_pair(const struct block_event *events, size_t count, struct call *ret,
               struct spoor_error *err)
{
    AUTO_FREE double *open = malloc((count + 1) * sizeof(*open));
    const struct block_event *end = events + count;
    size_t open_count = 0;
    int calls = 0;

    if (!open)
        return error_set(err, ENOMEM, "out of memory");
    for (const struct block_event *event = events; event < end; event++) {
        if (event > events && event->process_id != event[-1].process_id)
            open_count = 0;
        if (!event->is_stop)
            open[open_count++] = event->timestamp;
        else if (open_count > 0)
            ret[calls++] =
                (struct call){ open[--open_count], event->timestamp, event->process_id };
        else
            return refuse_stop(event, end, err);
    }
    return calls;
}

static int compare_calls(const void *left, const void *right)
{
    return compare_numbers(((const struct call *)left)->start,
                           ((const struct call *)right)->start);
}

size_t calls_join(struct call *calls, size_t count)
{
    size_t last = 0;

    if (count == 0)
        return 0;
    qsort(calls, count, sizeof(*calls), compare_calls);
    for (size_t i = 1; i < count; i++) {
        if (calls[i].start > calls[last].stop)
            calls[++last] = calls[i];
        else if (calls[i].stop > calls[last].stop)
            calls[last].stop = calls[i].stop;
    }
    return last + 1;
}

bool calls_contain(const struct call *joined, size_t count, double timestamp)
{
    size_t low = 0, high = count;

    /* Find the first call that starts later; the call before it is the only candidate. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (joined[middle].start > timestamp)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && timestamp <= joined[low - 1].stop;
}

/* ---- results ------------------------------------------------------------ */

void results_done(struct results *results)
{
    for (size_t i = 0; i < results->block_count; i++)
        free(results->blocks[i].name);
    free(results->blocks);
    *results = (struct results){ 0 };
}

/* ---- tables of text ----------------------------------------------------- */

struct cell_text cell_number(double value)
{
    struct cell_text cell = { "NaN" };

    if (!isnan(value))
        (void)snprintf(cell.text, sizeof(cell.text), "%s",
                       decimal_float(decimal_round(value, 8)).text); /* fits */
    return cell;
}

/* Returns the width of the text as it is written, with unsafe characters escaped. Counts
 * characters: their display width depends on the terminal. */
static size_t width(const char *text)
{
    CLEANUP(buffer_done) struct buffer safe = { 0 };
    size_t count = 0;
    uint32_t character;
    int length;

    escape_unsafe(text, &safe);
    text = safe.text ? safe.text : "";
    for (; (length = utf8_decode(text, &character)) != 0; count++)
        text += length > 0 ? length : 1;
    return count;
}

static size_t index_width(const struct text_table *table)
{
    size_t result = 0;

    for (size_t row = 0; row < table->rows && table->index; row++)
        result = larger(result, width(table->index[row]));
    return result;
}

static size_t column_width(const struct text_table *table, size_t column)
{
    size_t result = width(table->headers[column]) + !table->has_words;

    for (size_t row = 0; row < table->rows; row++)
        result = larger(result, width(table->cells[row * table->columns + column].text) +
                                    table->has_words);
    return result;
}

void text_tabs(unsigned tabs, struct buffer *out)
{
    while (tabs-- > 0)
        buffer_add(out, "\t", 1);
}

static void put_right(const char *text, size_t columns, struct buffer *out)
{
    buffer_format(out, " %*s", (int)(columns - width(text)), "");
    escape_unsafe(text, out);
}

static void put_left(const char *text, size_t columns, struct buffer *out)
{
    escape_unsafe(text, out);
    buffer_format(out, "%*s", (int)(columns - width(text)), "");
}

void text_table_write(const struct text_table *table, unsigned tabs, struct buffer *out)
{
    size_t left = index_width(table);

    text_tabs(tabs, out);
    put_left("", left, out);
    for (size_t column = 0; column < table->columns; column++)
        put_right(table->headers[column], column_width(table, column), out);
    buffer_add(out, "\n", 1);
    for (size_t row = 0; row < table->rows; row++) {
        text_tabs(tabs, out);
        put_left(table->index ? table->index[row] : "", left, out);
        for (size_t column = 0; column < table->columns; column++)
            put_right(table->cells[row * table->columns + column].text,
                      column_width(table, column), out);
        buffer_add(out, "\n", 1);
    }
}

void text_title(const char *key, unsigned tabs, struct buffer *out)
{
    bool is_start = true;

    text_tabs(tabs, out);
    for (; *key; key++) {
        unsigned char c = (unsigned char)*key;

        buffer_format(out, "%c", c == '_' ? ' ' : is_start ? toupper(c) : tolower(c));
        is_start = !isalpha(c);
    }
}

/* ---- results as text ---------------------------------------------------- */

static void put_usage(const double usage[MEASUREMENTS][STATISTICS], unsigned tabs,
                      struct buffer *out)
{
    struct cell_text cells[MEASUREMENTS * STATISTICS];
    const char *names[MEASUREMENTS];
    const struct text_table table = {
        .headers = statistic_names,
        .index = names,
        .cells = cells,
        .rows = MEASUREMENTS,
        .columns = STATISTICS,
    };

    for (size_t i = 0; i < MEASUREMENTS; i++) {
        names[i] = tracking_row_fields[i].name;
        for (size_t k = 0; k < STATISTICS; k++)
            cells[i * STATISTICS + k] = cell_number(usage[i][k]);
    }
    text_table_write(&table, tabs, out);
}

static void put_facts(const struct tracking_facts *facts, struct buffer *out)
{
    struct cell_text cells[TRACKING_FACTS];
    const char *names[TRACKING_FACTS];
    const struct text_table table = {
        .headers = names,
        .cells = cells,
        .rows = 1,
        .columns = TRACKING_FACTS,
        .has_words = true,
    };

    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        enum tracking_type type = tracking_fact_fields[i].type;

        names[i] = tracking_fact_fields[i].name;
        if (type == TRACKING_REAL)
            cells[i] = cell_number(facts->numbers[i]);
        else if (type == TRACKING_INTEGER)
            (void)snprintf(cells[i].text, sizeof(cells[i].text), "%.0f", facts->numbers[i]);
        else
            (void)snprintf(cells[i].text, sizeof(cells[i].text), "%s", facts->texts[i]);
    }
    text_table_write(&table, 1, out);
}

static void put_compute_time(const struct block_result *block, struct buffer *out)
{
    const char *headers[STATISTICS + 1];
    struct cell_text cells[STATISTICS + 1];
    const struct text_table table = {
        .headers = headers,
        .cells = cells,
        .rows = 1,
        .columns = STATISTICS + 1,
    };

    for (size_t i = 0; i < STATISTICS; i++) {
        headers[i] = statistic_names[i];
        cells[i] = cell_number(block->compute_time[i]);
    }
    headers[STATISTICS] = "total";
    cells[STATISTICS] = cell_number(block->compute_time_total);
    text_table_write(&table, 2, out);
}

static void put_block(const struct block_result *block, struct buffer *out)
{
    buffer_add_text(out, "\tName:                ");
    escape_unsafe(block->name, out);
    buffer_add(out, "\n", 1);
    buffer_format(out, "\tNum Timepoints:      %zu\n", block->num_timepoints);
    buffer_format(out, "\tNum Calls:           %zu\n", block->num_calls);
    buffer_format(out, "\tNum Non Empty Calls: %zu\n", block->num_non_empty_calls);
    buffer_add_text(out, "\tCompute Time:\n");
    put_compute_time(block, out);
    buffer_add_text(out, "\tResource Usage:\n");
    put_usage(block->usage, 2, out);
    buffer_add(out, "\n", 1);
}

void results_write_text(const struct results *results, struct buffer *out)
{
    buffer_add_text(out, "Overall:\n");
    put_usage(results->overall, 1, out);
    buffer_add_text(out, "Static Data:\n");
    put_facts(&results->facts, out);
    buffer_add_text(out, "Code Block Results:\n");
    for (size_t i = 0; i < results->block_count; i++)
        put_block(&results->blocks[i], out);
}

/* ---- results as JSON ---------------------------------------------------- */

static void put_statistics(struct json_writer *json, const double values[STATISTICS])
{
    for (size_t i = 0; i < STATISTICS; i++)
        json_add_number(json, statistic_names[i], values[i]);
}

static void put_json_usage(struct json_writer *json, const char *key,
                           const double usage[MEASUREMENTS][STATISTICS])
{
    json_begin(json, key, '{');
    for (size_t i = 0; i < MEASUREMENTS; i++) {
        json_begin(json, tracking_row_fields[i].name, '{');
        put_statistics(json, usage[i]);
        json_end(json);
    }
    json_end(json);
}

/* Whether a number is a count: a file may contain any number where a count is expected. */
static bool is_count(double value)
{
    return value >= 0 && value < 0x1p53 && !(value > floor(value));
}

static void put_json_facts(struct json_writer *json, const struct tracking_facts *facts)
{
    json_begin(json, "static_data", '{');
    for (size_t i = 0; i < TRACKING_FACTS; i++) {
        const char *name = tracking_fact_fields[i].name;

        if (tracking_fact_fields[i].type == TRACKING_TEXT)
            json_add_text(json, name, facts->texts[i]);
        else if (tracking_fact_fields[i].type == TRACKING_INTEGER &&
                 is_count(facts->numbers[i]))
            json_add_u64(json, name, (uint64_t)facts->numbers[i]);
        else
            json_add_number(json, name, facts->numbers[i]);
    }
    json_end(json);
}

static void put_json_block(struct json_writer *json, const struct block_result *block)
{
    json_begin(json, NULL, '{');
    json_add_text(json, "name", block->name);
    json_add_u64(json, "num_timepoints", block->num_timepoints);
    json_add_u64(json, "num_calls", block->num_calls);
    json_add_u64(json, "num_non_empty_calls", block->num_non_empty_calls);
    json_begin(json, "compute_time", '{');
    put_statistics(json, block->compute_time);
    json_add_number(json, "total", block->compute_time_total);
    json_end(json);
    put_json_usage(json, "resource_usage", block->usage);
    json_end(json);
}

void results_write_json(const struct results *results, struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_python };

    json_begin(&json, NULL, '{');
    put_json_usage(&json, "overall", results->overall);
    put_json_facts(&json, &results->facts);
    json_begin(&json, "code_block_results", '[');
    for (size_t i = 0; i < results->block_count; i++)
        put_json_block(&json, &results->blocks[i]);
    json_end(&json);
    json_end(&json);
}

/* Reads the statistics of an object. -EBADMSG: not in the format of results_write_json(). */
static int get_statistics(json_t *object, double ret[STATISTICS])
{
    for (size_t i = 0; i < STATISTICS; i++) {
        json_t *value = json_object_get(object, statistic_names[i]);

        if (!json_is_number(value) && !json_is_null(value))
            return -EBADMSG;
        ret[i] = json_is_null(value) ? (double)NAN : json_number_value(value);
    }
    return 0;
}

static int get_usage(json_t *object, double ret[MEASUREMENTS][STATISTICS])
{
    for (size_t i = 0; i < MEASUREMENTS; i++) {
        if (get_statistics(json_object_get(object, tracking_row_fields[i].name), ret[i]) < 0)
            return -EBADMSG;
    }
    return 0;
}

static int get_block(json_t *object, struct block_result *ret)
{
    const char *name = json_string_value(json_object_get(object, "name"));

    if (!name || get_statistics(json_object_get(object, "compute_time"), ret->compute_time) < 0)
        return -EBADMSG;
    ret->name = strdup(name);
    if (!ret->name)
        return -ENOMEM;
    return get_usage(json_object_get(object, "resource_usage"), ret->usage);
}

static int get_results(json_t *root, struct results *ret)
{
    json_t *blocks = json_object_get(root, "code_block_results");
    json_t *block;
    size_t i;
    int r = get_usage(json_object_get(root, "overall"), ret->overall);

    if (r < 0 || !json_is_array(blocks))
        return -EBADMSG;
    json_array_foreach(blocks, i, block) /* checked before their memory is allocated */
    {
        if (!json_object_get(block, "resource_usage"))
            return -EBADMSG;
    }
    ret->blocks = calloc(json_array_size(blocks) + 1, sizeof(*ret->blocks));
    if (!ret->blocks)
        return -ENOMEM;
    json_array_foreach(blocks, i, block)
    {
        ret->block_count++;
        r = get_block(block, &ret->blocks[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int results_parse(const char *text, size_t length, const char *path, struct results *ret,
                  struct spoor_error *err)
{
    json_auto_t *root = NULL;
    struct results results = { 0 };
    json_error_t broken;
    int r;

    if (length > 0 && text[0] == '\x80')
        return error_set(err, EBADMSG,
                         "File %s is not a result of 'gpu-tracker sub-track analyze "
                         "--format=json': it is a pickle, which only the Python class "
                         "TrackingComparison reads",
                         path);
    root = json_loadb(text, length, 0, &broken);
    if (!root)
        return error_set(
            err, EBADMSG,
            "File %s is not a result of 'gpu-tracker sub-track analyze --format=json': "
            "line %d, column %d: %s",
            path, broken.line, broken.column, broken.text);
    r = get_results(root, &results);
    if (r < 0) {
        results_done(&results);
        if (r == -ENOMEM)
            return error_set(err, r, "out of memory");
        return error_set(err, r,
                         "File %s is not a result of 'gpu-tracker sub-track analyze "
                         "--format=json': a figure is missing",
                         path);
    }
    *ret = results;
    return 0;
}

/* ---- analysis ----------------------------------------------------------- */

struct block {
    const char *name;   /* borrowed from the log */
    struct call *calls; /* not joined */
    size_t call_count;
    struct call *joined; /* the times at which any of these calls ran */
    size_t joined_count;
    struct spread usage[MEASUREMENTS];
};

struct analysis {
    struct block *blocks; /* sorted by name */
    size_t block_count;
    struct spread overall[MEASUREMENTS];
    double *timestamps;
    size_t timestamp_count, timestamp_capacity;
};

static int add_block(struct analysis *analysis, const struct block_event *events, size_t count,
                     struct spoor_error *err)
{
    struct block *block = &analysis->blocks[analysis->block_count++];
    int calls;

    block->name = events->name;
    block->calls = calloc(count / 2 + 1, sizeof(*block->calls));
    block->joined = calloc(count / 2 + 1, sizeof(*block->joined));
    if (!block->calls || !block->joined)
        return error_set(err, ENOMEM, "out of memory");
    calls = calls_pair(events, count, block->calls, err);
    if (calls < 0)
        return calls;
    block->call_count = (size_t)calls;
    memcpy(block->joined, block->calls, block->call_count * sizeof(*block->calls));
    block->joined_count = calls_join(block->joined, block->call_count);
    return 0;
}

int analysis_open(struct block_log *log, struct analysis **ret, struct spoor_error *err)
{
    CLEANUP(analysis_close) struct analysis *analysis = calloc(1, sizeof(*analysis));
    size_t blocks = 0;

    calls_sort_events(log);
    for (size_t i = 0; i < log->count; i = calls_block_end(log, i))
        blocks++;
    if (!analysis || !(analysis->blocks = calloc(blocks + 1, sizeof(*analysis->blocks))))
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0, end; i < log->count; i = end) {
        int r;

        end = calls_block_end(log, i);
        r = add_block(analysis, &log->events[i], end - i, err);
        if (r < 0)
            return r;
    }
    *ret = take_ptr(analysis);
    return 0;
}

void analysis_close(struct analysis **ret)
{
    struct analysis *analysis = *ret;

    if (!analysis)
        return;
    for (size_t i = 0; i < analysis->block_count; i++) {
        free(analysis->blocks[i].calls);
        free(analysis->blocks[i].joined);
    }
    free(analysis->blocks);
    free(analysis->timestamps);
    free(analysis);
}

static void add_row(struct spread tallies[MEASUREMENTS], const double row[TRACKING_COLUMNS])
{
    for (size_t i = 0; i < MEASUREMENTS; i++)
        spread_add(&tallies[i], row[i]);
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
    if (reserve(&analysis->timestamps, &analysis->timestamp_capacity,
                analysis->timestamp_count + 1, sizeof(timestamp)) < 0)
        return -ENOMEM;
    analysis->timestamps[analysis->timestamp_count++] = timestamp;
    return 0;
}

/* Returns whether a sample was taken during this call. The timestamps are sorted. */
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

static int find_block(const struct analysis *analysis, const struct block *block,
                      struct block_result *ret)
{
    struct spread time = { 0 };

    ret->name = strdup(block->name);
    if (!ret->name)
        return -ENOMEM;
    ret->num_calls = block->call_count;
    ret->num_timepoints = block->usage[0].count;
    for (size_t i = 0; i < block->call_count; i++) {
        spread_add(&time, block->calls[i].stop - block->calls[i].start);
        ret->num_non_empty_calls += has_sample(analysis, &block->calls[i]);
    }
    spread_get(&time, ret->compute_time);
    ret->compute_time_total = (double)time.total;
    for (size_t i = 0; i < MEASUREMENTS; i++)
        spread_get(&block->usage[i], ret->usage[i]);
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
              compare_doubles);
    for (size_t i = 0; i < MEASUREMENTS; i++)
        spread_get(&analysis->overall[i], results.overall[i]);
    for (size_t i = 0; i < analysis->block_count; i++) {
        results.block_count++;
        if (find_block(analysis, &analysis->blocks[i], &results.blocks[i]) < 0) {
            results_done(&results);
            return -ENOMEM;
        }
    }
    *ret = results;
    return 0;
}
