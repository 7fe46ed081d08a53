/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the commands of spoor, as a table. */
#ifndef FRONT_COMMON_COMMAND_H
#define FRONT_COMMON_COMMAND_H

#include <stddef.h>

#include "front/common/settings.h"

struct command {
    const char *name;
    unsigned scope;       /* OPTION_RUN, ...; 0: it has no options */
    const char *operands; /* as in "spoor run [OPTIONS] <operands>" */
    const char *summary;  /* one phrase, for the list of commands */
    const char *about;    /* a few sentences, for its own help */
    const char *example;
    bool is_hidden; /* from the list of commands and the completion: for programs, not people */
    /* argv[0] is the command's name. Returns the exit code. */
    int (*main)(const struct command *command, int argc, char **argv);
};

/* Ended by a row without a name. */
extern const struct command commands[];

/* NULL: there is no such command. */
const struct command *command_find(const char *name);

/* Reads the settings; *ret is the index of the first operand. Returns -1 to go on, or
 * the exit code: the help or version was shown, or something was refused. */
int command_begin(const struct command *command, int argc, char **argv,
                  struct cli_settings *settings, int *ret);

/* Shows the help or version that was asked for instead of work. Returns the exit code. */
int command_show(const struct command *command, enum cli_action action);

/* Shows the version. Returns the exit code. */
int command_version(void);

/* Says that `word` is no command, and what was probably meant. Returns the exit code. */
int command_refuse(const char *word);

int command_run(const struct command *command, int argc, char **argv);
int command_attach(const struct command *command, int argc, char **argv);
int command_agent(const struct command *command, int argc, char **argv);
int command_doctor(const struct command *command, int argc, char **argv);
int command_info(const struct command *command, int argc, char **argv);
int command_phase(const struct command *command, int argc, char **argv);
int command_report(const struct command *command, int argc, char **argv);
int command_help(const struct command *command, int argc, char **argv);

#endif
