/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_run.c - spoor run.
 *
 * All that can be refused is refused before the job exists. From then on nothing
 * of ours may fail it: without a session it runs untracked, without a place for
 * the report its exit code is still the one we return.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/outputs.h"
#include "cli/session_options.h"
#include "run/spawn.h"
#include "run/supervise.h"

/* Opens and starts a session on the child at its gate. -EINVAL and -ENOTSUP: something that the
 * user asked for cannot be had. Otherwise the job runs, and *ret is NULL where it is not
 * tracked. What failed has been said. */
static int track(const struct cli_settings *settings, pid_t pid, char **command,
                 spoor_session **ret)
{
    struct spoor_options options = session_options(settings);
    spoor_session *session = NULL;
    struct spoor_error err = { 0 };
    int r;

    options.pid = pid;
    options.flags |= SPOOR_CALLER_SPAWNED;
    options.command = (const char *const *)command;
    r = spoor_session_open(&options, &session, &err);
    if (r == 0)
        r = spoor_session_start(session, &err);
    if (r == -EINVAL || r == -ENOTSUP) {
        complain("%s", err.message);
        return r;
    }
    if (r < 0) {
        complain("the job runs untracked: %s", err.message);
        session = spoor_session_close(session);
    }
    *ret = session;
    return 0;
}

static int refuse_exec(const char *file, int code)
{
    if (code == -ENOENT && !strchr(file, '/'))
        complain("'%s': command not found", file);
    else if (code == -ENOENT && access(file, F_OK) == 0)
        complain("cannot run '%s': the interpreter it names does not exist", file);
    else
        complain("cannot run '%s': %s", file, strerror(-code));
    return code == -ENOENT ? 127 : 126;
}

static int run_job(const struct cli_settings *settings, const struct outputs *outputs,
                   char **command)
{
    struct supervise_options options = { .waits_for_all = settings->waits_for_all };
    struct spoor_error err = { 0 };
    struct spawn spawn;
    int wait_status = EXIT_OWN_FAILURE << 8;
    int r;

    if (spawn_start(command, &spawn, &err) < 0)
        return complain("%s", err.message);
    options.pid = spawn.pid;
    if (track(settings, spawn.pid, command, &options.session) < 0) {
        spawn_cancel(&spawn);
        return EXIT_OWN_FAILURE;
    }
    r = spawn_release(&spawn);
    if (r < 0) {
        spoor_session_close(options.session);
        return refuse_exec(command[0], r);
    }
    if (options.session)
        (void)spoor_session_sample(options.session, NULL); /* the next comes soon */
    if (supervise(&options, &wait_status, &err) < 0)
        complain("%s", err.message);
    if (options.session)
        outputs_write(outputs, options.session);
    spoor_session_close(options.session);
    return supervise_exit_code(wait_status);
}

int command_run(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct cli_settings settings;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err;
    int operand = 0;
    int code;

    settings_init(&settings);
    code = command_begin(command, argc, argv, &settings, &operand);
    if (code >= 0)
        return code;
    if (operand >= argc)
        return complain("no command given: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (argv[operand][0] == '\0')
        return complain("the command is empty: spoor run [OPTIONS] -- COMMAND [ARGUMENT...]");
    if (outputs_plan(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return run_job(&settings, &outputs, argv + operand);
}
