/* SPDX-License-Identifier: Apache-2.0 */
/* command_attach.c - spoor attach: track a process that is already running. */
#include "base/compiler.h"
#include "front/attachment.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/live.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"
#include "run/process.h"
#include "text/escape.h"

/* "process 4242 (python3)", or the name of the run or cgroup. */
static void write_title(const struct settings *settings, struct buffer *out)
{
    struct pid_stat process = { 0 };
    struct root root = ROOT_CLOSED;

    if (settings->name || settings->cgroup) {
        escape_terminal(settings->name ? settings->name : settings->cgroup, out);
        return;
    }
    buffer_format(out, "process %d", (int)settings->pid);
    if (root_open(NULL, &root) == 0 &&
        pid_stat_read_once(&root, settings->pid, &process) == 0) {
        buffer_add_text(out, " (");
        escape_terminal(process.comm, out);
        buffer_add_text(out, ")");
    }
    root_close(&root);
}

static struct live *begin_live(const struct settings *settings, struct spoor_options *options)
{
    struct buffer title = { 0 };
    struct live *live;

    write_title(settings, &title);
    live = live_begin(settings, LIVE_JOB, title.text ? title.text : "", options);
    buffer_done(&title);
    return live;
}

static int follow(const struct settings *settings, const struct outputs *outputs)
{
    CLEANUP(live_cleanup) struct live *live = NULL; /* after the session */
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    struct spoor_error err = { 0 };
    int code;

    options.pid = settings->pid;
    if (settings->cgroup) {
        options.flags |= SPOOR_TRACK_CGROUP;
        options.cgroup_folder = settings->cgroup;
        options.name = settings->name ? settings->name : settings->cgroup;
    }
    if (gpus_check(settings, &err) < 0)
        return complain("%s", err.message);
    live = begin_live(settings, &options);
    code = attachment_follow(&spoor_program, &options, settings->duration_ns, live_end_fd(live),
                             outputs_reader_fd(settings), &attachment);
    live_stop(live);
    if (code == 0)
        outputs_write(outputs, attachment.session);
    return code;
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
    if (settings.pid == 0 && !settings.cgroup)
        return complain("missing PID: spoor attach [OPTIONS] PID");
    if (outputs_plan(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return follow(&settings, &outputs);
}
