/* SPDX-License-Identifier: Apache-2.0 */
/* command_attach.c - spoor attach: track a process that is already running. */
#include "base/compiler.h"
#include "front/common/attachment.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"

static int follow(const struct settings *settings, const struct outputs *outputs)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    enum watch_end end = WATCH_INTERRUPTED;
    struct spoor_error err = { 0 };

    options.pid = settings->pid;
    if (gpus_check(settings, &err) < 0 || attachment_open(&options, &attachment, &err) < 0)
        return complain("%s", err.message);
    if (watch_wait(&attachment.watch, settings->duration_ns, &end, &err) < 0)
        complain("%s", err.message);
    if (attachment_stop(&attachment, end, &err) < 0)
        complain("%s", err.message);
    outputs_write(outputs, attachment.session);
    return 0;
}

int command_attach(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err;
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (settings.pid == 0)
        return complain("missing PID: spoor attach [OPTIONS] PID");
    if (outputs_plan(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return follow(&settings, &outputs);
}
