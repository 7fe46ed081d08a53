/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/resource_tracker/options.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "text/number.h"

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

int tracker_parse_pid(const char *text, pid_t *ret, struct spoor_error *err)
{
    uint64_t pid;

    if (parse_whole_u64(text, &pid) < 0 || pid == 0 || pid > INT32_MAX)
        return error_set(err, EINVAL, "invalid process ID '%.100s'", text);
    *ret = (pid_t)pid;
    return 0;
}

static int apply_pid(void *target, const struct option *option, const char *value,
                     struct spoor_error *err)
{
    struct tracker_settings *settings = target;

    (void)option;
    return tracker_parse_pid(value, &settings->pid, err);
}

static int check_tag(const char *value, struct spoor_error *err)
{
    const char *equals = strchr(value, '=');

    if (!equals || equals == value)
        return error_set(err, EINVAL, "invalid tag '%s': expected KEY=VALUE", value);
    return 0;
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
{ '\0', "tag",             "KEY=VALUE", "tag the run; may be repeated", TRACK | NO_VARIABLE | OPTION_NO_FILE | OPTION_REPEATABLE, OPTION_LIST(struct tracker_settings, tags), .check = check_tag },
{ 'h',  "help",            NULL,        "show this help and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .apply = option_help },
{ 'V',  "version",         NULL,        "show the version and exit", TRACK | UPLOAD_SCOPE | NO_VARIABLE | OPTION_NO_FILE, .apply = option_version },
{ '\0', "no-children",     NULL,        "track the process without its descendants", AGENT | OPTION_NO_FILE, FLAG(excludes_children) },
{ '\0', "dialect",         "NAME",      "the columns: resource-tracker (default), resource-tracker-0.3 or resource-tracker-0.1", AGENT | OPTION_NO_FILE, TEXT(dialect) },
{ '\0', "process-rows",    "FILE",      "write a row of the process table per interval to FILE", AGENT | OPTION_NO_FILE, TEXT(process_rows_path) },
{ '\0', "system-rows",     "FILE",      "write a row of the system table per interval to FILE", AGENT | OPTION_NO_FILE, TEXT(system_rows_path) },
{ '\0', "upload",          "FILE",      "upload samples to Sentinel as the JSON object in FILE says", AGENT | OPTION_NO_FILE, TEXT(upload_path) },
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
const struct option_table resource_tracker_table = { rows, ARRAY_SIZE(rows) };
