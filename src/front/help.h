/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - writes the tables of a program as help, manual pages and completion. */
#pragma once

#include <stdio.h>

#include "front/program.h"
#include "text/buffer.h"

/* ---- help --------------------------------------------------------------- */

/* Writes words to `out`, broken at spaces before column 80, each line but the first
 * indented. `column` is where the first word starts, from 0. */
void help_wrap(FILE *out, const char *text, int column, int indent);

/* Like help_wrap(), but adds the lines to a buffer. */
void help_add(const char *text, size_t column, size_t indent, struct buffer *out);

/* Writes `spoor --help`: the list of commands. */
void help_overview(FILE *out, const struct program *program);

/* Writes `spoor COMMAND --help`. */
void help_command(FILE *out, const struct program *program, const struct command *command);

/* Writes "Usage:" and how to call the command. */
void help_usage(FILE *out, const struct program *program, const struct command *command);

/* Writes the options of a command as scdoc source, for the manual page. */
void man_options(FILE *out, const struct command *command);

/* Writes the manual page of a command up to its options as scdoc source. */
void man_page(FILE *out, const struct program *program, const struct command *command);

/* Writes the list of commands for the manual page of the program as scdoc source. */
void man_commands(FILE *out, const struct program *program);

/* ---- completion ---------------------------------------------------------
 *
 * Each line is a word and, after a tab, its meaning. The shell itself completes <files>,
 * <commands> and <processes>, and after <command> N a command line that begins with word N, where
 * word 0 is the name of the program.
 */

/* `words` follow the name of the program. The last word, which may be empty, is to be
 * completed. */
void completion_write(FILE *out, const struct program *program, char **words, int count);
