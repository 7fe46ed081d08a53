/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a program as data: its commands, its options and its conventions.
 *
 * spoor and its predecessors are one binary under several names. Their differences on the command line are in
 * struct program; the code that reads options, variables and config files, and that writes help, manual pages
 * and completion, is shared.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "front/option.h"
#include "run/track.h"

/* Exit code of spoor and of agents when they fail before the job is tracked. */
#define EXIT_OWN_FAILURE 125

/* Values of command.max_operands. REST: the first operand ends the options, and all words
 * after it are operands. MANY: any number, with options between them. */
enum { OPERANDS_REST = -1, OPERANDS_MANY = -2 };

struct settings;

struct command {
    const char *name;
    const struct option_table *options; /* NULL: none */
    unsigned scope;                     /* bits of option.flags: the options of this command */
    const char *operands;               /* as in "spoor attach [OPTIONS] PID"; NULL: none */
    int max_operands;
    const char *complete; /* the operands, as option.complete; NULL: nothing is offered */
    const char *summary;  /* a phrase, for the list of commands */
    const char *about;    /* a few sentences, for the help of the command */
    const char *notes;    /* sentences below the options; NULL: none */
    const char *example;  /* NULL: none */
    bool is_hidden;       /* not in help and completion: for programs, not people */
    /* Ignores variables and the default config file, except for OPTION_COMMON. */
    bool ignores_variables;
    const struct command *subcommands; /* ended by a row without a name; NULL: none */
    /* argv[0] is the command's name. Returns the exit code. NULL: program.main reads the settings, and
     * calls work() with them and the operands. */
    int (*main)(const struct command *command, int argc, char **argv);
    int (*work)(struct settings *settings, char **operands, int count);
};

struct program {
    const char *name;
    const char *description;            /* one sentence */
    const struct command *commands;     /* ended by a row without a name */
    const struct command *main_command; /* runs without a command word; NULL: nothing */
    int (*main)(const struct command *command, int argc, char **argv); /* for command.work */
    const char *version_prefix;     /* "spoor ", as in "spoor 0.1.0" */
    const char *environment_prefix; /* "SPOOR_"; NULL: reads no variables */
    const char *error_prefix;       /* "spoor: " */
    const char *warning_prefix;
    const char *config_file;   /* read if it exists, below $XDG_CONFIG_HOME; NULL: none */
    int failure_code;          /* exit code if the program refuses to start */
    bool allows_abbreviations; /* --form for --format */
    bool flags_take_values;    /* --quiet=no */
    bool ignores_null;         /* in a config file, null selects the default */
    bool has_full_usage;       /* usage lists every option, and errors show the usage */
};

/* Runs the command that argv[1] names. Returns the exit code. */
int program_main(const struct program *program, int argc, char **argv);

/* Finds the command of that name in a table; NULL: there is none. */
const struct command *command_find(const struct command *commands, const char *name);

/* Write a message with its prefix to stderr with one call. Control characters are replaced,
 * since a message may quote a file or a name. program_complain() returns the program's
 * failure code. */
int program_complain(const struct program *program, const char *fmt, ...) PRINTF_LIKE(2, 3);
void program_warn(const struct program *program, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Runs a command until it exits (track.h), then ends in the same way: returns the command's
 * exit code, or dies of the signal that killed the command. If the command was tracked, or
 * options->reports_untracked, calls finish(tracked, data) first. If the command cannot be run,
 * reports that and returns the exit code that a shell would: 127 if it was not found, else
 * 126. */
int program_run(const struct program *program, struct track_options *options,
                void (*finish)(const struct tracked *tracked, void *data), void *data);

/* Calls write(data), which writes a report, so that a signal can interrupt it (signals.h). If a
 * signal does, prints a message, unless that would block, and returns 1. Returns the result of
 * write() otherwise. */
int program_write_report(const struct program *program, int (*write)(void *data), void *data);

/* Reports an unknown command, with a suggestion. `line`: the command line that begins with
 * the word; NULL if its help was requested. Returns the exit code. */
int program_refuse_command(const struct program *program, const char *word,
                           const char *const *line);

struct arguments;

/* Reads all settings into the target of `arguments`. Returns -1 to go on, or the exit code:
 * the help or the version was shown, or an argument was rejected. */
int program_read(struct arguments *arguments, int argc, char **argv);

/* Shows the requested help or version. Returns the exit code. */
int program_show(const struct arguments *arguments);
