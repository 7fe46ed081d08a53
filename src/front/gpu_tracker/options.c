/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gpu_tracker/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "front/gpu_tracker/words.h"
#include "store/tracking_file.h"
#include "text/decimal.h"

#define SLEEP_MIN_SECONDS 0.1
#define CORES_MAX 1000000

/* ---- the table ----------------------------------------------------------- */

int gpu_tracker_texts_set(struct gpu_tracker_texts *texts, enum gpu_tracker_option option,
                          const char *text, struct spoor_error *err)
{
    char *copy = strdup(text);

    if (!copy)
        return error_set(err, ENOMEM, "out of memory");
    free(texts->text[option]);
    texts->text[option] = copy;
    return 0;
}

/* For every row: the text of the option is kept. --help and --version end the reading. */
static int keep(struct cli_settings *settings, const struct cli_option *option,
                const char *value, struct spoor_error *err)
{
    struct gpu_tracker_texts *texts = (struct gpu_tracker_texts *)(void *)settings;
    enum gpu_tracker_option index = (enum gpu_tracker_option)(option - gpu_tracker_table.rows);
    int r;

    if (!option->value && value)
        return error_set(err, EINVAL, "takes no value");
    r = gpu_tracker_texts_set(texts, index, value ? value : "", err);
    if (r < 0)
        return r;
    return index == GPU_TRACKER_HELP || index == GPU_TRACKER_VERSION;
}

#define MEMORY_UNIT "bytes, kilobytes, megabytes, gigabytes (default) or terabytes"

/* clang-format off */
static const struct cli_option rows[GPU_TRACKER_OPTIONS] = {
[GPU_TRACKER_EXECUTE] =       { 'e',  "execute",      "<command>",       "the command to track, with its arguments, in one text; quotes and backslashes work as in a shell", OPTION_RUN, keep },
[GPU_TRACKER_OUTPUT] =        { 'o',  "output",       "<output>",        "write the measurements to this file instead of the screen", OPTION_RUN, keep },
[GPU_TRACKER_FORMAT] =        { 'f',  "format",       "<format>",        "format of the measurements: text (default) or json", OPTION_RUN, keep },
[GPU_TRACKER_CONFIG] =        { '\0', "tconfig",      "<config-file>",   "a JSON file with parameters of the Python class Tracker; options go before it", OPTION_RUN, keep },
[GPU_TRACKER_SLEEP_TIME] =    { '\0', "st",           "<sleep-time>",    "seconds between two samples, at least 0.1 (default 1)", OPTION_RUN, keep },
[GPU_TRACKER_RAM_UNIT] =      { '\0', "ru",           "<ram-unit>",      "unit of RAM: " MEMORY_UNIT, OPTION_RUN, keep },
[GPU_TRACKER_GPU_RAM_UNIT] =  { '\0', "gru",          "<gpu-ram-unit>",  "unit of GPU RAM: " MEMORY_UNIT, OPTION_RUN, keep },
[GPU_TRACKER_TIME_UNIT] =     { '\0', "tu",           "<time-unit>",     "unit of time: seconds, minutes, hours (default) or days", OPTION_RUN, keep },
[GPU_TRACKER_CORES] =         { '\0', "nec",          "<num-cores>",     "how many cores the command should use: what hardware percentages refer to (default: all of the machine)", OPTION_RUN, keep },
[GPU_TRACKER_GPU_UUIDS] =     { '\0', "guuids",       "<gpu-uuids>",     "UUIDs of the GPUs whose utilization counts, between commas (default: all)", OPTION_RUN, keep },
[GPU_TRACKER_DISABLE_LOGS] =  { '\0', "disable-logs", NULL,              "no warnings", OPTION_RUN, keep },
[GPU_TRACKER_GPU_BRAND] =     { '\0', "gb",           "<gpu-brand>",     "nvidia or amd (default: whatever is there)", OPTION_RUN, keep },
[GPU_TRACKER_TRACKING_FILE] = { '\0', "tf",           "<tracking-file>", "write a row per sample to this file, which ends with .csv or .sqlite", OPTION_RUN, keep },
[GPU_TRACKER_OVERWRITE] =     { '\0', "overwrite",    NULL,              "replace the tracking file where it exists", OPTION_RUN, keep },
[GPU_TRACKER_PROPAGATE] =     { '\0', "propagate",    NULL,              "exit with the exit code of the command (128 + N for signal N) instead of 0", OPTION_RUN, keep },
[GPU_TRACKER_SPELLING] =      { '\0', "spelling",     "<spelling>",      "descendants (default), or descendents as in versions 1.2 to 3", OPTION_RUN, keep },
[GPU_TRACKER_HELP] =          { 'h',  "help",         NULL,              "show this help", OPTION_RUN, keep },
[GPU_TRACKER_VERSION] =       { 'v',  "version",      NULL,              "show the version", OPTION_RUN, keep },
};
/* clang-format on */

const struct option_table gpu_tracker_table = { rows, ARRAY_SIZE(rows), true };

int gpu_tracker_texts_parse(struct gpu_tracker_texts *texts, int argc, char **argv,
                            struct spoor_error *err)
{
    uint32_t given = 0;
    int r = option_parse(&gpu_tracker_table, OPTION_RUN, argc, argv, 1,
                         (struct cli_settings *)(void *)texts, &given, err);

    if (r < 0)
        return r;
    if (texts->text[GPU_TRACKER_HELP] || texts->text[GPU_TRACKER_VERSION])
        return 0;
    if (r < argc)
        return error_set(err, EINVAL, "unexpected argument: %s", argv[r]);
    return 0;
}

void gpu_tracker_texts_done(struct gpu_tracker_texts *texts)
{
    for (size_t i = 0; i < GPU_TRACKER_OPTIONS; i++)
        free(texts->text[i]);
    *texts = (struct gpu_tracker_texts){ 0 };
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
    uint64_t count = 0;

    if (text && (parse_whole_u64(text, &count) < 0 || count == 0 || count > CORES_MAX))
        return error_set(err, EINVAL,
                         "\"%s\" is not a valid number of expected cores. Must be a whole "
                         "number of at least 1.",
                         text);
    *ret = count;
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

static int check_all(char *const text[GPU_TRACKER_OPTIONS], struct gpu_tracker_settings *ret,
                     struct spoor_error *err)
{
    int r = check_sleep_time(text[GPU_TRACKER_SLEEP_TIME], &ret->sleep_seconds, err);

    if (r == 0)
        r = check_cores(text[GPU_TRACKER_CORES], &ret->expected_core_count, err);
    if (r == 0)
        r = check_unit(text[GPU_TRACKER_RAM_UNIT], usage_memory_units, "gigabytes", "RAM",
                       &ret->ram_unit, err);
    if (r == 0)
        r = check_unit(text[GPU_TRACKER_GPU_RAM_UNIT], usage_memory_units, "gigabytes",
                       "GPU RAM", &ret->gpu_ram_unit, err);
    if (r == 0)
        r = check_unit(text[GPU_TRACKER_TIME_UNIT], usage_time_units, "hours", "time",
                       &ret->time_unit, err);
    if (r == 0 && text[GPU_TRACKER_TRACKING_FILE])
        r = tracking_file_check_name(text[GPU_TRACKER_TRACKING_FILE], err);
    if (r == 0)
        r = check_brand(text[GPU_TRACKER_GPU_BRAND], err);
    if (r == 0)
        r = gpu_tracker_format_parse(text[GPU_TRACKER_FORMAT], &ret->style.format, err);
    if (r == 0)
        r = check_spelling(text[GPU_TRACKER_SPELLING], &ret->style.is_descendents, err);
    return r;
}

int gpu_tracker_settings_make(const struct gpu_tracker_texts *texts,
                              struct gpu_tracker_settings *ret, struct spoor_error *err)
{
    char *const *text = texts->text;
    struct gpu_tracker_settings settings = {
        .command = text[GPU_TRACKER_EXECUTE],
        .output_path = text[GPU_TRACKER_OUTPUT],
        .gpu_uuids = text[GPU_TRACKER_GPU_UUIDS],
        .gpu_brand = text[GPU_TRACKER_GPU_BRAND],
        .tracking_path = text[GPU_TRACKER_TRACKING_FILE],
        .is_silent = text[GPU_TRACKER_DISABLE_LOGS] != NULL,
        .overwrites = text[GPU_TRACKER_OVERWRITE] != NULL,
        .propagates = text[GPU_TRACKER_PROPAGATE] != NULL,
    };
    int r = check_all(text, &settings, err);

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
