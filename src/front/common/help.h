/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - what the tables of commands and options say, for people and programs. */
#ifndef FRONT_COMMON_HELP_H
#define FRONT_COMMON_HELP_H

#include <stdio.h>

#include "front/common/command.h"

/* Writes words to `out`, broken at spaces before column 80, each line but the first
 * indented. `column` is where the first word starts, from 0. */
void help_wrap(FILE *out, const char *text, int column, int indent);

/* `spoor --help`. */
void help_overview(FILE *out);

/* `spoor COMMAND --help`. */
void help_command(FILE *out, const struct command *command);

/* One row of a table of options, as it stands in a help. */
void help_option(FILE *out, const struct cli_option *option);

/* The options of a command as scdoc source, for the manual page; or all of a table. */
void help_man_options(FILE *out, const struct command *command);
void help_man_table(FILE *out, const struct option_table *table);

/* Completion scripts for bash, of spoor and of gpu-tracker. */
void help_completion_bash(FILE *out);
void help_completion_gpu_tracker(FILE *out);

#endif
