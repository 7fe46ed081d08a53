/* SPDX-License-Identifier: Apache-2.0 */
/* command_phase.c - spoor phase: record that the calling job starts or stops a phase. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "front/spoor/program.h"
#include "front/spoor/settings.h"
#include "store/sub_tracking_file.h"

#define PHASE_FILE_VARIABLE "SPOOR_PHASE_FILE"

/* From the option, the variable, or the PID. */
static char *file_name(const struct settings *settings, pid_t process)
{
    const char *variable = getenv(PHASE_FILE_VARIABLE);
    char *name;

    if (settings->phase_file)
        return strdup(settings->phase_file);
    if (variable && *variable)
        return strdup(variable);
    return asprintf(&name, "%d.csv", (int)process) < 0 ? NULL : name;
}

int command_phase(const struct command *command, int argc, char **argv)
{
    double timestamp = (double)clock_now().realtime_ns / (double)NS_PER_SECOND;
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    pid_t process = getppid(); /* the caller is in the phase, not we */
    const char *const *words = arguments.operands;
    AUTO_FREE char *path = NULL;
    struct spoor_error err;
    bool is_stop;
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.operand_count < 2)
        return complain("missing argument: spoor phase start|stop NAME");
    is_stop = strcmp(words[0], "stop") == 0;
    if (!is_stop && strcmp(words[0], "start") != 0)
        return complain("invalid argument '%s': expected start or stop", words[0]);
    if (*words[1] == '\0')
        return complain("the name of the phase must not be empty");
    path = file_name(&settings, process);
    if (!path)
        return complain("out of memory");
    if (sub_tracking_append(path, process, words[1], is_stop, timestamp, &err) < 0)
        return complain("%s", err.message);
    return 0;
}
