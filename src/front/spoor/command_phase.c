/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_phase.c - spoor phase: marks the start or end of a phase of the calling job.
 *
 * The runs that the caller is part of are told, and their reports have the phase. A file gets a row
 * if one is named, or if there is no such run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "front/spoor/program.h"
#include "front/spoor/settings.h"
#include "run/job_socket.h"
#include "run/process.h"

#define PHASE_FILE_VARIABLE "SPOOR_PHASE_FILE"

/* From the option or the variable; NULL: none is named. */
static const char *named_file(const struct settings *settings)
{
    const char *variable = getenv(PHASE_FILE_VARIABLE);

    if (settings->phase_file)
        return settings->phase_file;
    return variable && *variable ? variable : NULL;
}

/* A file for the calling process alone: its start time distinguishes it from others with the same
 * PID, as in containers that share a directory. */
static int default_file(pid_t process, char **ret, struct spoor_error *err)
{
    struct pid_stat stat = { 0 };
    struct root root = ROOT_CLOSED;
    int r = root_open(NULL, &root);

    if (r == 0)
        r = pid_stat_read_once(&root, process, &stat);
    root_close(&root);
    if (r < 0)
        return error_set(err, ESRCH,
                         "cannot name a phase file for the calling process: "
                         "pass --file");
    return asprintf(ret, "%d-%llu.csv", (int)process, (unsigned long long)stat.start_ticks) < 0
               ? error_set(err, ENOMEM, "out of memory")
               : 0;
}

static void say(const char *message)
{
    complain("%s", message);
}

static int write_row(const struct settings *settings, const struct phase_mark *mark,
                     struct spoor_error *err)
{
    const char *named = named_file(settings);
    AUTO_FREE char *path = NULL;
    size_t run_count = phase_tell(mark->name, mark->is_stop, say);
    int r;

    if (named)
        return phase_file_append(named, mark, false, err);
    if (run_count > 0)
        return 0;
    r = default_file((pid_t)mark->process_id, &path, err);
    return r < 0 ? r : phase_file_append(path, mark, true, err);
}

int command_phase(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    const char *const *words = arguments.operands;
    struct phase_mark mark = {
        .process_id = getppid(), /* the caller is in the phase, not we */
        .timestamp = (double)clock_now().realtime_ns / (double)NS_PER_SECOND,
    };
    struct spoor_error err;
    int code;

    (void)prctl(PR_SET_NAME, SPOOR_AGENT_NAME); /* we are not part of the job; cannot fail */
    code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (arguments.operand_count < 2)
        return complain("missing argument: spoor phase start|stop NAME");
    mark.is_stop = strcmp(words[0], "stop") == 0;
    if (!mark.is_stop && strcmp(words[0], "start") != 0)
        return complain("invalid argument '%s': expected start or stop", words[0]);
    if (*words[1] == '\0')
        return complain("the name of the phase must not be empty");
    mark.name = words[1];
    return write_row(&settings, &mark, &err) < 0 ? complain("%s", err.message) : 0;
}
