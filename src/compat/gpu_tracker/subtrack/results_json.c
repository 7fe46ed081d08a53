/* SPDX-License-Identifier: Apache-2.0 */
/* results_json.c - the report of an analysis for programs: written, and read back. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "text/json_writer.h"

static void put_statistics(struct json_writer *json, const double values[STATISTICS])
{
    for (size_t i = 0; i < STATISTICS; i++)
        json_add_number(json, statistic_names[i], values[i]);
}

static void put_usage(struct json_writer *json, const char *key,
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

/* A file may hold any number where a count is expected. */
static bool is_count(double value)
{
    return value >= 0 && value < 0x1p53 && !(value > floor(value));
}

static void put_facts(struct json_writer *json, const struct tracking_read_facts *facts)
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

static void put_block(struct json_writer *json, const struct block_result *block)
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
    put_usage(json, "resource_usage", block->usage);
    json_end(json);
}

void results_write_json(const struct results *results, struct buffer *out)
{
    struct json_writer json = { .out = out, .style = &json_python };

    json_begin(&json, NULL, '{');
    put_usage(&json, "overall", results->overall);
    put_facts(&json, &results->facts);
    json_begin(&json, "code_block_results", '[');
    for (size_t i = 0; i < results->block_count; i++)
        put_block(&json, &results->blocks[i]);
    json_end(&json);
    json_end(&json);
}

/* -EBADMSG: not what results_write_json() writes. */
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
    json_array_foreach(blocks, i, block) /* before there is room for them, which is a lot */
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
