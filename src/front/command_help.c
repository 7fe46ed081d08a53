/* SPDX-License-Identifier: Apache-2.0 */
/* command_help.c - spoor help, and the answer to a word that is no command. */
#include <stdio.h>
#include <string.h>

#include "front/common/command.h"
#include "front/common/help.h"
#include "front/common/message.h"
#include "front/common/nearest.h"
#include "front/gpu_tracker/options.h"
#include "front/gpu_tracker/subtrack.h"

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

/* The manual's options of a command, or of a table of gpu-tracker. */
static int show_man_options(const char *topic)
{
    const struct command *found = command_find(topic);

    if (strcmp(topic, "gpu-tracker") == 0)
        help_man_table(stdout, &gpu_tracker_table);
    else if (strcmp(topic, "sub-track") == 0)
        help_man_table(stdout, &gpu_tracker_subtrack_table);
    else if (found)
        help_man_options(stdout, found);
    else
        return command_refuse(topic);
    return 0;
}

static int show_completion(const char *program)
{
    if (strcmp(program, "gpu-tracker") == 0)
        help_completion_gpu_tracker(stdout);
    else
        help_completion_bash(stdout);
    return 0;
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
    if (strcmp(topic, "--completion") == 0 && argc >= 3 && strcmp(argv[2], "bash") == 0)
        return show_completion(argc > 3 ? argv[3] : "spoor");
    if (strcmp(topic, "--man-options") == 0 && argc == 3)
        return show_man_options(argv[2]);
    found = command_find(topic);
    if (!found)
        return command_refuse(topic);
    help_command(stdout, found);
    return 0;
}
