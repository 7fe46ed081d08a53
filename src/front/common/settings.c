/* SPDX-License-Identifier: Apache-2.0 */
#include "front/common/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/parse.h"
#include "front/common/duration.h"
#include "output/stream.h"

#define DURATION_MAX_NS (366 * 86400 * NS_PER_SECOND)

void settings_init(struct cli_settings *settings)
{
    const struct spoor_options defaults = SPOOR_OPTIONS_INIT;

    *settings = (struct cli_settings){
        .interval_ns = defaults.interval_ns,
        .detail = defaults.detail,
        .cgroup = defaults.cgroup,
        .summary_fd = -1,
    };
}

void settings_done(struct cli_settings *settings)
{
    for (size_t i = 0; i < settings->tag_count; i++)
        free(settings->tags[i]);
    free(settings->tags);
    free(settings->output_path);
    free(settings->samples_path);
    free(settings->config_path);
    free(settings->name);
    free(settings->phase_file);
    free(settings->cgroup_folder);
    free(settings->gpus);
    settings_init(settings);
}

static int set_text(char **place, const char *value, struct spoor_error *err)
{
    char *copy;

    if (*value == '\0')
        return error_set(err, EINVAL, "the value is empty");
    copy = strdup(value);
    if (!copy)
        return error_set(err, ENOMEM, "out of memory");
    free(*place);
    *place = copy;
    return 0;
}

static int apply_help(struct cli_settings *settings, const struct cli_option *option,
                      const char *value, struct spoor_error *err)
{
    (void)option;
    (void)value;
    (void)err;
    settings->action = CLI_SHOW_HELP;
    return 1;
}

static int apply_version(struct cli_settings *settings, const struct cli_option *option,
                         const char *value, struct spoor_error *err)
{
    (void)option;
    (void)value;
    (void)err;
    settings->action = CLI_SHOW_VERSION;
    return 1;
}

static int apply_output(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    (void)option;
    return set_text(&settings->output_path, value, err);
}

static int apply_config(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    (void)option;
    return set_text(&settings->config_path, value, err);
}

static int apply_name(struct cli_settings *settings, const struct cli_option *option,
                      const char *value, struct spoor_error *err)
{
    (void)option;
    return set_text(&settings->name, value, err);
}

static int apply_file(struct cli_settings *settings, const struct cli_option *option,
                      const char *value, struct spoor_error *err)
{
    (void)option;
    return set_text(&settings->phase_file, value, err);
}

static int apply_samples(struct cli_settings *settings, const struct cli_option *option,
                         const char *value, struct spoor_error *err)
{
    (void)option;
    if (!stream_for_path(value))
        return error_set(err, EINVAL, "'%s' must end with .csv or .jsonl", value);
    return set_text(&settings->samples_path, value, err);
}

static int apply_format(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    int choice;

    if (strcmp(value, "html") == 0)
        return error_set(err, EINVAL, "html is not in this version; there are %s",
                         option->value);
    choice = option_choice(option, value, err);
    if (choice < 0)
        return choice;
    settings->has_format = spoor_format_for_name(value, &settings->format);
    return 0;
}

static int apply_detail(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    static const enum spoor_detail details[] = { SPOOR_DETAIL_AUTO, SPOOR_DETAIL_ALWAYS,
                                                 SPOOR_DETAIL_NEVER };
    int choice = option_choice(option, value, err);

    if (choice < 0)
        return choice;
    settings->detail = details[choice];
    return 0;
}

/* One of the three words, or a folder, which has a slash in it. */
static int apply_cgroup(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    static const char *const words[] = { "auto", "off", "require" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            settings->cgroup = (enum spoor_cgroup)i;
            return 0;
        }
    }
    if (!strchr(value, '/'))
        return error_set(err, EINVAL, "'%s' is none of %s", value, option->value);
    settings->cgroup = SPOOR_CGROUP_REQUIRE;
    return set_text(&settings->cgroup_folder, value, err);
}

/* Which GPUs there are is not known before the command runs: only the letters are looked at. */
static int apply_gpus(struct cli_settings *settings, const struct cli_option *option,
                      const char *value, struct spoor_error *err)
{
    int r = spoor_check_gpus(value, err);

    (void)option;
    return r < 0 ? r : set_text(&settings->gpus, value, err);
}

static int apply_color(struct cli_settings *settings, const struct cli_option *option,
                       const char *value, struct spoor_error *err)
{
    static const enum cli_color colors[] = { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS,
                                             CLI_COLOR_NEVER };
    int choice = option_choice(option, value, err);

    if (choice < 0)
        return choice;
    settings->color = colors[choice];
    return 0;
}

static int apply_wait(struct cli_settings *settings, const struct cli_option *option,
                      const char *value, struct spoor_error *err)
{
    int choice = option_choice(option, value, err);

    if (choice < 0)
        return choice;
    settings->waits_for_all = choice == 1;
    return 0;
}

static int apply_quiet(struct cli_settings *settings, const struct cli_option *option,
                       const char *value, struct spoor_error *err)
{
    (void)option;
    return option_flag(value, &settings->is_quiet, err);
}

static int apply_append(struct cli_settings *settings, const struct cli_option *option,
                        const char *value, struct spoor_error *err)
{
    (void)option;
    return option_flag(value, &settings->is_append, err);
}

static int apply_no_clobber(struct cli_settings *settings, const struct cli_option *option,
                            const char *value, struct spoor_error *err)
{
    (void)option;
    return option_flag(value, &settings->is_no_clobber, err);
}

static int apply_tag(struct cli_settings *settings, const struct cli_option *option,
                     const char *value, struct spoor_error *err)
{
    const char *equals = strchr(value, '=');
    char **tags;

    (void)option;
    if (!equals || equals == value)
        return error_set(err, EINVAL, "'%s' is no tag: write KEY=VALUE", value);
    if (settings->tag_count == SETTINGS_TAGS_MAX)
        return error_set(err, EINVAL, "more than %d tags", SETTINGS_TAGS_MAX);
    tags = realloc(settings->tags, (settings->tag_count + 2) * sizeof(*tags));
    if (!tags)
        return error_set(err, ENOMEM, "out of memory");
    settings->tags = tags;
    tags[settings->tag_count] = strdup(value);
    if (!tags[settings->tag_count])
        return error_set(err, ENOMEM, "out of memory");
    tags[++settings->tag_count] = NULL;
    return 0;
}

/* `range` says the bounds as help does. */
static int read_time(const char *value, uint64_t min_ns, uint64_t max_ns, const char *range,
                     uint64_t *ret_ns, struct spoor_error *err)
{
    uint64_t ns;
    int r = duration_parse(value, &ns);

    if (r == -EBADMSG)
        return error_set(err, EINVAL,
                         "'%s' is not a time: write seconds (0.5) or a unit (500ms, 2m, 1h)",
                         value);
    if (r < 0 || ns < min_ns || ns > max_ns)
        return error_set(err, EINVAL, "'%s' is out of range: give %s", value, range);
    *ret_ns = ns;
    return 0;
}

static int apply_interval(struct cli_settings *settings, const struct cli_option *option,
                          const char *value, struct spoor_error *err)
{
    (void)option;
    return read_time(value, SPOOR_INTERVAL_MIN_NS, SPOOR_INTERVAL_MAX_NS, "1ms to 1h",
                     &settings->interval_ns, err);
}

static int apply_duration(struct cli_settings *settings, const struct cli_option *option,
                          const char *value, struct spoor_error *err)
{
    (void)option;
    return read_time(value, NS_PER_MS, DURATION_MAX_NS, "1ms to 366d", &settings->duration_ns,
                     err);
}

static int apply_summary_fd(struct cli_settings *settings, const struct cli_option *option,
                            const char *value, struct spoor_error *err)
{
    uint64_t fd;

    (void)option;
    if (parse_whole_u64(value, &fd) < 0 || fd > INT_MAX)
        return error_set(err, EINVAL, "'%s' is not the number of a descriptor", value);
    settings->summary_fd = (int)fd;
    return 0;
}

int settings_set_pid(struct cli_settings *settings, const char *text, struct spoor_error *err)
{
    uint64_t pid;

    if (parse_whole_u64(text, &pid) < 0 || pid == 0 || pid > INT_MAX)
        return error_set(err, EINVAL, "'%s' is not a process id", text);
    settings->pid = (pid_t)pid;
    return 0;
}

static int apply_pid(struct cli_settings *settings, const struct cli_option *option,
                     const char *value, struct spoor_error *err)
{
    (void)option;
    return settings_set_pid(settings, value, err);
}

#define RUN OPTION_RUN
#define ATTACH OPTION_ATTACH
#define BOTH (OPTION_RUN | OPTION_ATTACH)
#define ALL (OPTION_RUN | OPTION_ATTACH | OPTION_AGENT)
#define PHASE OPTION_PHASE
#define EVERY \
    (OPTION_RUN | OPTION_ATTACH | OPTION_AGENT | OPTION_DOCTOR | OPTION_INFO | OPTION_REPORT)
#define LINE_ONLY (OPTION_NO_VARIABLE | OPTION_NO_FILE)

/* In the order in which help lists them. */
/* clang-format off */
static const struct cli_option rows[] = {
{ 'o',  "output",     "FILE",              "write the report to FILE (- is stdout), besides the summary on stderr", ALL | OPTION_REPORT, apply_output },
{ 'f',  "format",     "text|json|csv",     "format of the report (default: as the name of FILE ends, else text); without -o it takes the summary's place on stderr", ALL | OPTION_INFO | OPTION_REPORT, apply_format },
{ '\0', "samples",    "FILE",              "write a row per sample to FILE, which ends with .csv or .jsonl", ALL, apply_samples },
{ 'i',  "interval",   "TIME",              "time between samples: 0.5, 500ms, 2m; 1ms to 1h (default 1s)", ALL, apply_interval },
{ 'p',  "pid",        "PID",               "the process to track, in place of the operand", ATTACH | OPTION_AGENT | OPTION_NO_FILE, apply_pid },
{ '\0', "duration",   "TIME",              "stop tracking after TIME; the process goes on", ATTACH, apply_duration },
{ '\0', "wait",       "main|all",          "the run ends with the command (main, the default), or with the last process it started (all)", RUN, apply_wait },
{ 'q',  "quiet",      NULL,                "no summary on stderr", BOTH, apply_quiet },
{ '\0', "name",       "NAME",              "what to call this run in the report", ALL, apply_name },
{ '\0', "tag",        "KEY=VALUE",         "a label for the report; may be given again", ALL | OPTION_REPEATABLE, apply_tag },
{ '\0', "append",     NULL,                "add to FILEs that exist instead of replacing them", ALL | OPTION_REPORT, apply_append },
{ '\0', "no-clobber", NULL,                "refuse to start where a FILE exists", ALL | OPTION_REPORT, apply_no_clobber },
{ '\0', "summary-fd", "N",                 "write the report to the open descriptor N too", BOTH, apply_summary_fd },
{ '\0', "detail",     "auto|always|never", "when to read private and shared memory, which slows the job: at most 0.3% of the time (auto, the default), at every sample, or never", ALL, apply_detail },
{ '\0', "cgroup",     "auto|off|require|FOLDER", "give the job a cgroup of its own, for exact figures: where that is possible (auto, the default), never, or fail without; FOLDER: make it below this one, which was delegated to you", RUN, apply_cgroup },
{ '\0', "gpus",       "LIST",              "which GPUs are the job's: all, none, or numbers, UUIDs and PCI addresses, as 0,2-3, or 0:1 for a part (MIG device), as spoor info shows them (default: as CUDA_VISIBLE_DEVICES and its like say, else all)", ALL | OPTION_INFO, apply_gpus },
{ '\0', "color",      "auto|always|never", "colour the summary; auto: on a terminal, unless NO_COLOR is set", BOTH | OPTION_DOCTOR | OPTION_REPORT, apply_color },
{ '\0', "config",     "FILE",              "read settings from a JSON file whose keys are long options", BOTH | OPTION_NO_FILE, apply_config },
{ '\0', "file",       "FILE",              "write to FILE, which ends with .csv or .sqlite (default: that of SPOOR_PHASE_FILE, else PID.csv with the calling process's PID)", PHASE | LINE_ONLY, apply_file },
{ 'h',  "help",       NULL,                "show this help", EVERY | PHASE | LINE_ONLY, apply_help },
{ 'V',  "version",    NULL,                "show the version", EVERY | PHASE | LINE_ONLY, apply_version },
};
/* clang-format on */

const struct option_table settings_table = { rows, ARRAY_SIZE(rows), false };

const struct cli_option *settings_shown(const struct cli_option *option, unsigned scope)
{
    static const struct cli_option info_format = { 'f',         "format",
                                                   "text|json", "text (the default) or json",
                                                   OPTION_INFO, apply_format };

    return scope == OPTION_INFO && option->apply == apply_format ? &info_format : option;
}
