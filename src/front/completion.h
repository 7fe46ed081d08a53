/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - completion scripts for shells, written from the tables of a program.
 *
 * completion.c has what the shells share; there is a file for each shell. All of them
 * complete the value of an option, the operands of a command, the options, and after
 * `spoor run` the command to run, as the shell would without spoor.
 */
#ifndef FRONT_COMPLETION_H
#define FRONT_COMPLETION_H

#include <stdio.h>

#include "front/program.h"

/* Writes the script for "bash", "zsh" or "fish". -EINVAL: another shell. */
int completion_write(FILE *out, const struct program *program, const char *shell);

void completion_bash(FILE *out, const struct program *program);
void completion_zsh(FILE *out, const struct program *program);
void completion_fish(FILE *out, const struct program *program);

/* ---- for the files of the shells ---- */

enum offer { OFFER_NOTHING, OFFER_WORDS, OFFER_FILES, OFFER_COMMANDS, OFFER_PROCESSES };
enum { OFFER_COUNT = OFFER_PROCESSES + 1 };

/* What to offer for the value of an option, or for the operands of a command. */
enum offer completion_offer(const struct option *option);
enum offer completion_operands(const struct command *command);

/* Must a value follow the option? */
bool completion_takes_value(const struct command *command, const struct option *option);

/* The words of OFFER_WORDS, separated by spaces. */
void completion_put_words(FILE *out, const struct option *option);

/* The names of the options that take a value, short and long, with `separator` between two. */
void completion_put_value_options(FILE *out, const struct command *command,
                                  const char *separator);

/* A name as part of the name of a function: "gpu_tracker". */
void completion_put_identifier(FILE *out, const char *name);

/* How many bytes of a help text to show beside a name: up to the first comma, semicolon, colon or
 * parenthesis. */
int completion_short_help(const char *help);

/* The next command that is for people, from `each` on; NULL: none is left. */
const struct command *completion_next(const struct command *each);

#endif
