/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the settings of one command: from its command line, the environment and
 * its config file.
 *
 * Each setting is taken from the first of: the option, the variable, the config file, the
 * default. If no config file is named, the default file of the program is read, if it exists.
 *
 * Accepted on the command line: -i5, -i 5, -qi5, --interval 5, --interval=5. "--" ends the
 * options. Options may follow operands, unless the command's operands are a command line
 * (OPERANDS_REST).
 */
#pragma once

#include <stddef.h>

#include "front/program.h"

/* ---- the command line --------------------------------------------------- */

enum setting_source { SET_BY_NOTHING, SET_BY_OPTION, SET_BY_VARIABLE, SET_BY_FILE };

/* The caller sets the first three members. */
struct arguments {
    const struct program *program;
    const struct command *command; /* once parsed: the subcommand, if the command has any */
    void *target;                  /* the struct that the options set */

    enum option_action action;
    enum setting_source sources[OPTIONS_MAX]; /* indexed by row of the option table */
    char **operands;                          /* a part of argv */
    int operand_count;
    bool is_restricted; /* a config file sets OPTION_COMMON only */
    int first_operand;  /* index of the first operand in argv */

    /* the command line, while it is read */
    int argc, next; /* `next`: index of the word to read next */
    char **argv;
    bool has_ended_options; /* by "--" */
};

#define ARGUMENTS_INIT(program_, command_, target_) \
    ((struct arguments){ .program = (program_), .command = (command_), .target = (target_) })

/* Reads the command line; argv[0] is the command's name. If the help or version is requested, reading
 * stops there and `action` is set. Moves operands between options to the front of argv. -EINVAL: the message names the
 * option. */
int arguments_parse(struct arguments *arguments, int argc, char **argv,
                    struct spoor_error *err);

/* Sets the options that the command line does not set, from variables and then the config file. A
 * message names the variable, or the file and its key. */
int arguments_complete(struct arguments *arguments, struct spoor_error *err);

/* Returns where the value of an option comes from. */
enum setting_source arguments_source(const struct arguments *arguments, const char *name);

/* Applies one value to the target: checks it, then stores it. */
int arguments_apply(struct arguments *arguments, const struct option *option, const char *value,
                    struct spoor_error *err);

/* ---- the config file ----------------------------------------------------
 *
 *     { "interval": "500ms", "format": "json", "quiet": true, "tag": { "team": "blue" } }
 *
 * A key is the long name of an option, or the `key` of its row. Values are written as on the command line, so
 * the same code checks both. A repeatable option takes a string, a list of strings, or an object, whose
 * members are KEY=VALUE. One file may serve all commands: keys of other commands are ignored,
 * unknown keys are refused.
 */

#define CONFIG_MAX_BYTES (1u << 20)

/* Applies the file to options that are not set yet. The message starts with the file's name. */
int config_read(struct arguments *arguments, const char *path, struct spoor_error *err);

/* Like config_read(), but reads the contents of a config file; messages call the file
 * `path`. */
int config_read_text(struct arguments *arguments, const char *path, const char *text,
                     size_t length, struct spoor_error *err);
