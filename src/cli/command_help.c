/* SPDX-License-Identifier: Apache-2.0 */
/* command_help.c - spoor help, and the answer to a word that is no command. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/nearest.h"

int command_refuse(const char *word)
{
    struct nearest nearest = NEAREST_TO(word);
    const char *near;

    if (word[0] == '-')
        return complain("options stand behind the command: spoor run %s ... -- COMMAND", word);
    for (const struct command *command = commands; command->name; command++)
        nearest_offer(&nearest, command->name);
    near = nearest_get(&nearest);
    if (near)
        return complain("'%s' is not a command of spoor; did you mean 'spoor %s'?", word, near);
    return complain("'%s' is not a command of spoor; to track it: spoor run -- %s", word, word);
}

/* Shows what --man-options, --completion or a name asks for; these two are for the
 * build, and so are not listed. */
int command_help(const struct command *command, int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : NULL;
    const struct command *found;

    (void)command;
    if (!topic || strcmp(topic, "--help") == 0 || strcmp(topic, "-h") == 0) {
        help_overview(stdout);
        return 0;
    }
    if (strcmp(topic, "--completion") == 0 && argc == 3 && strcmp(argv[2], "bash") == 0) {
        help_completion_bash(stdout);
        return 0;
    }
    if (strcmp(topic, "--man-options") == 0 && argc == 3) {
        found = command_find(argv[2]);
        if (!found)
            return command_refuse(argv[2]);
        help_man_options(stdout, found);
        return 0;
    }
    found = command_find(topic);
    if (!found)
        return command_refuse(topic);
    help_command(stdout, found);
    return 0;
}
