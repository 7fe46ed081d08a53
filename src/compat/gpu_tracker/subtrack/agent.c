/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/agent.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/gpu_tracker/subtrack/calls.h"
#include "compat/gpu_tracker/subtrack/commands.h"
#include "front/agent.h"

/* Adds the two forms of a report to the object that is open. */
static void add_report(struct json_writer *json, const struct buffer *results,
                       const struct buffer *text)
{
    json_add_document(json, "results", results);
    json_add_text(json, "text", text->text);
}

static int analyze(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err)
{
    const char *const *files = request->arguments;
    CLEANUP(results_done) struct results results = { 0 };
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = subtrack_results(files[0], request->argument_count > 1 ? files[1] : NULL, &results,
                             err);

    (void)data;
    if (r < 0)
        return r;
    results_write_json(&results, &document);
    results_write_text(&results, &text);
    if (buffer_error(&document) < 0 || buffer_error(&text) < 0)
        return error_set(err, ENOMEM, "out of memory");
    add_report(json, &document, &text);
    return 0;
}

/* The events of one block; they are sorted by name. */
static size_t find_block(const struct block_log *log, const char *name, size_t *ret_count)
{
    size_t first = 0, end;

    while (first < log->count && strcmp(block_log_name(log, &log->events[first]), name) != 0)
        first++;
    end = first;
    while (end < log->count && strcmp(block_log_name(log, &log->events[end]), name) == 0)
        end++;
    *ret_count = end - first;
    return first;
}

static int list_calls(void *data, const struct agent_request *request, struct json_writer *json,
                      struct spoor_error *err)
{
    CLEANUP(block_log_done) struct block_log log = { 0 };
    AUTO_FREE struct call *calls = NULL;
    size_t first, count;
    int call_count, r = sub_tracking_read(request->arguments[0], &log, err);

    (void)data;
    if (r < 0)
        return r;
    calls_sort_events(&log);
    first = find_block(&log, request->arguments[1], &count);
    calls = calloc(count / 2 + 1, sizeof(*calls));
    if (!calls)
        return error_set(err, ENOMEM, "out of memory");
    call_count = calls_pair(log.events + first, count, calls, err);
    if (call_count < 0)
        return call_count;
    json_begin(json, "calls", '[');
    for (int i = 0; i < call_count; i++) {
        json_begin(json, NULL, '[');
        json_add_number(json, NULL, (double)calls[i].process_id);
        json_add_number(json, NULL, calls[i].start);
        json_add_number(json, NULL, calls[i].stop);
        json_end(json);
    }
    json_end(json);
    return 0;
}

static int combine(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err)
{
    (void)data;
    (void)json;
    return sub_tracking_combine(request->arguments[0], request->arguments + 1,
                                request->argument_count - 1, err);
}

/* Where the messages of a comparison go. */
struct listener {
    const struct agent_request *request;
    struct json_writer *json; /* inside of "warnings" */
};

static void say(void *data, bool is_error, const char *message)
{
    const struct listener *listener = data;

    if (is_error)
        agent_answer_error(listener->request, EINVAL, message);
    else
        json_add_text(listener->json, NULL, message);
}

static int add_comparison(const struct compared *sessions, size_t count,
                          enum statistic statistic, struct json_writer *json)
{
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (comparison_write_json(sessions, count, statistic, &document) < 0 ||
        comparison_write_text(sessions, count, statistic, &text) < 0 ||
        buffer_error(&document) < 0 || buffer_error(&text) < 0)
        return -ENOMEM;
    json_begin(json, statistic_names[statistic], '{');
    add_report(json, &document, &text);
    json_end(json);
    return 0;
}

/* 1: it has answered with an error already. */
static int compare_sessions(struct compared *sessions, size_t count,
                            const struct agent_request *request, struct json_writer *json,
                            struct spoor_error *err)
{
    struct listener listener = { request, json };

    for (size_t i = 0; i < count; i++) {
        int r;

        sessions[i].name = request->arguments[2 * i];
        sessions[i].path = request->arguments[2 * i + 1];
        r = subtrack_load(&sessions[i], err);
        if (r < 0)
            return r;
    }
    json_begin(json, "warnings", '[');
    if (comparison_match(sessions, count, say, &listener) < 0)
        return 1;
    json_end(json);
    json_begin(json, "statistics", '{');
    for (size_t i = 0; i < STATISTICS; i++) {
        if (add_comparison(sessions, count, (enum statistic)i, json) < 0)
            return error_set(err, ENOMEM, "out of memory");
    }
    json_end(json);
    return 0;
}

static int compare(void *data, const struct agent_request *request, struct json_writer *json,
                   struct spoor_error *err)
{
    size_t count = request->argument_count / 2;
    AUTO_FREE struct compared *sessions = calloc(count, sizeof(*sessions));
    int r;

    (void)data;
    if (request->argument_count % 2 != 0)
        return error_set(err, EINVAL, "the session '%s' has no results file",
                         request->arguments[request->argument_count - 1]);
    if (!sessions)
        return error_set(err, ENOMEM, "out of memory");
    r = compare_sessions(sessions, count, request, json, err);
    for (size_t i = 0; i < count; i++)
        results_done(&sessions[i].results);
    return r;
}

static const struct agent_op ops[] = {
    { "analyze", 1, 2, analyze },
    { "calls", 2, 2, list_calls },
    { "combine", 2, SIZE_MAX, combine },
    { "compare", 2, SIZE_MAX, compare },
};

int subtrack_agent(int argument_count)
{
    struct agent agent = { .ops = ops, .op_count = ARRAY_SIZE(ops) };
    struct agent_answer ready;

    agent_begin();
    if (argument_count > 0)
        return agent_refuse(EINVAL, "gpu-tracker agent sub-track takes no arguments");
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    agent_finish(&agent);
    return 0;
}
