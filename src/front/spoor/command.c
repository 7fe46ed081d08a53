/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - the table of commands, and what they have in common. */
#include "front/common/command.h"

#include <stdio.h>
#include <string.h>

#include "front/common/help.h"
#include "front/common/message.h"

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
        .name = "agent",
        .scope = OPTION_AGENT,
        .operands = "",
        .summary = "track the process that started it, told by lines what to do",
        .about = "Tracks a process as attach does, for the program that started it: lines on "
                 "standard input say what to do, answers go to standard output, one JSON "
                 "object a line. It ends with the line 'stop', or when its input ends. Exit "
                 "code: 0; 125 if there was nothing to track.",
        .is_hidden = true,
        .main = command_agent,
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
        .name = "info",
        .scope = OPTION_INFO,
        .operands = "",
        .summary = "say what machine this is, and what GPUs it has",
        .about =
            "Says what machine this is, what a job may use of it, and what GPUs it has: the "
            "numbers and UUIDs that --gpus takes.",
        .main = command_info,
    },
    {
        .name = "phase",
        .scope = OPTION_PHASE,
        .operands = "start|stop NAME",
        .summary = "note that the calling job starts or stops a phase",
        .about = "Adds a row to a file: the calling process, the name, start or stop, and the "
                 "time. For any language; 'gpu-tracker sub-track analyze' says what each phase "
                 "used. Several processes may write to one file. Exit code: 0; 125 if the row "
                 "could not be written.",
        .example = "spoor phase start load; ./load.sh; spoor phase stop load",
        .main = command_phase,
    },
    {
        .name = "report",
        .scope = OPTION_REPORT,
        .operands = "FILE",
        .summary = "show a stored JSON report again",
        .about =
            "Reads a report that was written as JSON (- is stdin) and writes it to stdout as "
            "text, or in another format. Exit code: 0; 125 if it could not be read or "
            "written.",
        .example = "spoor report -f csv report.json",
        .main = command_report,
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

int command_version(void)
{
    return printf("spoor %s\n", spoor_version()) < 0;
}

int command_show(const struct command *command, enum cli_action action)
{
    if (action == CLI_SHOW_VERSION)
        return command_version();
    help_command(stdout, command);
    return 0;
}

int command_begin(const struct command *command, int argc, char **argv,
                  struct cli_settings *settings, int *ret)
{
    struct spoor_error err;
    int r = settings_load(settings, command->scope, argc, argv, &err);

    if (r < 0)
        return complain("%s", err.message);
    if (settings->action != CLI_WORK)
        return command_show(command, settings->action);
    *ret = r;
    return -1;
}
