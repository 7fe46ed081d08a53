/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what the user asked for, and the table of options that says it.
 *
 * Each setting is taken from the first of: the option, the variable SPOOR_<NAME>,
 * the config file, the default.
 */
#ifndef FRONT_COMMON_SETTINGS_H
#define FRONT_COMMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "front/common/option.h"
#include "spoor/spoor.h"

#define SETTINGS_TAGS_MAX 64

enum cli_action { CLI_WORK, CLI_SHOW_HELP, CLI_SHOW_VERSION };

/* Who gave a setting. */
enum cli_source { CLI_NOBODY, CLI_OPTION, CLI_VARIABLE, CLI_FILE };

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* The settings own their texts; NULL is "not given". */
struct cli_settings {
    enum cli_action action;
    char *output_path; /* "-": stdout */
    char *samples_path;
    char *config_path;
    char *name;
    char *phase_file; /* phase */
    char **tags;      /* "KEY=VALUE", ended by NULL; NULL: none */
    size_t tag_count;
    bool has_format; /* a format was given */
    enum spoor_format format;
    enum spoor_detail detail;
    enum spoor_cgroup cgroup;
    char *cgroup_folder; /* NULL: none was given */
    char *gpus;
    enum cli_source gpus_source;
    enum cli_color color;
    bool is_quiet;
    bool is_append;
    bool is_no_clobber;
    bool waits_for_all; /* run: until the last process of the job has ended */
    int summary_fd;     /* -1: none */
    pid_t pid;          /* attach; 0: not given */
    uint64_t interval_ns;
    uint64_t duration_ns; /* attach; 0: no end */
};

/* Every option of every command. */
extern const struct option_table settings_table;

/* A row of it as the help of a command shows it: info writes to standard output alone, and no
 * CSV. */
const struct cli_option *settings_shown(const struct cli_option *option, unsigned scope);

void settings_init(struct cli_settings *settings);
void settings_done(struct cli_settings *settings);

/* Fills settings from the command line (argv[0] is the command's name), the
 * environment and the config file. Returns the index of the first operand; for
 * attach, where options may follow the operand, all of argv is read and a PID
 * lands in settings->pid. Where an action other than CLI_WORK is asked for, nothing
 * else is read. -EINVAL and others: the message says what to do. */
int settings_load(struct cli_settings *settings, unsigned scope, int argc, char *const *argv,
                  struct spoor_error *err);

/* Takes a process id, as the operand of attach. */
int settings_set_pid(struct cli_settings *settings, const char *text, struct spoor_error *err);

#endif
