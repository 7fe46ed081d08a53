/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/subtrack.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/subtrack/commands.h"
#include "front/arguments.h"

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

/* The config file is that of compare. Its sessions are a list of their own: those of -m are
 * added to them. */
/* clang-format off */
static const struct option rows[] = {
{ '\0', "tf",      "<tracking-file>",  "the file written by 'gpu-tracker --tf' (.csv or .sqlite)", ANALYZE | NO_FILE | OPTION_REQUIRED, TEXT(tracking_file), .complete = COMPLETE_FILES },
{ '\0', "stf",     "<sub-track-file>", "the file of code block starts and stops (.csv or .sqlite), with the columns process_id, code_block_name, position (0: start, 1: stop) and timestamp; combine creates it", COMBINE | ANALYZE | NO_FILE | OPTION_REQUIRED, TEXT(sub_tracking_file), .complete = COMPLETE_FILES },
{ 'p',  "path",    "<file-path>",      "a sub-tracking file to combine; may be repeated. If only one is given, it is a directory whose files are combined", COMBINE | NO_FILE | OPTION_REQUIRED | OPTION_REPEATABLE, LIST(paths), .complete = COMPLETE_FILES },
{ 'o',  "output",  "<output>",         "write the report to this file instead of stdout", ANALYZE | COMPARE | NO_FILE, TEXT(output), .complete = COMPLETE_FILES },
{ 'f',  "format",  "<format>",         "format of the report: text (default) or json; compare reads the json of analyze", ANALYZE | COMPARE | NO_FILE, TEXT(format), .complete = "text json" },
{ '\0', "cconfig", "<config-file>",    "read file_path_map and statistic from a JSON file; options override them", COMPARE | NO_FILE | OPTION_CONFIG_FILE, TEXT(config), .complete = COMPLETE_FILES },
{ 'm',  "map",     "<name>=<file-path>", "a name for a tracking session and the JSON file with its results; may be repeated", COMPARE | NO_FILE | OPTION_REPEATABLE, LIST(maps), .check = check_map, .complete = COMPLETE_FILES },
{ '\0', "file_path_map", "", "", COMPARE | OPTION_FILE_ONLY | OPTION_REPEATABLE, LIST(config_maps), .check = check_map },
{ '\0', "stat",    "<statistic>",      "the statistic to compare: min, max, mean (default) or std", COMPARE | OPTION_FILE_STRING, TEXT(statistic), .key = "statistic", .complete = "min max mean std" },
{ 'h',  "help",    NULL,               "show this help and exit", SUBTRACK_EVERY | NO_FILE, .apply = option_help },
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
    int code = program_read(&arguments, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.command->scope == COMBINE)
        return subtrack_combine(&settings);
    if (arguments.command->scope == ANALYZE)
        return subtrack_analyze(&settings);
    return subtrack_compare(&settings);
}
