/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack.c - the options of sub-track, and from them to the command. */
#include "front/gpu_tracker/subtrack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/common/help.h"
#include "front/common/option.h"
#include "front/gpu_tracker/log.h"
#include "front/gpu_tracker/subtrack_commands.h"

/* Which commands have an option: bits of cli_option.flags. */
enum { COMBINE = 1u << 0, ANALYZE = 1u << 1, COMPARE = 1u << 2, EVERY = 7 };

static const struct subcommand {
    const char *name;
    unsigned scope;
    const char *usage;
    int (*main)(const struct subtrack_settings *settings);
} subcommands[] = {
    { "combine", COMBINE, "--stf=<sub-track-file> -p <file-path>...", subtrack_combine },
    { "analyze", ANALYZE,
      "--tf=<tracking-file> --stf=<sub-track-file> [--output=<output>] [--format=<format>]",
      subtrack_analyze },
    { "compare", COMPARE,
      "[--output=<output>] [--format=<format>] [--cconfig=<config-file>] [-m "
      "<name>=<file-path>...] [--stat=<statistic>]",
      subtrack_compare },
};

/* The parser hands our settings through as the type it knows. */
static struct subtrack_settings *own(struct cli_settings *settings)
{
    return (struct subtrack_settings *)(void *)settings;
}

#define TAKE(member)                                                                         \
    static int take_##member(struct cli_settings *settings, const struct cli_option *option, \
                             const char *value, struct spoor_error *err)                     \
    {                                                                                        \
        (void)option;                                                                        \
        (void)err;                                                                           \
        own(settings)->member = value;                                                       \
        return 0;                                                                            \
    }

TAKE(output)
TAKE(format)
TAKE(tracking_file)
TAKE(sub_tracking_file)
TAKE(config)
TAKE(statistic)

static int take_path(struct cli_settings *settings, const struct cli_option *option,
                     const char *value, struct spoor_error *err)
{
    (void)option;
    (void)err;
    own(settings)->paths[own(settings)->path_count++] = value;
    return 0;
}

static int take_map(struct cli_settings *settings, const struct cli_option *option,
                    const char *value, struct spoor_error *err)
{
    const char *equals = strchr(value, '=');

    (void)option;
    if (!equals || equals == value || equals[1] == '\0')
        return error_set(err, EINVAL, "'%s' must be <name>=<file-path>", value);
    own(settings)->maps[own(settings)->map_count++] = value;
    return 0;
}

static int take_help(struct cli_settings *settings, const struct cli_option *option,
                     const char *value, struct spoor_error *err)
{
    (void)option;
    (void)value;
    (void)err;
    own(settings)->is_help = true;
    return 1;
}

/* clang-format off */
static const struct cli_option rows[] = {
{ 'o',  "output",  "<output>",         "write the report to this file instead of the screen", ANALYZE | COMPARE, take_output },
{ 'f',  "format",  "<format>",         "json or text (default text); compare reads the json of analyze", ANALYZE | COMPARE, take_format },
{ '\0', "tf",      "<tracking-file>",  "what 'gpu-tracker --tf' wrote (.csv or .sqlite)", ANALYZE, take_tracking_file },
{ '\0', "stf",     "<sub-track-file>", "when code blocks started and stopped (.csv or .sqlite): process_id, code_block_name, position (0 start, 1 stop), timestamp", COMBINE | ANALYZE, take_sub_tracking_file },
{ 'p',  "path",    "<file-path>",      "a file to combine; may be given again; a single one is a folder of them", COMBINE, take_path },
{ '\0', "cconfig", "<config-file>",    "a JSON file with the keys file_path_map and statistic", COMPARE, take_config },
{ 'm',  "map",     "<name>=<file-path>", "a name for a session, and its results in JSON; may be given again", COMPARE, take_map },
{ '\0', "stat",    "<statistic>",      "min, max, mean or std (default mean)", COMPARE, take_statistic },
{ 'h',  "help",    NULL,               "show this help", EVERY, take_help },
};
/* clang-format on */

const struct option_table gpu_tracker_subtrack_table = { rows, ARRAY_SIZE(rows), true };

void gpu_tracker_subtrack_usage(FILE *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
        fprintf(out, "    gpu-tracker sub-track %s %s\n", subcommands[i].name,
                subcommands[i].usage);
}

static void put_usage(FILE *out)
{
    fputs("Usage:\n", out);
    gpu_tracker_subtrack_usage(out);
}

static int put_help(void)
{
    put_usage(stdout);
    fputs("\nOptions:\n", stdout);
    for (size_t i = 0; i < gpu_tracker_subtrack_table.count; i++)
        help_option(stdout, &rows[i]);
    return 0;
}

static int refuse_usage(const char *message)
{
    fprintf(stderr, "%s\n", message);
    put_usage(stderr);
    return 1;
}

static const struct subcommand *find_subcommand(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
        if (name && strcmp(subcommands[i].name, name) == 0)
            return &subcommands[i];
    }
    return NULL;
}

/* Options may stand before and behind the command. */
static int read_words(int argc, char **argv, struct subtrack_settings *settings,
                      const char **ret_command, uint32_t *given, struct spoor_error *err)
{
    int next = 0;

    while (next < argc) {
        next = option_parse(&gpu_tracker_subtrack_table, EVERY, argc, argv, next,
                            (struct cli_settings *)settings, given, err);
        if (next < 0 || settings->is_help)
            return next;
        if (next < argc && *ret_command)
            return error_set(err, EINVAL, "'%s' is one word too many", argv[next]);
        if (next < argc)
            *ret_command = argv[next++];
    }
    return 0;
}

/* What belongs to another command, or is missing. */
static int check_given(const struct subcommand *command, uint32_t given,
                       const struct subtrack_settings *settings, struct spoor_error *err)
{
    for (size_t i = 0; i < gpu_tracker_subtrack_table.count; i++) {
        if (given & UINT32_C(1) << i && !(rows[i].flags & command->scope))
            return error_set(err, EINVAL, "%s has no option --%s", command->name, rows[i].name);
    }
    if (command->scope != COMPARE && !settings->sub_tracking_file)
        return error_set(err, EINVAL, "%s needs --stf", command->name);
    if (command->scope == ANALYZE && !settings->tracking_file)
        return error_set(err, EINVAL, "%s needs --tf", command->name);
    if (command->scope == COMBINE && settings->path_count == 0)
        return error_set(err, EINVAL, "%s needs -p", command->name);
    return 0;
}

int gpu_tracker_subtrack(int argc, char **argv)
{
    AUTO_FREE const char **paths = calloc((size_t)argc + 1, sizeof(*paths));
    AUTO_FREE const char **maps = calloc((size_t)argc + 1, sizeof(*maps));
    struct subtrack_settings settings = { .paths = paths, .maps = maps };
    const struct subcommand *command;
    const char *name = NULL;
    struct spoor_error err;
    uint32_t given = 0;

    if (!paths || !maps)
        return gpu_tracker_error("out of memory");
    if (read_words(argc, argv, &settings, &name, &given, &err) < 0)
        return refuse_usage(err.message);
    if (settings.is_help)
        return put_help();
    command = find_subcommand(name);
    if (!command)
        return refuse_usage(name ? "sub-track: that is no command of it"
                                 : "sub-track: say what to do");
    if (check_given(command, given, &settings, &err) < 0)
        return refuse_usage(err.message);
    return command->main(&settings);
}
