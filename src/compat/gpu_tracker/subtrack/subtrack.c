/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/subtrack/results.h"
#include "compat/tracking/sub_tracking_file.h"
#include "compat/tracking/table.h"
#include "front/agent.h"
#include "front/arguments.h"

/* ---- commands ----------------------------------------------------------- */

/* All texts are owned; NULL: not given. */
struct subtrack_settings {
    char *output;
    char *format;
    enum gpu_tracker_format checked_format;
    char *tracking_file;
    char *sub_tracking_file;
    char *config;
    char *statistic;
    struct text_list paths;       /* values of -p */
    struct text_list maps;        /* values of -m: NAME=PATH */
    struct text_list config_maps; /* the same, from the config file */
};

/* Writes a report. Returns 0 or -errno. */
typedef int subtrack_writer(enum gpu_tracker_format format, const void *data,
                            struct buffer *out);

/* ---- the report --------------------------------------------------------- */

/* Writes a report to the file of --output, or to stdout with a newline. The report is complete before
 * the file is touched. Returns the exit code. */
static int subtrack_write(const struct subtrack_settings *settings, subtrack_writer *write,
                          const void *data)
{
    CLEANUP(buffer_done) struct buffer report = { 0 };
    struct spoor_error err;
    int r = write(settings->checked_format, data, &report);

    if (r == 0)
        r = buffer_error(&report);
    if (r < 0)
        (void)error_sys(&err, r, "The report cannot be made");
    else
        r = gpu_tracker_output_write(settings->output, report.text, &err);
    return r < 0 ? gpu_tracker_error("%s", err.message) : 0;
}

/* ---- analyze ------------------------------------------------------------ */

/* Skips the files that SQLite keeps beside a database in use, and that stay behind if the
 * process is killed. */
static int is_wanted(const struct dirent *entry)
{
    static const char *const companions[] = { ".sqlite-journal", ".sqlite-wal", ".sqlite-shm" };
    const char *dot = strrchr(entry->d_name, '.');

    for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
        if (dot && strcmp(dot, companions[i]) == 0)
            return 0;
    }
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Combines sub-tracking files. Returns the exit code; prints errors to stderr. */
static int subtrack_combine(const struct subtrack_settings *settings)
{
    CLEANUP(text_list_done) struct text_list found = { 0 };
    const struct text_list *files = &settings->paths;
    struct spoor_error err;
    int r;

    if (files->count == 1) {
        const char *folder = files->items[0];

        files = &found;
        r = text_list_folder(&found, folder, is_wanted);
        if (r < 0)
            return gpu_tracker_error(
                "a single -p must name a directory of files to combine: %s: %s", folder,
                strerror(-r));
        if (found.count == 0)
            return gpu_tracker_error("the directory %s has no files to combine", folder);
    }
    if (sub_tracking_combine(settings->sub_tracking_file, (const char *const *)files->items,
                             files->count, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return 0;
}

static int write_results(enum gpu_tracker_format format, const void *data, struct buffer *out)
{
    if (format == GPU_TRACKER_JSON)
        results_write_json(data, out);
    else
        results_write_text(data, out);
    return 0;
}

/* Analyzes a tracking file. Without a sub-tracking file (NULL) there are no blocks. */
static int subtrack_results(const char *tracking_file, const char *sub_tracking_file,
                            struct results *ret, struct spoor_error *err)
{
    CLEANUP(block_log_done) struct block_log log = { 0 };
    CLEANUP(analysis_close) struct analysis *analysis = NULL;
    struct tracking_facts facts;
    int r = table_check_name(tracking_file, err);

    if (r >= 0 && sub_tracking_file)
        r = sub_tracking_read(sub_tracking_file, &log, err);
    if (r >= 0)
        r = analysis_open(&log, &analysis, err);
    if (r >= 0)
        r = tracking_read(tracking_file, &facts, analysis_add, analysis, err);
    if (r < 0)
        return r;
    r = analysis_get(analysis, ret);
    if (r < 0)
        return error_set(err, r, "out of memory");
    ret->facts = facts;
    return 0;
}

static int subtrack_analyze(const struct subtrack_settings *settings)
{
    CLEANUP(results_done) struct results results = { 0 };
    struct spoor_error err;

    if (subtrack_results(settings->tracking_file, settings->sub_tracking_file, &results, &err) <
        0)
        return gpu_tracker_error("%s", err.message);
    return subtrack_write(settings, write_results, &results);
}

/* ---- compare ------------------------------------------------------------ */

/* The sessions to compare, first from the config file, then from -m, and the statistic. */
struct plan {
    struct compared *sessions;
    size_t count;
    enum statistic statistic;
};

static void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        results_done(&plan->sessions[i].results);
    free(plan->sessions);
}

/* If a name is given twice, its last path is used. */
static void add_sessions(struct plan *plan, const struct text_list *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        char *name = maps->items[i];
        char *equals = strchr(name, '='); /* never NULL: see check_map() */
        size_t j = 0;

        *equals = '\0';
        while (j < plan->count && strcmp(plan->sessions[j].name, name) != 0)
            j++;
        plan->sessions[j].name = name;
        plan->sessions[j].path = equals + 1;
        plan->count += j == plan->count;
    }
}

/* Adds the sessions of the config file, then the sessions of -m. */
static int plan_sessions(const struct subtrack_settings *settings, struct plan *plan,
                         struct spoor_error *err)
{
    const char *name = settings->statistic ? settings->statistic : "mean";

    plan->sessions =
        calloc(settings->config_maps.count + settings->maps.count + 1, sizeof(*plan->sessions));
    if (!plan->sessions)
        return error_set(err, ENOMEM, "out of memory");
    add_sessions(plan, &settings->config_maps);
    add_sessions(plan, &settings->maps);
    if (plan->count == 0)
        return error_set(err, EINVAL,
                         "A mapping of tracking session name to file path must be provided "
                         "either through the -m option or a config file.");
    for (plan->statistic = 0; plan->statistic < STATISTICS; plan->statistic++) {
        if (strcmp(statistic_names[plan->statistic], name) == 0)
            return 0;
    }
    return error_set(err, EINVAL,
                     "Invalid summary statistic '%s'. Valid values are min max mean std.",
                     name);
}

/* Reads the results of each session from its file. */
static int load_sessions(struct plan *plan, struct spoor_error *err)
{
    int r = 0;

    for (size_t i = 0; i < plan->count && r == 0; i++) {
        struct compared *session = &plan->sessions[i];
        CLEANUP(buffer_done) struct buffer text = { 0 };

        /* BUFFER_MAX is also the most that analyze can write. */
        r = buffer_read_file(&text, session->path, BUFFER_MAX);
        r = r < 0
                ? error_sys(err, r, "File %s", session->path)
                : results_parse(text.text, text.length, session->path, &session->results, err);
    }
    return r;
}

static const char *last_message(const struct text_list *messages)
{
    return messages->count > 0 ? messages->items[messages->count - 1] : "out of memory";
}

static int write_comparison(enum gpu_tracker_format format, const void *data,
                            struct buffer *out)
{
    const struct plan *plan = data;

    return comparison_write(plan->sessions, plan->count, plan->statistic, format, out);
}

static int subtrack_compare(const struct subtrack_settings *settings)
{
    CLEANUP(plan_done) struct plan plan = { 0 };
    CLEANUP(text_list_done) struct text_list messages = { 0 };
    struct spoor_error err;
    int r;

    if (plan_sessions(settings, &plan, &err) < 0 || load_sessions(&plan, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    r = comparison_match(plan.sessions, plan.count, &messages);
    for (size_t i = 0; i + (r < 0) < messages.count; i++)
        gpu_tracker_warning("%s", messages.items[i]);
    if (r < 0)
        return gpu_tracker_error("%s", last_message(&messages));
    return subtrack_write(settings, write_comparison, &plan);
}

/* ---- options and commands ----------------------------------------------- */

static int check_map(const char *value, struct spoor_error *err)
{
    const char *equals = strchr(value, '=');

    if (!equals || equals == value || equals[1] == '\0')
        return error_set(err, EINVAL, "invalid session '%s': expected <name>=<file-path>",
                         value);
    return 0;
}

#define COMBINE SUBTRACK_COMBINE
#define ANALYZE SUBTRACK_ANALYZE
#define COMPARE SUBTRACK_COMPARE
#define NO_FILE OPTION_NO_FILE
#define TEXT(member) OPTION_ANY_TEXT(struct subtrack_settings, member)
#define LIST(member) OPTION_LIST(struct subtrack_settings, member)

/* Only compare reads a config file. Its sessions are kept in their own list, and the sessions of -m are added
 * to them. */
/* clang-format off */
static const struct option rows[] = {
{ '\0', "tf",      "<tracking-file>",  "the file written by 'gpu-tracker --tf' (.csv or .sqlite)", ANALYZE | NO_FILE | OPTION_REQUIRED, TEXT(tracking_file), .complete = COMPLETE_FILES },
{ '\0', "stf",     "<sub-track-file>", "the file of code block starts and stops (.csv or .sqlite), with the columns process_id, code_block_name, position (0: start, 1: stop) and timestamp; combine creates it", COMBINE | ANALYZE | NO_FILE | OPTION_REQUIRED, TEXT(sub_tracking_file), .complete = COMPLETE_FILES },
{ 'p',  "path",    "<file-path>",      "a sub-tracking file to combine; may be repeated. A single path must be a directory: all its files are combined", COMBINE | NO_FILE | OPTION_REQUIRED | OPTION_REPEATABLE, LIST(paths), .complete = COMPLETE_FILES },
{ 'o',  "output",  "<output>",         "write the report to this file instead of stdout", ANALYZE | COMPARE | NO_FILE, TEXT(output), .complete = COMPLETE_FILES },
{ 'f',  "format",  "<format>",         "format of the report: text (default) or json; compare reads the JSON reports that analyze writes", ANALYZE | COMPARE | NO_FILE, TEXT(format), .complete = "text json" },
{ '\0', "cconfig", "<config-file>",    "read file_path_map and statistic from a JSON file; options override them", COMPARE | NO_FILE | OPTION_CONFIG_FILE, TEXT(config), .complete = COMPLETE_FILES },
{ 'm',  "map",     "<name>=<file-path>", "a name for a tracking session and the JSON file with its results; may be repeated", COMPARE | NO_FILE | OPTION_REPEATABLE, LIST(maps), .check = check_map, .complete = COMPLETE_FILES },
{ '\0', "file_path_map", "", "", COMPARE | OPTION_FILE_ONLY | OPTION_REPEATABLE, LIST(config_maps), .check = check_map },
{ '\0', "stat",    "<statistic>",      "the statistic to compare: min, max, mean (default) or std", COMPARE | OPTION_FILE_STRING, TEXT(statistic), .key = "statistic", .complete = "min max mean std" },
{ 'h',  "help",    NULL,               "show this help and exit", SUBTRACK_EVERY | NO_FILE, .action = ACTION_HELP },
};

/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
const struct option_table subtrack_table = { rows, ARRAY_SIZE(rows) };

const struct command subtrack_commands[] = {
    {
        .name = "combine",
        .options = &subtrack_table,
        .scope = COMBINE,
        .summary = "combine the sub-tracking files of several processes into one",
    },
    {
        .name = "analyze",
        .options = &subtrack_table,
        .scope = ANALYZE,
        .summary = "report what each code block used",
    },
    {
        .name = "compare",
        .options = &subtrack_table,
        .scope = COMPARE,
        .summary = "compare the reports of several tracking sessions",
    },
    { 0 },
};

static void settings_done(struct subtrack_settings *settings)
{
    option_free(&subtrack_table, settings);
}

int subtrack_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct subtrack_settings settings = { 0 };
    struct arguments arguments = ARGUMENTS_INIT(&gpu_tracker_program, command, &settings);
    struct spoor_error err;
    int code = program_read(&arguments, argc, argv);

    if (code >= 0)
        return code;
    if (gpu_tracker_format_parse(settings.format, &settings.checked_format, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    if (arguments.command->scope == COMBINE)
        return subtrack_combine(&settings);
    if (arguments.command->scope == ANALYZE)
        return subtrack_analyze(&settings);
    return subtrack_compare(&settings);
}

/* ---- the agent ----------------------------------------------------------
 *
 * `gpu-tracker agent sub-track` is an agent (front/agent.h) that does the sub-tracking of the
 * Python package. Its operations, with the members of their responses:
 *
 *     analyze TRACKING-FILE [SUB-TRACKING-FILE]   "results": {...}, "text": "..."
 *     calls SUB-TRACKING-FILE BLOCK               "calls": [[PROCESS-ID, START, STOP], ...]
 *     combine NEW-FILE FILE...
 *     compare [SESSION RESULTS-FILE]...           "warnings": ["...", ...],
 *                                                 "statistics": {"min": {"results": {...},
 *                                                 "text": "..."}, ...}
 *
 * "results" and "text" are the output of `gpu-tracker sub-track`, as JSON and as text.
 */

/* Adds a report to the open object, as JSON and as text. */
static int add_report(struct json_writer *json, subtrack_writer *write, const void *data,
                      struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };

    if (write(GPU_TRACKER_JSON, data, &document) < 0 ||
        write(GPU_TRACKER_TEXT, data, &text) < 0 || buffer_error(&document) < 0 ||
        buffer_error(&text) < 0)
        return error_set(err, ENOMEM, "out of memory");
    json_add_document(json, "results", &document);
    json_add_text(json, "text", text.text);
    return 0;
}

static int analyze(UNUSED void *data, const struct agent_request *request,
                   struct json_writer *json, struct spoor_error *err)
{
    const char *const *files = request->arguments;
    CLEANUP(results_done) struct results results = { 0 };
    int r = subtrack_results(files[0], request->argument_count > 1 ? files[1] : NULL, &results,
                             err);

    return r < 0 ? r : add_report(json, write_results, &results, err);
}

static int list_calls(UNUSED void *data, const struct agent_request *request,
                      struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(block_log_done) struct block_log log = { 0 };
    AUTO_FREE struct call *calls = NULL;
    size_t first = 0, count;
    int call_count, r = sub_tracking_read(request->arguments[0], &log, err);

    if (r < 0)
        return r;
    calls_sort_events(&log);
    while (first < log.count && strcmp(log.events[first].name, request->arguments[1]) != 0)
        first++;
    count = calls_block_end(&log, first) - first;
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

static int combine(UNUSED void *data, const struct agent_request *request,
                   UNUSED struct json_writer *json, struct spoor_error *err)
{
    return sub_tracking_combine(request->arguments[0], request->arguments + 1,
                                request->argument_count - 1, err);
}

/* Adds the comparisons to a response. Returns 0, -errno, or 1 if an error response was already
 * sent. */
static int add_comparisons(struct plan *plan, const struct agent_request *request,
                           struct json_writer *json, struct spoor_error *err)
{
    CLEANUP(text_list_done) struct text_list messages = { 0 };
    int r = comparison_match(plan->sessions, plan->count, &messages);

    if (r < 0) {
        agent_answer_error(request, EINVAL, last_message(&messages));
        return 1;
    }
    json_begin(json, "warnings", '[');
    for (size_t i = 0; i < messages.count; i++)
        json_add_text(json, NULL, messages.items[i]);
    json_end(json);
    json_begin(json, "statistics", '{');
    for (size_t i = 0; i < STATISTICS && r == 0; i++) {
        plan->statistic = (enum statistic)i;
        json_begin(json, statistic_names[i], '{');
        r = add_report(json, write_comparison, plan, err);
        json_end(json);
    }
    json_end(json);
    return r;
}

static int compare(UNUSED void *data, const struct agent_request *request,
                   struct json_writer *json, struct spoor_error *err)
{
    size_t count = request->argument_count / 2;
    CLEANUP(plan_done)
    struct plan plan = { .sessions = calloc(count, sizeof(*plan.sessions)) };
    int r;

    if (request->argument_count % 2 != 0)
        return error_set(err, EINVAL, "the session '%s' has no results file",
                         request->arguments[request->argument_count - 1]);
    if (!plan.sessions)
        return error_set(err, ENOMEM, "out of memory");
    for (plan.count = 0; plan.count < count; plan.count++) {
        plan.sessions[plan.count].name = request->arguments[2 * plan.count];
        plan.sessions[plan.count].path = request->arguments[2 * plan.count + 1];
    }
    r = load_sessions(&plan, err);
    return r < 0 ? r : add_comparisons(&plan, request, json, err);
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
