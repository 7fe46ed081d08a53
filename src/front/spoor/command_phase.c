/* SPDX-License-Identifier: Apache-2.0 */
/* command_phase.c - spoor phase: a job says which code block it is in, in any language. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "front/common/command.h"
#include "front/common/message.h"
#include "store/sub_tracking_file.h"

#define PHASE_FILE_VARIABLE "SPOOR_PHASE_FILE"

/* start or stop, and a name. */
struct words {
    const char *texts[2];
    int count;
};

/* Options may stand before, between and behind the words. */
static int read_words(int argc, char **argv, struct cli_settings *settings, struct words *ret,
                      struct spoor_error *err)
{
    uint32_t given = 0;
    int next = 1;

    while (next < argc) {
        next = option_parse(&settings_table, OPTION_PHASE, argc, argv, next, settings, &given,
                            err);
        if (next < 0 || settings->action != CLI_WORK)
            return next;
        if (next < argc && ret->count == 2)
            return error_set(err, EINVAL, "'%s' is one word too many: quote a name with blanks",
                             argv[next]);
        if (next < argc)
            ret->texts[ret->count++] = argv[next++];
    }
    if (ret->count < 2)
        return error_set(err, EINVAL, "write: spoor phase start|stop NAME");
    if (*ret->texts[1] == '\0')
        return error_set(err, EINVAL, "the name of the phase is empty");
    return 0;
}

/* The option, the variable, or the process itself. */
static char *file_name(const struct cli_settings *settings, pid_t process)
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
    CLEANUP(settings_done) struct cli_settings settings;
    pid_t process = getppid(); /* who calls us is in the phase, not we */
    struct words words = { { "", "" }, 0 };
    AUTO_FREE char *path = NULL;
    struct spoor_error err;
    bool is_stop;

    settings_init(&settings);
    if (read_words(argc, argv, &settings, &words, &err) < 0)
        return complain("%s", err.message);
    if (settings.action != CLI_WORK)
        return command_show(command, settings.action);
    is_stop = strcmp(words.texts[0], "stop") == 0;
    if (!is_stop && strcmp(words.texts[0], "start") != 0)
        return complain("'%s' is neither start nor stop: spoor phase start|stop NAME",
                        words.texts[0]);
    path = file_name(&settings, process);
    if (!path)
        return complain("out of memory");
    if (sub_tracking_append(path, process, words.texts[1], is_stop, timestamp, &err) < 0)
        return complain("%s", err.message);
    return 0;
}
