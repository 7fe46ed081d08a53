/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program spoor: its commands, and the way to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/nearest.h"

const struct command commands[] = {
    {
        .name = "run",
        .scope = OPTION_RUN,
        .operands = "[--] COMMAND [ARGUMENT...]",
        .summary = "run a command and report what it used",
        .about = "Runs a command and reports what it, and all that it starts, uses. The "
                 "command's input, output, terminal, signals and exit code are its own. Exit "
                 "code: the command's; 128 + N if signal N ended it; 127 if it was not found, "
                 "126 if it could not be run; 125 if something was refused before it started.",
        .example = "spoor run -o report.json -- make -j8",
        .main = command_run,
    },
    {
        .name = "attach",
        .scope = OPTION_ATTACH,
        .operands = "PID",
        .summary = "track a process that is running already",
        .about = "Tracks a process that is running already, and all that it starts, until it "
                 "ends, the duration has passed, or Ctrl-C, which ends the tracking and never "
                 "the process. Exit code: 0; 125 if there was nothing to track.",
        .example = "spoor attach --duration 1m 4242",
        .main = command_attach,
    },
    {
        .name = "doctor",
        .scope = OPTION_DOCTOR,
        .operands = "",
        .summary = "say what this machine lets us measure",
        .about = "Says for each quantity which sources can be read here, why the others "
                 "cannot, and which command would change that. The best source comes first.",
        .main = command_doctor,
    },
    {
        .name = "help",
        .operands = "[COMMAND]",
        .summary = "show the help of a command",
        .about = "Shows the help of a command, or the list of commands.",
        .main = command_help,
    },
    { 0 },
};

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

static int show_version(void)
{
    return printf("spoor %s\n", spoor_version()) < 0;
}

int command_begin(const struct command *command, int argc, char **argv,
                  struct cli_settings *settings, int *ret)
{
    struct spoor_error err;
    int r = settings_load(settings, command->scope, argc, argv, &err);

    if (r < 0)
        return complain("%s", err.message);
    if (settings->action == CLI_SHOW_HELP) {
        help_command(stdout, command);
        return 0;
    }
    if (settings->action == CLI_SHOW_VERSION)
        return show_version();
    *ret = r;
    return -1;
}

static int refuse(const char *word)
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
            return refuse(argv[2]);
        help_man_options(stdout, found);
        return 0;
    }
    found = command_find(topic);
    if (!found)
        return refuse(topic);
    help_command(stdout, found);
    return 0;
}

/* Where stdin, stdout or stderr came closed, the next file we open would take its
 * number, and be written to by mistake. The stand-in closes again at exec: the job
 * finds what we found. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return; /* no /dev/null: nothing more can be done */
    }
}

int main(int argc, char **argv)
{
    const struct command *command;

    fill_standard_descriptors();
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_OWN_FAILURE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_overview(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return show_version();
    command = command_find(argv[1]);
    if (!command)
        return refuse(argv[1]);
    return command->main(command, argc - 1, argv + 1);
}
