/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/program.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "front/agent.h"
#include "output/stream.h"
#include "text/buffer.h"
#include "text/number.h"

/* ---- options ------------------------------------------------------------ */

void tracker_settings_init(struct tracker_settings *settings)
{
    *settings = (struct tracker_settings){ .interval_ns = NS_PER_SECOND };
}

void tracker_settings_done(struct tracker_settings *settings)
{
    option_free(&resource_tracker_table, settings);
}

static int apply_interval(void *target, UNUSED const struct option *option, const char *value,
                          struct spoor_error *err)
{
    struct tracker_settings *settings = target;
    double seconds;

    if (decimal_parse(value, &seconds) < 0)
        return error_set(err, EINVAL, "invalid value '%s': expected a number of seconds",
                         value);
    if (!(seconds * 1e9 >= (double)SPOOR_INTERVAL_MIN_NS &&
          seconds * 1e9 <= (double)SPOOR_INTERVAL_MAX_NS))
        return error_set(err, EINVAL, "'%s' is out of range: expected 0.001 to 3600 seconds",
                         value);
    settings->interval_ns = (uint64_t)llround(seconds * 1e9);
    return 0;
}

static int apply_pid(void *target, UNUSED const struct option *option, const char *value,
                     struct spoor_error *err)
{
    struct tracker_settings *settings = target;

    return option_parse_pid(value, &settings->pid, err);
}

#define TRACK TRACK_SCOPE
#define AGENT AGENT_SCOPE
#define BOTH (TRACK_SCOPE | AGENT_SCOPE)
#define NO_VARIABLE OPTION_NO_VARIABLE
#define TEXT(member) OPTION_TEXT(struct tracker_settings, member)
#define ANY_TEXT(member) OPTION_ANY_TEXT(struct tracker_settings, member)
#define FLAG(member) OPTION_FLAG(struct tracker_settings, member)

/* clang-format off */
static const struct option rows[] = {
{ 'p',  "pid",             "PID",       "track a running process and its descendants", BOTH | NO_VARIABLE, .apply = apply_pid, .key = "job.pid", .complete = COMPLETE_PIDS },
{ 'i',  "interval",        "SECS",      "time between samples in seconds, 0.001 to 3600 (default: 1)", BOTH | NO_VARIABLE, .apply = apply_interval, .key = "tracker.interval_secs" },
{ 'c',  "config",          "FILE",      "read settings from a TOML file (default: resource-tracker.toml, if there is one)", TRACK | NO_VARIABLE | OPTION_NO_FILE, TEXT(config_path), .complete = COMPLETE_FILES },
{ 'f',  "format",          "json|csv",  "write samples as JSON, one object per line (default), or as CSV", TRACK | NO_VARIABLE | OPTION_NO_FILE, OPTION_CHOICE(struct tracker_settings, format) },
{ 'o',  "output",          "FILE",      "write samples to FILE instead of stderr", TRACK | OPTION_NO_FILE, TEXT(output_path), .complete = COMPLETE_FILES },
{ '\0', "quiet",           NULL,        "do not write samples", TRACK | OPTION_NO_FILE, FLAG(is_quiet) },
{ 'n',  "job-name",        "NAME",      "name of the job, part of every JSON sample", TRACK, ANY_TEXT(job_name), .key = "job.name" },
{ '\0', "project-name",    "NAME",      "project that the job belongs to, for uploads", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[0]) },
{ '\0', "stage-name",      "NAME",      "stage of the pipeline", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[1]) },
{ '\0', "task-name",       "NAME",      "task within the stage", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[2]) },
{ '\0', "team",            "NAME",      "team that owns the job", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[3]) },
{ '\0', "env",             "NAME",      "environment, such as dev or prod", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[4]) },
{ '\0', "language",        "NAME",      "programming language of the job", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[5]) },
{ '\0', "orchestrator",    "NAME",      "orchestrator, such as Airflow", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[6]) },
{ '\0', "executor",        "NAME",      "executor, such as Kubernetes", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[7]) },
{ '\0', "external-run-id", "ID",        "ID of the run in another system", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[8]) },
{ '\0', "container-image", "NAME",      "container image that the job runs in", TRACK | OPTION_NO_FILE, ANY_TEXT(metadata[9]) },
{ '\0', "tag",             "KEY=VALUE", "tag the run; may be repeated", TRACK | NO_VARIABLE | OPTION_NO_FILE | OPTION_REPEATABLE, OPTION_LIST(struct tracker_settings, tags), .check = option_check_tag },
{ 'h',  "help",            NULL,        "show this help and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .action = ACTION_HELP },
{ 'V',  "version",         NULL,        "show the version and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .action = ACTION_VERSION },
{ '\0', "no-children",     NULL,        "track the process without its descendants", AGENT | OPTION_NO_FILE, FLAG(excludes_children) },
{ '\0', "dialect",         "NAME",      "the columns: resource-tracker (default), resource-tracker-0.3 or resource-tracker-0.1", AGENT | OPTION_NO_FILE, TEXT(dialect) },
{ '\0', "process-rows",    "FILE",      "write a row of the process table per interval to FILE", AGENT | OPTION_NO_FILE, TEXT(process_rows_path) },
{ '\0', "system-rows",     "FILE",      "write a row of the system table per interval to FILE", AGENT | OPTION_NO_FILE, TEXT(system_rows_path) },
{ '\0', "upload",          "FILE",      "upload samples to Sentinel with the settings of the JSON object in FILE", AGENT | OPTION_NO_FILE, TEXT(upload_path) },
};

/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
const struct option_table resource_tracker_table = { rows, ARRAY_SIZE(rows) };

/* ---- the config file ---------------------------------------------------- */

#define DEFAULT_PATH "resource-tracker.toml"

/* Reads the part of TOML that the settings need: tables, and a string or a number on one
 * line. Other lines are ignored. */

/* Returns whether the rest of the line is only blanks and a comment. */
static bool is_end(const char *at)
{
    at += strspn(at, " \t\r");
    return *at == '\0' || *at == '#';
}

/* Returns the text of a string or a number, to be freed. NULL: the value is neither. */
static char *read_value(const char *at, bool is_string)
{
    json_auto_t *string = NULL;
    json_error_t error;
    size_t length;

    if (is_string && *at == '"') { /* JSON has the same escapes */
        string = json_loads(at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
        return string && is_end(at + error.position) ? strdup(json_string_value(string)) : NULL;
    }
    if (is_string && *at++ != '\'')
        return NULL;
    length = strcspn(at, is_string ? "'" : " \t\r#");
    if (is_string ? at[length] == '\0' : length == 0)
        return NULL;
    return is_end(at + length + is_string) ? strndup(at, length) : NULL;
}

/* Applies "key = value" in a table. */
static int apply_line(struct arguments *arguments, const char *table, const char *line,
                      struct spoor_error *err)
{
    const struct option_table *options = arguments->command->options;
    size_t length = strcspn(line, " \t=#");
    const char *value = line + length + strspn(line + length, " \t");
    char key[64];

    if (*value++ != '=')
        return 0;
    value += strspn(value, " \t");
    (void)snprintf(key, sizeof(key), "%s%s%.*s", table, *table ? "." : "", (int)length,
                   line); /* a truncated key is unknown */
    for (size_t i = 0; i < options->count; i++) {
        const struct option *row = &options->rows[i];
        enum setting_source *source = &arguments->sources[i];
        bool is_string = row->apply == option_any_text;
        AUTO_FREE char *text = NULL;
        int r;

        if (!row->key || strcmp(row->key, key) != 0)
            continue;
        text = read_value(value, is_string);
        if (*source == SET_BY_FILE)
            return error_set(err, EINVAL, "%s is set twice", key);
        if (!text)
            return error_set(err, EINVAL, "%s: expected a %s", key,
                             is_string ? "string" : "number");
        if (*source != SET_BY_NOTHING)
            return 0;
        *source = SET_BY_FILE;
        r = arguments_apply(arguments, row, text, err);
        return r < 0 ? error_prefix(err, r, "%s", key) : 0;
    }
    return 0;
}

static int read_text(struct arguments *arguments, const char *path, const char *text,
                     struct spoor_error *err)
{
    AUTO_FREE char *copy = strdup(text);
    char table[32] = "", *rest = copy, *line;
    int r = copy ? 0 : error_set(err, ENOMEM, "out of memory");

    for (unsigned number = 1; r == 0 && (line = strsep(&rest, "\n")); number++) {
        line += strspn(line, " \t");
        if (*line == '[')
            (void)snprintf(table, sizeof(table), "%.*s", (int)strcspn(line + 1, "]"),
                           line + 1); /* a truncated table is unknown */
        else
            r = apply_line(arguments, table, line, err);
        if (r < 0)
            r = error_prefix(err, r, "%s:%u", path, number);
    }
    return r;
}

/* Applies the whole file, or nothing if any of it is invalid: a first pass applies it to
 * other settings. */
static int read_file(struct arguments *arguments, const char *path, struct spoor_error *err)
{
    CLEANUP(tracker_settings_done) struct tracker_settings trial_settings;
    CLEANUP(buffer_done) struct buffer text = { 0 };
    struct arguments trial = *arguments;
    int r = buffer_read_file(&text, path, CONFIG_MAX_BYTES);

    tracker_settings_init(&trial_settings);
    trial.target = &trial_settings;
    if (r < 0)
        return error_sys(err, r, "config file '%s'", path);
    if (strlen(text.text) < text.length)
        return error_set(err, EINVAL, "config file '%s' is not text", path);
    r = read_text(&trial, path, text.text, err);
    return r < 0 ? r : read_text(arguments, path, text.text, err);
}

/* The user did not name this file: a pipe of that name, for example in /tmp, must not block
 * us. */
static int read_default(struct arguments *arguments, struct spoor_error *err)
{
    struct stat status;

    if (stat(DEFAULT_PATH, &status) == 0 && !S_ISREG(status.st_mode))
        return error_set(err, EINVAL, "config file '%s': not a regular file", DEFAULT_PATH);
    return read_file(arguments, DEFAULT_PATH, err);
}

int tracker_config_read(struct arguments *arguments, const char *path, struct spoor_error *err)
{
    int r = path ? read_file(arguments, path, err) : read_default(arguments, err);

    if (path && r != -ENOENT)
        return r;
    if (r < 0 && (path || r != -ENOENT))
        program_warn(arguments->program, "%s; ignored", err->message);
    return 0;
}

/* ---- tracking -----------------------------------------------------------
 *
 * Everything is checked before the command starts. After that, no failure of ours may fail it.
 */

#define DIALECT "resource-tracker-rs"

#define complain(...) program_complain(&resource_tracker_program, __VA_ARGS__)

struct run {
    const struct tracker_settings *settings;
    struct spoor_options options;
    struct spoor_stream streams[2];
    struct upload_process upload;
    bool has_begun; /* the upload has begun */
};

/* Called before a command starts: afterwards, a file that cannot be written must not stop the
 * command. */
static int check_output(const struct spoor_stream *stream, struct spoor_error *err)
{
    struct stream found;
    int r = stream_find(stream->path, stream->dialect, stream->format, true, &found, err);

    if (r == 0)
        r = stream_check(&found, stream->path, OUTPUT_TRUNCATE, err);
    return r < 0 ? error_prefix(err, r, "cannot write to '%s'", stream->path) : 0;
}

static void warn(const char *message)
{
    complain("%s", message);
}

/* Prints no warning if stderr is full: the write would block, and a slow reader of stderr
 * may be the reason why samples were lost. */
static void warn_about_lost_samples(spoor_session *session)
{
    const char *message = spoor_session_warning(session, "samples-lost");
    struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (message && poll(&output, 1, 0) == 1)
        program_warn(&resource_tracker_program, "%s", message);
}

static void finish(const struct tracked *tracked, void *data)
{
    struct run *run = data;

    warn_about_lost_samples(tracked->session);
    tracker_upload_end(&run->upload, supervise_exit_code(tracked->end.wait_status),
                       run->settings->is_quiet);
}

static int run_command(struct run *run, char **command)
{
    struct track_options options = { .command = command,
                                     .session = run->options,
                                     .warn = warn };

    return program_run(&resource_tracker_program, &options, finish, run);
}

/* Waits until the process ends or a signal arrives. */
static int follow(struct run *run)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    int code =
        attachment_follow(&resource_tracker_program, &run->options, 0, -1, -1, &attachment);

    if (code == 0) {
        warn_about_lost_samples(attachment.session);
        tracker_upload_end(&run->upload, 0, run->settings->is_quiet);
    }
    return code;
}

/* Called with the first sample, when the run is certainly tracked. */
static void begin_upload(UNUSED const struct spoor_sample *sample, void *data)
{
    struct run *run = data;

    if (!run->has_begun)
        upload_process_begin(&run->upload);
    run->has_begun = true;
}

static int resource_tracker_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct run run = { .settings = &settings, .options = SPOOR_OPTIONS_INIT };
    struct spoor_error err = { 0 };
    char **job;
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (tracker_config_read(&arguments, settings.config_path, &err) < 0)
        return complain("%s", err.message);
    run.streams[0] = (struct spoor_stream){
        .path = settings.output_path ? settings.output_path : "/dev/stderr",
        .dialect = DIALECT,
        .format = settings.format == TRACKER_CSV ? "csv" : "jsonl",
    };
    if (!settings.is_quiet && check_output(&run.streams[0], &err) < 0)
        return complain("%s", err.message);
    run.options.interval_ns = settings.interval_ns;
    run.options.name = settings.job_name;
    run.options.tags = (const char *const *)settings.tags.items;
    run.options.streams = run.streams;
    run.options.stream_count = settings.is_quiet ? 0 : 1;
    job = arguments.first_operand < argc ? argv + arguments.first_operand : NULL;
    tracker_upload_start(&settings, (const char *const *)job, &run.upload);
    if (run.upload.pid != 0) {
        run.options.sample_seen = begin_upload;
        run.options.sample_data = &run;
        run.streams[run.options.stream_count++] =
            (struct spoor_stream){ run.upload.rows.path, DIALECT, "csv" };
    }
    run.options.pid = job ? 0 : settings.pid;
    code = job ? run_command(&run, job) : follow(&run);
    upload_process_cancel(&run.upload); /* no effect if something was tracked */
    return code;
}

/* ---- the program -------------------------------------------------------- */

static const struct command track_command = {
    .name = "",
    .options = &resource_tracker_table,
    .scope = TRACK_SCOPE,
    .operands = "[--] [COMMAND [ARGUMENT...]]",
    .max_operands = OPERANDS_REST,
    .complete = COMPLETE_COMMANDS,
    .about =
        "Write the resource usage of a job and of its machine, one sample per interval. The "
        "job is the command, or the process given by --pid, with all its descendants; without "
        "either, only the machine is measured, until you press Ctrl-C. Exit code: that of the "
        "command; 127 if it was not found; 126 if it could not be executed; 1 if "
        "resource-tracker failed before starting it. If signal N kills the command, the same "
        "signal ends resource-tracker: $? is 128+N in a shell.",
    .notes =
        "TRACKER_OUTPUT, TRACKER_QUIET and TRACKER_JOB_NAME set the options of the same name, "
        "and so do variables such as TRACKER_TEAM for the options that describe the run. If "
        "SENTINEL_API_TOKEN is set, samples are also uploaded to Sentinel, and "
        "'resource-tracker upload' sends unsent ones: see resource-tracker(1). The config "
        "file may set job.name, job.pid and tracker.interval_secs. An option overrides a "
        "variable, and a variable overrides the config file.",
    .example = "resource-tracker -i 5 -f csv -o samples.csv -- make -j8",
    .main = resource_tracker_main,
};

static const struct command commands[] = {
    {
        .name = "agent",
        .options = &resource_tracker_table,
        .scope = AGENT_SCOPE,
        .is_hidden = true,
        .ignores_variables = true,
        .main = resource_tracker_agent,
    },
    {
        .name = "upload",
        .options = &resource_tracker_table,
        .scope = UPLOAD_SCOPE,
        .summary = "send the samples that earlier runs could not upload",
        .about =
            "Send to Sentinel the samples that earlier runs could not upload, and print their "
            "number. SENTINEL_API_TOKEN must be set. Exit code: 0 if all were sent; 1 if some "
            "remain unsent.",
        .main = tracker_upload_main,
    },
    { 0 },
};

const struct program resource_tracker_program = {
    .name = "resource-tracker",
    .description = "Measure what a command, a process or the machine uses, over time.",
    .commands = commands,
    .main_command = &track_command,
    /* The version of the predecessor; spoor's version follows. */
    .version_prefix = "resource-tracker 0.1.14+spoor.",
    .environment_prefix = "TRACKER_",
    .error_prefix = "error: ",
    .warning_prefix = "warn: ",
    .failure_code = 1,
};
