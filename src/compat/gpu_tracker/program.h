/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program gpu-tracker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "compat/gpu_tracker/report.h"
#include "front/option.h"
#include "front/program.h"
#include "spoor/spoor.h"

/* ---- the command as one string ------------------------------------------ */

/* Splits a text into words at blanks. Quotes and backslashes work as in a POSIX shell;
 * variables, patterns and pipes do not. A text with an unclosed quote ("echo it's") or a
 * backslash at its end is split at blanks only, as the predecessor does. The words are added to
 * *ret, which the caller frees. 0 or -ENOMEM. */
int words_split(const char *text, struct text_list *ret, struct spoor_error *err);

/* ---- options ------------------------------------------------------------
 *
 * Options are first stored as texts, from the command line or the config file. Before anything
 * runs, all are checked, in the order in which the predecessor checks them.
 */

/* The commands that have an option: bits of option.flags. */
enum { GPU_TRACKER_TRACK = 1u << 0, GPU_TRACKER_AGENT = 1u << 1 };

/* A zeroed struct is empty. */
struct gpu_tracker_settings {
    /* The options as they were given; NULL: not given. The texts are owned. */
    char *command;     /* NULL for an agent */
    char *output_path; /* NULL: stdout */
    char *format;
    char *config_path;
    char *sleep_time;
    char *ram_unit_name, *gpu_ram_unit_name, *time_unit_name;
    char *core_count;
    char *gpu_uuids;     /* separated by commas; NULL: all */
    char *gpu_brand;     /* NULL: any */
    char *tracking_path; /* NULL: none */
    char *spelling;
    char *pid; /* process that an agent tracks */
    bool is_check;
    bool is_silent; /* no warnings */
    bool overwrites;
    bool propagates; /* exit with the exit code of the command */

    /* Set when all options are checked: */
    struct text_list words; /* the words of the command; empty for an agent */
    struct report_style style;
    double sleep_seconds; /* at most an hour */
    const struct usage_unit *ram_unit, *gpu_ram_unit, *time_unit;
    uint64_t expected_core_count; /* 0: all cores of the machine */
};

void gpu_tracker_settings_done(struct gpu_tracker_settings *settings);

/* ---- the program -------------------------------------------------------- */

extern const struct program gpu_tracker_program;

/* Print messages in the form of the predecessor's log. gpu_tracker_error() returns 1, the exit
 * code. */
#define gpu_tracker_error(...) program_complain(&gpu_tracker_program, __VA_ARGS__)
#define gpu_tracker_warning(...) program_warn(&gpu_tracker_program, __VA_ARGS__)

/* ---- sub-track combine|analyze|compare ---------------------------------- */

/* The commands that have an option: bits of option.flags. */
enum {
    SUBTRACK_COMBINE = 1u << 0,
    SUBTRACK_ANALYZE = 1u << 1,
    SUBTRACK_COMPARE = 1u << 2,
    SUBTRACK_EVERY = SUBTRACK_COMBINE | SUBTRACK_ANALYZE | SUBTRACK_COMPARE
};

extern const struct option_table subtrack_table;
extern const struct command subtrack_commands[];

/* Runs a command of sub-track. Returns the exit code: 0 or 1. */
int subtrack_main(const struct command *command, int argc, char **argv);

/* Runs the agent of sub-track, see subtrack.c. Returns the exit code. */
int subtrack_agent(int argument_count);
