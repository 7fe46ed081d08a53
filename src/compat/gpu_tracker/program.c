/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/tracking.h"
#include "compat/tracking/table.h"
#include "front/agent.h"
#include "front/arguments.h"
#include "run/signals.h"
#include "run/track.h"
#include "text/escape.h"
#include "text/number.h"

/* ---- the command as one string ------------------------------------------ */

#define BLANKS " \t\n\v\f\r"

/* Between double quotes a backslash is literal, except before $ ` " \ and a newline. */
static bool is_escape(const char *at)
{
    return at[0] == '\\' && at[1] && strchr("$`\"\\\n", at[1]);
}

/* Adds the text between quotes. Returns the text after the closing quote; NULL: there is
 * none. */
static const char *add_quoted(const char *at, struct buffer *word)
{
    char quote = *at++;

    for (; *at && *at != quote; at++) {
        if (quote == '"' && is_escape(at) && *++at == '\n')
            continue;
        buffer_add(word, at, 1);
    }
    return *at ? at + 1 : NULL;
}

/* Adds one word. Returns the rest of the text; NULL: a quote is not closed, or nothing follows a
 * backslash. */
static const char *add_word(const char *at, bool is_literal, struct buffer *word)
{
    buffer_add(word, "", 0); /* not NULL even if the word is empty */
    while (at && *at && !strchr(BLANKS, *at)) {
        if (!is_literal && (*at == '\'' || *at == '"')) {
            at = add_quoted(at, word);
        } else if (!is_literal && *at == '\\') {
            buffer_add(word, at + 1, at[1] != '\n');
            at = at[1] ? at + 2 : NULL;
        } else {
            buffer_add(word, at++, 1);
        }
    }
    return at;
}

/* A backslash at the end of a line joins the line to the next one, also between words. */
static const char *skip_blanks(const char *at)
{
    while (*at && (strchr(BLANKS, *at) || (at[0] == '\\' && at[1] == '\n')))
        at += *at == '\\' ? 2 : 1;
    return at;
}

/* Splits a text into words. Returns 0; 1: a quote is not closed, or nothing follows a
 * backslash; or -ENOMEM. */
static int split(const char *text, bool is_literal, struct text_list *ret)
{
    for (text = skip_blanks(text); *text; text = skip_blanks(text)) {
        CLEANUP(buffer_done) struct buffer word = { 0 };

        text = add_word(text, is_literal, &word);
        if (!text)
            return 1;
        if (buffer_error(&word) < 0 || text_list_add(ret, word.text, NULL) < 0)
            return -ENOMEM;
    }
    return 0;
}

int words_split(const char *text, struct text_list *ret, struct spoor_error *err)
{
    int r = split(text, false, ret);

    if (r > 0) {
        text_list_done(ret);
        r = split(text, true, ret);
    }
    return r < 0 ? error_set(err, ENOMEM, "out of memory") : 0;
}

/* ---- options ------------------------------------------------------------ */

#define SLEEP_MIN_SECONDS 0.1
#define CORES_MAX 1000000

static int refuse_process_id(UNUSED void *target, UNUSED const struct option *option,
                             UNUSED const char *value, struct spoor_error *err)
{
    return error_set(err, EINVAL, "cannot be set: gpu-tracker tracks the command that it runs");
}

#define TRACK GPU_TRACKER_TRACK
#define AGENT GPU_TRACKER_AGENT
#define BOTH (GPU_TRACKER_TRACK | GPU_TRACKER_AGENT)
#define STRING OPTION_FILE_STRING
#define NO_FILE OPTION_NO_FILE
#define TEXT(member) OPTION_ANY_TEXT(struct gpu_tracker_settings, member)
#define FLAG(member) OPTION_FLAG(struct gpu_tracker_settings, member)
#define MEMORY_UNIT "bytes, kilobytes, megabytes, gigabytes (default) or terabytes"
#define MEMORY_UNITS "bytes kilobytes megabytes gigabytes terabytes"

/* The keys of the config file are the parameters of the Python class Tracker. Parameters of the
 * class that have no meaning here (its file and process) belong to no command, so they are
 * ignored. */
/* clang-format off */
static const struct option rows[] = {
{ 'e',  "execute",      "<command>",       "the command to track, with its arguments, as one string; quotes and backslashes work as in a shell", TRACK | NO_FILE | OPTION_REQUIRED, TEXT(command), .complete = COMPLETE_COMMANDS },
{ 'o',  "output",       "<output>",        "write the report to this file instead of stdout", TRACK | NO_FILE, TEXT(output_path), .complete = COMPLETE_FILES },
{ 'f',  "format",       "<format>",        "format of the report: text (default) or json", TRACK | NO_FILE, TEXT(format), .complete = "text json" },
{ '\0', "tconfig",      "<config-file>",   "read parameters of the Python class Tracker from a JSON file; options override them", TRACK | NO_FILE | OPTION_CONFIG_FILE, TEXT(config_path), .complete = COMPLETE_FILES },
{ '\0', "st",           "<sleep-time>",    "seconds between samples, at least 0.1 (default: 1)", BOTH, TEXT(sleep_time), .key = "sleep_time" },
{ '\0', "ru",           "<ram-unit>",      "unit of RAM: " MEMORY_UNIT, BOTH | STRING, TEXT(ram_unit_name), .key = "ram_unit", .complete = MEMORY_UNITS },
{ '\0', "gru",          "<gpu-ram-unit>",  "unit of GPU RAM: " MEMORY_UNIT, BOTH | STRING, TEXT(gpu_ram_unit_name), .key = "gpu_ram_unit", .complete = MEMORY_UNITS },
{ '\0', "tu",           "<time-unit>",     "unit of time: seconds, minutes, hours (default) or days", BOTH | STRING, TEXT(time_unit_name), .key = "time_unit", .complete = "seconds minutes hours days" },
{ '\0', "nec",          "<num-cores>",     "number of cores the command is expected to use; hardware percentages are relative to it (default: all cores)", BOTH, TEXT(core_count), .key = "n_expected_cores" },
{ '\0', "guuids",       "<gpu-uuids>",     "comma-separated UUIDs of the GPUs whose utilization to measure (default: all)", BOTH | OPTION_FILE_LIST, TEXT(gpu_uuids), .key = "gpu_uuids" },
{ '\0', "disable-logs", NULL,              "do not print warnings", BOTH, FLAG(is_silent), .key = "disable_logs" },
{ '\0', "gb",           "<gpu-brand>",     "brand of the GPUs: nvidia or amd (default: detect)", BOTH | STRING, TEXT(gpu_brand), .key = "gpu_brand", .complete = "nvidia amd" },
{ '\0', "tf",           "<tracking-file>", "write one row per sample to this file (.csv or .sqlite)", BOTH | STRING, TEXT(tracking_path), .key = "tracking_file", .complete = COMPLETE_FILES },
{ '\0', "overwrite",    NULL,              "replace the tracking file if it exists", BOTH, FLAG(overwrites), .key = "overwrite" },
{ '\0', "propagate",    NULL,              "exit with the exit code of the command (128+N if signal N killed it) instead of 0", TRACK | NO_FILE, FLAG(propagates) },
{ '\0', "spelling",     "<spelling>",      "spelling in the report: descendants (default), or descendents as in versions 1.2 to 3", BOTH | STRING, TEXT(spelling), .key = "spelling", .complete = "descendants descendents" },
{ 'h',  "help",         NULL,              "show this help and exit", TRACK | NO_FILE, .action = ACTION_HELP },
{ 'v',  "version",      NULL,              "show the version and exit", TRACK | NO_FILE, .action = ACTION_VERSION },
{ '\0', "pid",          "<pid>",           "the process to track", AGENT | NO_FILE, TEXT(pid) },
{ '\0', "check",        NULL,              "check the options and exit", AGENT | NO_FILE, FLAG(is_check) },
{ '\0', "resource_usage_file", "",         "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "n_join_attempts", "",             "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "join_timeout", "",                "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "process_id",   "",                "", TRACK | OPTION_FILE_ONLY, .apply = refuse_process_id },
};

/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
static const struct option_table gpu_tracker_table = { rows, ARRAY_SIZE(rows) };

void gpu_tracker_settings_done(struct gpu_tracker_settings *settings)
{
    option_free(&gpu_tracker_table, settings);
    text_list_done(&settings->words);
}

/* ---- the checks ---------------------------------------------------------- */

static int check_sleep_time(const char *text, double *ret, struct spoor_error *err)
{
    double seconds = 1;

    if (text && decimal_parse(text, &seconds) < 0)
        return error_set(err, EINVAL, "\"%s\" is not a valid sleep time. Must be a number.",
                         text);
    if (seconds < SLEEP_MIN_SECONDS)
        return error_set(err, EINVAL,
                         "Sleep time of %s is invalid. Must be at least 0.1 seconds.",
                         decimal_float(seconds).text);
    *ret = fmin(seconds, (double)SPOOR_INTERVAL_MAX_NS / 1e9);
    return 0;
}

static int check_cores(const char *text, uint64_t *ret, struct spoor_error *err)
{
    double count = 0;

    /* accept 2.0 as a whole number */
    if (text && (decimal_parse(text, &count) < 0 || !(count >= 1 && count <= CORES_MAX) ||
                 count > floor(count)))
        return error_set(err, EINVAL,
                         "\"%s\" is not a valid number of expected cores. Must be a whole "
                         "number of at least 1.",
                         text);
    *ret = (uint64_t)count;
    return 0;
}

static int check_unit(const char *text, const struct usage_unit *units, const char *standard,
                      const char *what, const struct usage_unit **ret, struct spoor_error *err)
{
    const struct usage_unit *unit = usage_unit_find(units, text ? text : standard);

    if (!unit)
        return error_set(
            err, EINVAL, "\"%s\" is not a valid %s unit. Valid values are %s", text, what,
            units == usage_time_units ? "days, hours, minutes, seconds"
                                      : "bytes, gigabytes, kilobytes, megabytes, terabytes");
    *ret = unit;
    return 0;
}

static int check_brand(const char *text, struct spoor_error *err)
{
    if (!text || strcmp(text, "nvidia") == 0 || strcmp(text, "amd") == 0)
        return 0;
    return error_set(err, EINVAL,
                     "\"%s\" is not a valid GPU brand. Supported values are \"nvidia\" and "
                     "\"amd\".",
                     text);
}

static int check_spelling(const char *text, bool *ret, struct spoor_error *err)
{
    bool is_old = text && strcmp(text, "descendents") == 0;

    if (text && !is_old && strcmp(text, "descendants") != 0)
        return error_set(err, EINVAL,
                         "\"%s\" is not a valid spelling. Valid values are \"descendants\" or "
                         "\"descendents\".",
                         text);
    *ret = is_old;
    return 0;
}

/* Checks all options and sets the members that depend on them. */
static int check_settings(struct gpu_tracker_settings *settings, struct spoor_error *err)
{
    if (check_sleep_time(settings->sleep_time, &settings->sleep_seconds, err) < 0 ||
        check_cores(settings->core_count, &settings->expected_core_count, err) < 0 ||
        check_unit(settings->ram_unit_name, usage_memory_units, "gigabytes", "RAM",
                   &settings->ram_unit, err) < 0 ||
        check_unit(settings->gpu_ram_unit_name, usage_memory_units, "gigabytes", "GPU RAM",
                   &settings->gpu_ram_unit, err) < 0 ||
        check_unit(settings->time_unit_name, usage_time_units, "hours", "time",
                   &settings->time_unit, err) < 0 ||
        (settings->tracking_path && table_check_name(settings->tracking_path, err) < 0) ||
        check_brand(settings->gpu_brand, err) < 0 ||
        gpu_tracker_format_parse(settings->format, &settings->style.format, err) < 0 ||
        check_spelling(settings->spelling, &settings->style.is_descendents, err) < 0)
        return -EINVAL;
    if (settings->command && words_split(settings->command, &settings->words, err) < 0)
        return -ENOMEM;
    return settings->command && settings->words.count == 0
               ? error_set(err, EINVAL, "Empty command provided.")
               : 0;
}

/* ---- tracking a command -------------------------------------------------
 *
 * Everything is checked before the command starts: invalid options, GPUs that do not exist, files that cannot
 * be written. After that the result is never lost: if it cannot be written to its file, it is printed.
 */

struct result {
    struct tracking *tracking;
    const struct tracked *tracked;
};

/* The last sample has the time at which the command exited; the tracker may have noticed it
 * later. */
static double elapsed_seconds(const struct tracking *tracking, const struct tracked *tracked)
{
    double noticed = (double)tracked->elapsed_ns / 1e9;
    double sampled = tracking->rows.latest.elapsed_seconds;

    return sampled > 0 && sampled < noticed ? sampled : noticed;
}

static int write_result(void *data)
{
    const struct result *result = data;
    struct tracking *tracking = result->tracking;
    const struct tracked *tracked = result->tracked;
    int wait_status = tracked->end.wait_status;
    struct resource_usage usage = tracking_usage(tracking, elapsed_seconds(tracking, tracked));
    CLEANUP(buffer_done) struct buffer report = { 0 };
    const char *path = tracking->settings->output_path;
    struct spoor_error err = { 0 };
    char line[100];
    int r;

    (void)snprintf(line, sizeof(line),
                   "Resource tracking complete. Process completed with status code: %d",
                   WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status)
                                            : WEXITSTATUS(wait_status)); /* fits */
    r = gpu_tracker_output_write(NULL, line, &err);
    report_write(&usage, tracking->settings->style, &report);
    if (buffer_error(&report) < 0)
        return gpu_tracker_error("out of memory");
    if (r == 0 || path)
        r = gpu_tracker_output_write(path, report.text, &err);
    if (r == 0)
        return 0;
    gpu_tracker_error("%s", err.message);
    if (path)
        /* If the file cannot be written, print the report. */
        (void)gpu_tracker_output_write(NULL, report.text, NULL);
    return 1;
}

static int refuse_exec(const struct gpu_tracker_settings *settings, int code)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };

    if (code == ENOENT)
        return gpu_tracker_error("Command not found: \"%s\"", settings->command);
    gpu_tracker_error("The following error occurred when starting the command \"%s\":",
                      settings->command);
    buffer_format(&line, "[Errno %d] %s: '", code, strerror(code));
    escape_unsafe(settings->words.items[0], &line);
    buffer_add_text(&line, "'\n");
    (void)buffer_write(&line, STDOUT_FILENO); /* the exit code shows the failure */
    return 1;
}

static void print_warning(const char *message)
{
    gpu_tracker_warning("%s", message);
}

static int run_command(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct track_options options = {
        .command = settings->words.items,
        .session = SPOOR_OPTIONS_INIT,
        .warn = print_warning,
        .prepare = tracking_listen,
        .prepare_data = tracking,
        .started = tracking_started,
        .started_data = tracking,
    };
    struct spoor_error err = { 0 };
    struct tracked tracked;
    enum track_outcome outcome;
    int code;

    tracking_configure(tracking, &options.session);
    outcome = track(&options, &tracked, &err);
    tracking_finish(tracking);
    if (outcome == TRACK_REFUSED)
        return gpu_tracker_error("%s", err.message);
    if (outcome == TRACK_NO_EXEC)
        return refuse_exec(settings, err.code);
    tracking->session = tracked.session;
    code = program_write_report(&gpu_tracker_program, write_result,
                                &(struct result){ tracking, &tracked });
    tracking->session = spoor_session_close(tracked.session);
    if (tracked.end.is_by_our_signal)
        reraise(WTERMSIG(tracked.end.wait_status));
    if (code == 0 && settings->propagates)
        code = supervise_exit_code(tracked.end.wait_status);
    return code;
}

static void warn(UNUSED void *data, const char *message)
{
    gpu_tracker_warning("%s", message);
}

/* Tracks the command and writes the report. Returns the exit code. If a signal that was sent to
 * us killed the command, we write the report and then kill ourselves with the same signal. */
static int gpu_tracker_track(const struct gpu_tracker_settings *settings)
{
    struct tracking tracking = {
        .settings = settings,
        .warn = warn,
        /* False with options that select GPUs, since they may be invalid; with a tracking file,
         * which begins with the number of GPUs; and if there are certainly no GPUs. */
        .finds_gpus_later = !settings->gpu_uuids && !settings->gpu_brand &&
                            !settings->tracking_path && spoor_may_have_gpus(NULL),
    };
    struct spoor_error err = { 0 };
    const char *failure;
    int code;

    if (settings->output_path && gpu_tracker_output_check(settings->output_path, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    failure = tracking_prepare(&tracking, &err);
    code = failure ? gpu_tracker_error("%s", failure) : run_command(&tracking);
    gpu_tracker_gpus_done(&tracking.gpus);
    return code;
}

/* ---- the agent ----------------------------------------------------------
 *
 * The tracker behind the Python class (front/agent.h). It takes the options of gpu-tracker and
 * either --pid=PID, or --check, which only checks the options. If the first argument is
 * sub-track, subtrack.c serves the requests.
 *
 * The responses "ready" and "result" have a list of warnings; "result" also has the usage, as
 * JSON and as text.
 */

/* Warnings are kept for the next response that has a list of warnings. */
struct agent_state {
    struct tracking tracking;
    struct text_list warnings;
    size_t reported_count; /* warnings that a response has contained */
};

/* Called before the sampling thread runs, from that thread, and after it has ended: never
 * concurrently. */
static void keep_warning(void *data, const char *message)
{
    struct agent_state *state = data;

    /* Out of memory: the warning is lost. */
    (void)text_list_add(&state->warnings, message, NULL);
}

static void agent_state_done(struct agent_state *state)
{
    gpu_tracker_gpus_done(&state->tracking.gpus);
    text_list_done(&state->warnings);
}

static void add_warnings(struct agent_state *state, size_t end, struct json_writer *json)
{
    json_begin(json, "warnings", '[');
    while (state->reported_count < end)
        json_add_text(json, NULL, state->warnings.items[state->reported_count++]);
    json_end(json);
}

static void finish(spoor_session *session, void *data)
{
    struct agent_state *state = data;

    state->tracking.session = session;
    tracking_finish(&state->tracking);
}

static int add_result(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err)
{
    struct agent_state *state = data;
    struct report_style style = state->tracking.settings->style;
    struct resource_usage usage =
        tracking_usage(&state->tracking, state->tracking.rows.latest.elapsed_seconds);
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };

    style.format = GPU_TRACKER_JSON;
    report_write(&usage, style, &document);
    style.format = GPU_TRACKER_TEXT;
    report_write(&usage, style, &text);
    if (buffer_error(&document) < 0 || buffer_error(&text) < 0)
        return error_set(err, ENOMEM, "out of memory");
    add_warnings(state, state->warnings.count, json);
    json_add_document(json, "usage", &document);
    json_add_text(json, "text", text.text);
    return tracking_agent_add_report(session, json, err);
}

/* If the process has already exited, there is no session; the result is then empty. */
static int attach(struct agent_state *state, pid_t pid, struct attachment *ret,
                  struct spoor_error *err)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    char message[100];
    int r;

    options.pid = pid;
    tracking_configure(&state->tracking, &options);
    r = attachment_open(&options, ret, err);
    if (r != -ESRCH)
        return r;
    (void)snprintf(message, sizeof(message),
                   "The target process of ID %d ended before tracking could begin.",
                   (int)pid); /* fits */
    if (!state->tracking.settings->is_silent)
        keep_warning(state, message);
    return 0;
}

static int serve(struct agent_state *state, pid_t pid)
{
    static const struct tracking_agent_kind kind = { .finish = finish,
                                                     .add_result = add_result };
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_error err = { 0 };
    struct agent_answer ready;
    size_t early_count;
    const char *failure = tracking_prepare(&state->tracking, &err);

    if (failure)
        return agent_refuse(err.code, failure);
    early_count = state->warnings.count;
    if (attach(state, pid, &attachment, &err) < 0) {
        tracking_finish(&state->tracking);
        return agent_refuse(err.code, err.message);
    }
    (void)tracking_listen(&state->tracking, pid, NULL); /* cannot fail */
    tracking_started(&state->tracking, attachment.session, pid);
    if (attachment.session)
        spoor_session_release_samples(attachment.session);
    agent_begin_ready(&ready);
    add_warnings(state, attachment.session ? early_count : state->warnings.count, &ready.json);
    agent_end_answer(&ready);
    return tracking_agent_serve(&attachment, &kind, state);
}

static int check(const struct gpu_tracker_settings *settings)
{
    CLEANUP(gpu_tracker_gpus_done) struct gpu_tracker_gpus gpus = { 0 };
    struct agent_answer ready;
    int r = gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, &gpus);

    if (r < 0)
        return agent_refuse(r, gpus.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    return 0;
}

static int read_pid(const char *text, pid_t *ret, struct spoor_error *err)
{
    if (!text)
        return error_set(err, EINVAL, "missing PID: gpu-tracker agent --pid=PID");
    if (option_parse_pid(text, ret, err) < 0)
        return error_prefix(err, -EINVAL, "--pid");
    return 0;
}

static int agent_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(gpu_tracker_settings_done) struct gpu_tracker_settings settings = { 0 };
    CLEANUP(agent_state_done) struct agent_state state = { .reported_count = 0 };
    struct arguments arguments = ARGUMENTS_INIT(&gpu_tracker_program, command, &settings);
    struct spoor_error err = { 0 };
    pid_t pid = 0;

    if (argc > 1 && strcmp(argv[1], "sub-track") == 0)
        return subtrack_agent(argc - 2);
    agent_begin();
    if (arguments_parse(&arguments, argc, argv, &err) < 0 ||
        (!settings.is_check && read_pid(settings.pid, &pid, &err) < 0) ||
        check_settings(&settings, &err) < 0)
        return agent_refuse(err.code, err.message);
    state.tracking = (struct tracking){
        .settings = &settings,
        .warn = keep_warning,
        .warn_data = &state,
    };
    return settings.is_check ? check(&settings) : serve(&state, pid);
}

/* ---- the program -------------------------------------------------------- */

static int track_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(gpu_tracker_settings_done) struct gpu_tracker_settings settings = { 0 };
    struct arguments arguments = ARGUMENTS_INIT(&gpu_tracker_program, command, &settings);
    struct spoor_error err = { 0 };
    int code = program_read(&arguments, argc, argv);

    if (code >= 0)
        return code;
    if (check_settings(&settings, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    return gpu_tracker_track(&settings);
}

static const struct command track_command = {
    .name = "",
    .options = &gpu_tracker_table,
    .scope = GPU_TRACKER_TRACK,
    .about = "Run a command and report what it and all its descendants use: RAM, GPU RAM, CPU "
             "and GPU utilization, and compute time. Long options may be abbreviated to any "
             "unambiguous prefix.",
    .notes = "Run 'gpu-tracker sub-track --help' for the options of sub-track.",
    .main = track_main,
};

static const struct command commands[] = {
    {
        .name = "sub-track",
        .options = &subtrack_table,
        .scope = SUBTRACK_EVERY,
        .operands = "combine, analyze or compare",
        .max_operands = 1,
        .about = "Report what each code block of a tracked job used.",
        .subcommands = subtrack_commands,
        .main = subtrack_main,
    },
    {
        .name = "agent",
        .options = &gpu_tracker_table,
        .scope = GPU_TRACKER_AGENT,
        .is_hidden = true,
        .main = agent_main,
    },
    { 0 },
};

const struct program gpu_tracker_program = {
    .name = "gpu-tracker",
    .description = "Measure what a command uses: RAM, GPU RAM, CPU, GPUs and time.",
    .commands = commands,
    .main_command = &track_command,
    .version_prefix = "5.0.1+spoor.", /* version of the predecessor; spoor's follows */
    .error_prefix = "ERROR:root:",
    .warning_prefix = "WARNING:root:",
    .failure_code = 1,
    .allows_abbreviations = true,
    .ignores_null = true,
    .has_full_usage = true,
};
