/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "compat/gpu_tracker/words.h"
#include "compat/tracking/tracking_file.h"
#include "text/number.h"

#define SLEEP_MIN_SECONDS 0.1
#define CORES_MAX 1000000

static int refuse_process_id(void *target, const struct option *option, const char *value,
                             struct spoor_error *err)
{
    (void)target;
    (void)option;
    (void)value;
    return error_set(err, EINVAL, "cannot be set: gpu-tracker tracks the command that it runs");
}

#define TRACK TRACK_SCOPE
#define AGENT AGENT_SCOPE
#define BOTH (TRACK_SCOPE | AGENT_SCOPE)
#define STRING OPTION_FILE_STRING
#define NO_FILE OPTION_NO_FILE
#define TEXT(member) OPTION_ANY_TEXT(struct gpu_tracker_texts, member)
#define FLAG(member) OPTION_FLAG(struct gpu_tracker_texts, member)
#define MEMORY_UNIT "bytes, kilobytes, megabytes, gigabytes (default) or terabytes"
#define MEMORY_UNITS "bytes kilobytes megabytes gigabytes terabytes"

/* The keys of the config file are the parameters of the Python class Tracker. Those that concern
 * files and processes that we do not have belong to no command, and so are ignored. */
/* clang-format off */
static const struct option rows[] = {
{ 'e',  "execute",      "<command>",       "the command to track, with its arguments, as one string; quotes and backslashes work as in a shell", TRACK | NO_FILE | OPTION_REQUIRED, TEXT(command), .complete = COMPLETE_COMMANDS },
{ 'o',  "output",       "<output>",        "write the report to this file instead of stdout", TRACK | NO_FILE, TEXT(output_path), .complete = COMPLETE_FILES },
{ 'f',  "format",       "<format>",        "format of the report: text (default) or json", TRACK | NO_FILE, TEXT(format), .complete = "text json" },
{ '\0', "tconfig",      "<config-file>",   "read parameters of the Python class Tracker from a JSON file; options override them", TRACK | NO_FILE | OPTION_CONFIG_FILE, TEXT(config_path), .complete = COMPLETE_FILES },
{ '\0', "st",           "<sleep-time>",    "seconds between samples, at least 0.1 (default: 1)", BOTH, TEXT(sleep_time), .key = "sleep_time" },
{ '\0', "ru",           "<ram-unit>",      "unit of RAM: " MEMORY_UNIT, BOTH | STRING, TEXT(ram_unit), .key = "ram_unit", .complete = MEMORY_UNITS },
{ '\0', "gru",          "<gpu-ram-unit>",  "unit of GPU RAM: " MEMORY_UNIT, BOTH | STRING, TEXT(gpu_ram_unit), .key = "gpu_ram_unit", .complete = MEMORY_UNITS },
{ '\0', "tu",           "<time-unit>",     "unit of time: seconds, minutes, hours (default) or days", BOTH | STRING, TEXT(time_unit), .key = "time_unit", .complete = "seconds minutes hours days" },
{ '\0', "nec",          "<num-cores>",     "number of cores the command is expected to use; hardware percentages are relative to it (default: all cores)", BOTH, TEXT(core_count), .key = "n_expected_cores" },
{ '\0', "guuids",       "<gpu-uuids>",     "comma-separated UUIDs of the GPUs whose utilization to measure (default: all)", BOTH | OPTION_FILE_LIST, TEXT(gpu_uuids), .key = "gpu_uuids" },
{ '\0', "disable-logs", NULL,              "do not print warnings", BOTH, FLAG(is_silent), .key = "disable_logs" },
{ '\0', "gb",           "<gpu-brand>",     "brand of the GPUs: nvidia or amd (default: detect)", BOTH | STRING, TEXT(gpu_brand), .key = "gpu_brand", .complete = "nvidia amd" },
{ '\0', "tf",           "<tracking-file>", "write one row per sample to this file (.csv or .sqlite)", BOTH | STRING, TEXT(tracking_path), .key = "tracking_file", .complete = COMPLETE_FILES },
{ '\0', "overwrite",    NULL,              "replace the tracking file if it exists", BOTH, FLAG(overwrites), .key = "overwrite" },
{ '\0', "propagate",    NULL,              "exit with the exit code of the command (128+N if signal N killed it) instead of 0", TRACK | NO_FILE, FLAG(propagates) },
{ '\0', "spelling",     "<spelling>",      "spelling in the report: descendants (default), or descendents as in versions 1.2 to 3", BOTH | STRING, TEXT(spelling), .key = "spelling", .complete = "descendants descendents" },
{ 'h',  "help",         NULL,              "show this help and exit", TRACK | NO_FILE, .apply = option_help },
{ 'v',  "version",      NULL,              "show the version and exit", TRACK | NO_FILE, .apply = option_version },
{ '\0', "pid",          "<pid>",           "the process to track", AGENT | NO_FILE, TEXT(pid) },
{ '\0', "check",        NULL,              "check the options and exit", AGENT | NO_FILE, FLAG(is_check) },
{ '\0', "resource_usage_file", "",         "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "n_join_attempts", "",             "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "join_timeout", "",                "", OPTION_FILE_ONLY, .apply = NULL },
{ '\0', "process_id",   "",                "", TRACK | OPTION_FILE_ONLY, .apply = refuse_process_id },
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(rows) <= OPTIONS_MAX, "struct arguments has room for all");
const struct option_table gpu_tracker_table = { rows, ARRAY_SIZE(rows) };

void gpu_tracker_texts_done(struct gpu_tracker_texts *texts)
{
    option_free(&gpu_tracker_table, texts);
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

    /* 2.0 is a whole number too. */
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
    char list[100] = "";

    if (unit) {
        *ret = unit;
        return 0;
    }
    for (; units->name; units++) {
        size_t used = strlen(list);

        (void)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                       units->name); /* fits */
    }
    return error_set(err, EINVAL, "\"%s\" is not a valid %s unit. Valid values are %s", text,
                     what, list);
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

static int check_command(const char *text, char ***ret, struct spoor_error *err)
{
    char **words;
    int r = words_split(text, &words, err);

    if (r < 0)
        return r;
    if (!words[0]) {
        words_free(words);
        return error_set(err, EINVAL, "Empty command provided.");
    }
    *ret = words;
    return 0;
}

static int check_all(const struct gpu_tracker_texts *texts, struct gpu_tracker_settings *ret,
                     struct spoor_error *err)
{
    int r = check_sleep_time(texts->sleep_time, &ret->sleep_seconds, err);

    if (r == 0)
        r = check_cores(texts->core_count, &ret->expected_core_count, err);
    if (r == 0)
        r = check_unit(texts->ram_unit, usage_memory_units, "gigabytes", "RAM", &ret->ram_unit,
                       err);
    if (r == 0)
        r = check_unit(texts->gpu_ram_unit, usage_memory_units, "gigabytes", "GPU RAM",
                       &ret->gpu_ram_unit, err);
    if (r == 0)
        r = check_unit(texts->time_unit, usage_time_units, "hours", "time", &ret->time_unit,
                       err);
    if (r == 0 && texts->tracking_path)
        r = tracking_file_check_name(texts->tracking_path, err);
    if (r == 0)
        r = check_brand(texts->gpu_brand, err);
    if (r == 0)
        r = gpu_tracker_format_parse(texts->format, &ret->style.format, err);
    if (r == 0)
        r = check_spelling(texts->spelling, &ret->style.is_descendents, err);
    return r;
}

int gpu_tracker_settings_make(const struct gpu_tracker_texts *texts,
                              struct gpu_tracker_settings *ret, struct spoor_error *err)
{
    struct gpu_tracker_settings settings = {
        .command = texts->command,
        .output_path = texts->output_path,
        .gpu_uuids = texts->gpu_uuids,
        .gpu_brand = texts->gpu_brand,
        .tracking_path = texts->tracking_path,
        .is_silent = texts->is_silent,
        .overwrites = texts->overwrites,
        .propagates = texts->propagates,
    };
    int r = check_all(texts, &settings, err);

    if (r == 0 && settings.command)
        r = check_command(settings.command, &settings.words, err);
    if (r == 0)
        *ret = settings;
    return r;
}

void gpu_tracker_settings_done(struct gpu_tracker_settings *settings)
{
    words_free(settings->words);
    settings->words = NULL;
}
