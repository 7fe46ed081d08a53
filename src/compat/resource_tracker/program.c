/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/program.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "compat/resource_tracker/agent.h"
#include "compat/resource_tracker/lookup.h"
#include "compat/resource_tracker/upload.h"
#include "front/agent.h"
#include "output/stream.h"
#include "text/buffer.h"
#include "text/number.h"
#include "text/utf8.h"

/* ---- options ------------------------------------------------------------ */

void tracker_settings_init(struct tracker_settings *settings)
{
    *settings = (struct tracker_settings){ .interval_ns = NS_PER_SECOND };
}

void tracker_settings_done(struct tracker_settings *settings)
{
    option_free(&resource_tracker_table, settings);
}

/* ---- values of single options ---------------------------------------------- */

static int apply_interval(void *target, const struct option *option, const char *value,
                          struct spoor_error *err)
{
    struct tracker_settings *settings = target;
    double seconds;

    (void)option;
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

static int apply_pid(void *target, const struct option *option, const char *value,
                     struct spoor_error *err)
{
    struct tracker_settings *settings = target;

    (void)option;
    return option_parse_pid(value, &settings->pid, err);
}

/* ---- the table --------------------------------------------------------------- */

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
{ 'h',  "help",            NULL,        "show this help and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .apply = option_help },
{ 'V',  "version",         NULL,        "show the version and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .apply = option_version },
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
#define BARE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

enum { DEPTH_MAX = 32 }; /* of inline tables */

/* A TOML file. Tables, strings and numbers are read; values of other types are passed over. */
struct reader {
    const char *at;      /* the text ends in NUL and has no other */
    unsigned line;       /* from 1 */
    unsigned depth;      /* of the inline tables around the key */
    struct buffer key;   /* with its table: "job.name" */
    struct buffer value; /* the text of a string, or a number without underscores */
    struct arguments *arguments;
    struct spoor_error *err;
};

/* ---- settings --------------------------------------------------------------- */

/* The row of the table with that key, or -1. */
static ssize_t find_row(const struct option_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].key && strcmp(table->rows[i].key, key) == 0)
            return (ssize_t)i;
    }
    return -1;
}

/* Applies the value that was read. `first`: the first character of the value in the file. */
static int apply(struct reader *reader, char first)
{
    struct arguments *arguments = reader->arguments;
    const struct option_table *table = arguments->command->options;
    bool is_text, is_string = first == '"' || first == '\'';
    const char *key = reader->key.text;
    enum setting_source *source;
    ssize_t row;
    int r;

    if (buffer_error(&reader->key) < 0 || buffer_error(&reader->value) < 0)
        return error_set(reader->err, ENOMEM, "out of memory");
    row = find_row(table, key);
    if (row < 0)
        return 0;
    source = &arguments->sources[row];
    is_text = table->rows[row].apply == option_any_text;
    if (*source == SET_BY_FILE)
        return error_set(reader->err, EINVAL, "%s is set twice", key);
    if (is_text ? !is_string : !strchr("+-0123456789", first))
        return error_set(reader->err, EINVAL, "%s: expected a %s", key,
                         is_text ? "string" : "number");
    if (*source != SET_BY_NOTHING)
        return 0;
    buffer_add(&reader->value, "", 0); /* an empty text is a text */
    r = arguments_apply(arguments, &table->rows[row], reader->value.text, reader->err);
    *source = SET_BY_FILE;
    return r < 0 ? error_prefix(reader->err, r, "%s", key) : 0;
}

/* ---- TOML ------------------------------------------------------------------- */

static int refuse(const struct reader *reader, const char *message)
{
    return error_set(reader->err, EINVAL, "%s", message);
}

static void skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r");
    if (*reader->at == '#')
        reader->at += strcspn(reader->at, "\n");
}

static void skip_lines(struct reader *reader)
{
    for (skip_blanks(reader); *reader->at == '\n'; skip_blanks(reader)) {
        reader->at++;
        reader->line++;
    }
}

/* Behind the backslash: an escape, or the end of a line, which is not part of the string. */
static int read_escape(struct reader *reader)
{
    static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    char letter = *reader->at, hex[9] = "", bytes[4];
    size_t digits = letter == 'u' ? 4 : 8;
    const char *found = letter ? strchr(letters, letter) : NULL;
    int length;

    if (letter && strchr(" \t\r\n", letter)) {
        skip_lines(reader);
        return 0;
    }
    reader->at += letter != '\0';
    if (found) {
        buffer_add(&reader->value, &meanings[found - letters], 1);
        return 0;
    }
    if ((letter != 'u' && letter != 'U') ||
        strspn(reader->at, "0123456789abcdefABCDEF") < digits)
        return refuse(reader, "invalid escape in a string");
    memcpy(hex, reader->at, digits);
    reader->at += digits;
    length = utf8_put((uint32_t)strtoul(hex, NULL, 16), bytes);
    if (length < 0 || bytes[0] == '\0')
        return refuse(reader, "invalid character in an escape");
    buffer_add(&reader->value, bytes, (size_t)length);
    return 0;
}

/* The next character of a string. */
static int read_in_string(struct reader *reader, const char *quotes)
{
    bool is_long = quotes[1] != '\0';
    char c = *reader->at;

    if (c == '\0' || (c == '\n' && !is_long))
        return error_set(reader->err, EINVAL, "missing %s at the end of a string", quotes);
    if (((unsigned char)c < ' ' && !strchr("\t\r\n", c)) || c == 0x7f)
        return refuse(reader, "control character in a string");
    reader->line += c == '\n';
    reader->at++;
    if (c == '\\' && *quotes == '"')
        return read_escape(reader);
    buffer_add(&reader->value, &c, 1);
    return 0;
}

/* A string in one or three quotes. A line break behind three quotes is not part of it. */
static int read_string(struct reader *reader)
{
    char quote = *reader->at;
    bool is_long = reader->at[1] == quote && reader->at[2] == quote;
    const char quotes[] = { quote, is_long ? quote : '\0', quote, '\0' };
    size_t length = strlen(quotes);
    bool has_break;
    int r = 0;

    reader->at += length;
    has_break = is_long && *reader->at == '\n';
    reader->at += has_break;
    reader->line += has_break;
    while (r == 0 && (strncmp(reader->at, quotes, length) != 0 ||
                      (is_long && reader->at[length] == quote)))
        r = read_in_string(reader, quotes);
    reader->at += r == 0 ? length : 0;
    return r;
}

/* Adds a key of one or more parts to that of the table. A part in quotes keeps them: "a.b" is not a.b. */
static int read_key(struct reader *reader)
{
    do {
        const char *start;
        int r = 0;

        reader->at += *reader->at == '.';
        if (reader->key.length > 0)
            buffer_add_text(&reader->key, ".");
        skip_blanks(reader);
        start = reader->at;
        buffer_clear(&reader->value);
        if (*start == '"' || *start == '\'')
            r = read_string(reader);
        else
            reader->at += strspn(start, BARE);
        if (r < 0 || reader->at == start)
            return r < 0 ? r : refuse(reader, "expected a key");
        buffer_add(&reader->key, start, (size_t)(reader->at - start));
        skip_blanks(reader);
    } while (*reader->at == '.');
    return 0;
}

/* Skips an array of any values. */
static int skip_array(struct reader *reader)
{
    size_t depth = 0;

    do {
        char c = *reader->at;
        bool is_string = c == '"' || c == '\'';
        int r = is_string ? read_string(reader) : 0;

        if (r < 0 || c == '\0')
            return r < 0 ? r : refuse(reader, "missing ']' at the end of an array");
        reader->at += !is_string;
        depth += c == '[';
        depth -= c == ']';
        if (depth > 0)
            skip_lines(reader);
    } while (depth > 0);
    return 0;
}

/* A number, true, false or a date. */
static int read_word(struct reader *reader)
{
    size_t length = strcspn(reader->at, ",}#\r\n");

    if (length == 0)
        return refuse(reader, "expected a value");
    while (strchr(" \t", reader->at[length - 1]))
        length--;
    for (const char *end = reader->at + length; reader->at < end; reader->at++)
        buffer_add(&reader->value, reader->at, *reader->at != '_');
    return 0;
}

static int read_pair(struct reader *reader);

/* { key = value, ... } */
static int read_inline_table(struct reader *reader)
{
    int r = 0;

    if (reader->depth++ == DEPTH_MAX)
        return refuse(reader, "tables are nested too deeply");
    do {
        reader->at++; /* '{' or ',' */
        skip_blanks(reader);
        if (*reader->at != '}')
            r = read_pair(reader);
        skip_blanks(reader);
    } while (r == 0 && *reader->at == ',');
    if (r < 0 || *reader->at != '}')
        return r < 0 ? r : refuse(reader, "expected ',' or '}' in an inline table");
    reader->at++;
    reader->depth--;
    return 0;
}

static int read_value(struct reader *reader)
{
    char first = *reader->at;
    int r;

    buffer_clear(&reader->value);
    if (first == '{')
        return read_inline_table(reader);
    if (first == '"' || first == '\'')
        r = read_string(reader);
    else
        r = first == '[' ? skip_array(reader) : read_word(reader);
    return r < 0 ? r : apply(reader, first);
}

static void cut_key(struct reader *reader, size_t length)
{
    reader->key.length = length;
    if (reader->key.text)
        reader->key.text[length] = '\0';
}

static int read_pair(struct reader *reader)
{
    size_t table_length = reader->key.length;
    int r = read_key(reader);

    if (r < 0 || *reader->at != '=')
        return r < 0 ? r : refuse(reader, "expected '=' after a key");
    reader->at++;
    skip_blanks(reader);
    r = read_value(reader);
    cut_key(reader, table_length);
    return r;
}

/* [table], or [[table]]: one of several with the same keys. */
static int read_header(struct reader *reader)
{
    const char *closing = reader->at[1] == '[' ? "]]" : "]";
    int r;

    reader->at += strlen(closing);
    cut_key(reader, 0);
    r = read_key(reader);
    if (r < 0 || strncmp(reader->at, closing, strlen(closing)) != 0)
        return r < 0 ? r : refuse(reader, "expected ']' after the name of a table");
    reader->at += strlen(closing);
    return 0;
}

static int read_text(struct arguments *arguments, const char *path, const char *text,
                     struct spoor_error *err)
{
    struct reader reader = { .at = text, .line = 1, .arguments = arguments, .err = err };
    int r = 0;

    skip_lines(&reader);
    while (r == 0 && *reader.at) {
        r = *reader.at == '[' ? read_header(&reader) : read_pair(&reader);
        skip_blanks(&reader);
        if (r == 0 && *reader.at && *reader.at != '\n')
            r = refuse(&reader, "unexpected text after a value");
        if (r == 0)
            skip_lines(&reader);
    }
    if (r < 0)
        r = error_prefix(err, r, "%s:%u", path, reader.line);
    buffer_done(&reader.key);
    buffer_done(&reader.value);
    return r;
}

/* ---- the file --------------------------------------------------------------- */

/* All of the file, or nothing if any of it is wrong: it is applied to other settings first. */
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

/* The file is a default: a pipe of that name, for example in /tmp, must not block us. */
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
    bool has_begun; /* the upload */
};

/* The samples of the run. */
static struct spoor_stream make_stream(const struct tracker_settings *settings)
{
    return (struct spoor_stream){
        .path = settings->output_path ? settings->output_path : "/dev/stderr",
        .dialect = DIALECT,
        .format = settings->format == TRACKER_CSV ? "csv" : "jsonl",
    };
}

/* Borrows from the settings and the stream. */
static struct spoor_options make_options(const struct tracker_settings *settings,
                                         const struct spoor_stream *stream)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;

    options.interval_ns = settings->interval_ns;
    options.name = settings->job_name;
    options.tags = (const char *const *)settings->tags.items;
    options.streams = stream;
    options.stream_count = settings->is_quiet ? 0 : 1;
    return options;
}

/* Before a command starts: afterwards, a file that cannot be written must not stop it. */
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

/* Not to a stderr that is full: its reader would hold us up, and may be why samples are lost. */
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
    int code = program_run(&resource_tracker_program, &options, finish, run);

    upload_process_cancel(&run->upload); /* if the command was not tracked */
    return code;
}

/* Until the process ends, or a signal comes. */
static int follow(struct run *run)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    int code =
        attachment_follow(&resource_tracker_program, &run->options, 0, -1, -1, &attachment);

    if (code == 0) {
        warn_about_lost_samples(attachment.session);
        tracker_upload_end(&run->upload, 0, run->settings->is_quiet);
    }
    upload_process_cancel(&run->upload); /* if there was nothing to track */
    return code;
}

/* The first sample: the run is tracked. */
static void begin_upload(const struct spoor_sample *sample, void *data)
{
    struct run *run = data;

    (void)sample;
    if (!run->has_begun)
        upload_process_begin(&run->upload);
    run->has_begun = true;
}

/* The samples once more, for the uploads of the run. */
static void add_upload(struct run *run)
{
    if (run->upload.pid == 0)
        return;
    run->options.sample_seen = begin_upload;
    run->options.sample_data = run;
    run->streams[run->options.stream_count++] =
        (struct spoor_stream){ run->upload.rows_path, DIALECT, "csv" };
}

static int resource_tracker_main(const struct command *command, int argc, char **argv)
{
    CLEANUP(tracker_settings_done) struct tracker_settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&resource_tracker_program, command, &settings);
    struct run run = { .settings = &settings };
    struct spoor_error err = { 0 };
    char **job;
    int code;

    tracker_settings_init(&settings);
    code = program_read(&arguments, argc, argv);
    if (code >= 0)
        return code;
    if (tracker_config_read(&arguments, settings.config_path, &err) < 0)
        return complain("%s", err.message);
    run.streams[0] = make_stream(&settings);
    if (!settings.is_quiet && check_output(&run.streams[0], &err) < 0)
        return complain("%s", err.message);
    run.options = make_options(&settings, run.streams);
    job = arguments.first_operand < argc ? argv + arguments.first_operand : NULL;
    tracker_upload_start(&settings, (const char *const *)job, &run.upload);
    add_upload(&run);
    if (job)
        return run_command(&run, job);
    run.options.pid = settings.pid;
    return follow(&run);
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
        "Write what a job and its machine use, one sample per interval. The job is the "
        "command, or the process given by --pid, with all its descendants; without either, "
        "only the machine is measured, until you press Ctrl-C. Exit code: that of the "
        "command; 127 if it was not found; 126 if it could not be executed; 1 if "
        "resource-tracker failed before starting it. If signal N kills the command, "
        "the same signal ends resource-tracker: $? is 128+N in a shell.",
    .notes =
        "TRACKER_OUTPUT, TRACKER_QUIET, TRACKER_JOB_NAME and variables for the options that "
        "describe the run (TRACKER_TEAM) set these options. If SENTINEL_API_TOKEN is set, "
        "samples are also uploaded to Sentinel, and 'resource-tracker upload' sends unsent "
        "ones: "
        "see resource-tracker(1). The config file may set job.name, job.pid and "
        "tracker.interval_secs. An option overrides a variable, and a variable overrides the "
        "config file.",
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
        .name = "agent-lookup",
        .is_hidden = true,
        .ignores_variables = true,
        .main = tracker_lookup_main,
    },
    {
        .name = "upload",
        .options = &resource_tracker_table,
        .scope = UPLOAD_SCOPE,
        .summary = "send the samples that earlier runs could not upload",
        .about = "Send to Sentinel the samples that earlier runs could not upload, and print "
                 "their number. SENTINEL_API_TOKEN must be set. Exit code: 0 if all were "
                 "sent; 1 if some are kept.",
        .main = tracker_upload_main,
    },
    { 0 },
};

const struct program resource_tracker_program = {
    .name = "resource-tracker",
    .description = "Measure what a command, a process or the machine uses, over time.",
    .commands = commands,
    .main_command = &track_command,
    .version_prefix = "resource-tracker 0.1.14+spoor.", /* that of the predecessor, then ours */
    .environment_prefix = "TRACKER_",
    .error_prefix = "error: ",
    .warning_prefix = "warn: ",
    .failure_code = 1,
};
