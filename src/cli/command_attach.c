/* SPDX-License-Identifier: Apache-2.0 */
/* command_attach.c - spoor attach: track a process that is not ours. */
#include <errno.h>

#include "base/compiler.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/outputs.h"
#include "cli/session_options.h"
#include "run/watch.h"

static void cleanup_session(spoor_session **session)
{
    *session = spoor_session_close(*session);
}

static int follow(const struct cli_settings *settings, const struct outputs *outputs,
                  struct watch *watch)
{
    CLEANUP(cleanup_session) spoor_session *session = NULL;
    struct spoor_options options = session_options(settings);
    enum watch_end end = WATCH_INTERRUPTED;
    struct spoor_error err = { 0 };
    int wait_status;

    options.pid = settings->pid;
    if (spoor_session_open(&options, &session, &err) < 0 ||
        spoor_session_start(session, &err) < 0)
        return complain("%s", err.message);
    if (watch_wait(watch, settings->duration_ns, &end, &err) < 0)
        complain("%s", err.message);
    if (spoor_session_stop(session, &err) < 0)
        complain("%s", err.message);
    if (end == WATCH_PROCESS_ENDED && watch_wait_status(watch, &wait_status) == 0)
        spoor_session_set_wait_status(session, wait_status);
    outputs_write(outputs, session);
    return 0;
}

int command_attach(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err;
    struct watch watch;
    int operand = 0;
    int code;

    settings_init(&settings);
    code = command_begin(command, argc, argv, &settings, &operand);
    if (code >= 0)
        return code;
    if (settings.pid == 0)
        return complain("no process given: spoor attach [OPTIONS] PID");
    if (outputs_plan(&settings, &outputs, &err) < 0 ||
        watch_open(settings.pid, &watch, &err) < 0)
        return complain("%s", err.message);
    code = follow(&settings, &outputs, &watch);
    watch_close(&watch);
    return code;
}
