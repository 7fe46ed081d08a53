/* SPDX-License-Identifier: Apache-2.0 */
/* command_help.c - spoor help: the help of a command, or the list of commands. */
#include <stdio.h>
#include <string.h>

#include "front/help.h"
#include "front/spoor/program.h"

int command_help(const struct command *command, int argc, char **argv)
{
    const char *topic = argc > 1 ? argv[1] : NULL;

    if (!topic || strcmp(topic, "--help") == 0 || strcmp(topic, "-h") == 0) {
        help_overview(stdout, &spoor_program);
        return 0;
    }
    command = command_find(spoor_program.commands, topic);
    if (!command)
        return program_refuse_command(&spoor_program, topic, NULL);
    if (argc > 2)
        return complain("unexpected argument '%s'", argv[2]);
    help_command(stdout, &spoor_program, command);
    return 0;
}
