/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/subtrack/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/agent.h"
#include "front/gpu_tracker/subtrack/calls.h"
#include "front/gpu_tracker/subtrack/commands.h"

/* Adds the two forms of a report to the object that is open. */
static void add_report(struct json_writer *json, const struct buffer *results,
                       const struct buffer *text)
{
    json_add_document(json, "results", results);
    json_add_text(json, "text", text->text);
}

static int analyze(int argc, char **argv, struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(results_done) struct results results = { 0 };
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = subtrack_results(argv[0], argc > 1 ? argv[1] : NULL, &results, err);

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

static int list_calls(int argc, char **argv, struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(block_log_done) struct block_log log = { 0 };
    AUTO_FREE struct call *calls = NULL;
    size_t first, count;
    int call_count, r = sub_tracking_read(argv[0], &log, err);

    (void)argc;
    if (r < 0)
        return r;
    calls_sort_events(&log);
    first = find_block(&log, argv[1], &count);
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

static int combine(int argc, char **argv, struct json_writer *json, struct spoor_error *err)
{
    (void)json;
    return sub_tracking_combine(argv[0], (const char *const *)argv + 1, (size_t)argc - 1, err);
}

static void answer_warning(const char *message)
{
    struct agent_answer warning;

    agent_begin_answer(&warning, "warning");
    json_add_text(&warning.json, "message", message);
    agent_end_answer(&warning);
}

static void say(bool is_error, const char *message)
{
    if (is_error)
        (void)agent_refuse(EINVAL, message);
    else
        answer_warning(message);
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

static int compare_sessions(struct compared *sessions, size_t count, char **argv,
                            struct json_writer *json, struct spoor_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int r;

        sessions[i].name = argv[2 * i];
        sessions[i].path = argv[2 * i + 1];
        r = subtrack_load(&sessions[i], err);
        if (r < 0)
            return r;
    }
    if (comparison_match(sessions, count, say) < 0)
        return 1;
    json_begin(json, "statistics", '{');
    for (size_t i = 0; i < STATISTICS; i++) {
        if (add_comparison(sessions, count, (enum statistic)i, json) < 0)
            return error_set(err, ENOMEM, "out of memory");
    }
    json_end(json);
    return 0;
}

static int compare(int argc, char **argv, struct json_writer *json, struct spoor_error *err)
{
    size_t count = (size_t)argc / 2;
    AUTO_FREE struct compared *sessions = calloc(count, sizeof(*sessions));
    int r;

    if (argc % 2 != 0)
        return error_set(err, EINVAL, "the session '%s' has no results file", argv[argc - 1]);
    if (!sessions)
        return error_set(err, ENOMEM, "out of memory");
    r = compare_sessions(sessions, count, argv, json, err);
    for (size_t i = 0; i < count; i++)
        results_done(&sessions[i].results);
    return r;
}

/* `act` adds the members of the result. It returns 0, -errno, or 1 if it has answered with an
 * error already. */
static const struct {
    const char *name;
    int argc_min;
    int argc_max;
    int (*act)(int argc, char **argv, struct json_writer *json, struct spoor_error *err);
} commands[] = {
    { "analyze", 1, 2, analyze },
    { "calls", 2, 2, list_calls },
    { "combine", 2, INT32_MAX, combine },
    { "compare", 2, INT32_MAX, compare },
};

int subtrack_agent(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        struct agent_answer result;
        struct spoor_error err = { 0 };
        int r;

        if (argc < 1 || strcmp(argv[0], commands[i].name) != 0 ||
            argc - 1 < commands[i].argc_min || argc - 1 > commands[i].argc_max)
            continue;
        agent_begin_answer(&result, "result");
        r = commands[i].act(argc - 1, argv + 1, &result.json, &err);
        r = agent_end_result(&result, r, &err);
        return r < 0 ? agent_refuse(err.code, err.message) : r;
    }
    return agent_refuse(EINVAL, "gpu-tracker agent sub-track analyze|calls|combine|compare "
                                "FILE...");
}
