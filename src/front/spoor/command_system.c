/* SPDX-License-Identifier: Apache-2.0 */
/* command_system.c - spoor system: what the machine is doing, without a job. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "front/attachment.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/live.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"
#include "text/escape.h"

struct report {
    const struct outputs *outputs;
    spoor_session *session;
};

static int write_report(void *data)
{
    const struct report *report = data;
    struct spoor_error err = { 0 };
    int code = 0;

    for (size_t i = 0; i < report->outputs->count; i++) {
        if (outputs_write_one(report->outputs, i, report->session, &err) < 0)
            code = complain("%s", err.message);
    }
    return code;
}

/* The view is for people: a report in a file, or in a format for programs, is made at once. */
static struct live *begin_live(const struct settings *settings, struct spoor_options *options)
{
    char name[HOST_NAME_MAX + 1] = "";
    struct buffer title = { 0 };
    struct live *live;

    if (!settings->stream_path && (settings->has_format || !isatty(STDOUT_FILENO) ||
                                   strcmp(settings->output_path, "-") != 0))
        return NULL;
    (void)gethostname(name, sizeof(name) - 1); /* else it has none */
    escape_terminal(settings->name ? settings->name : name, &title);
    live = live_begin(settings, LIVE_HOST, title.text ? title.text : "", options);
    buffer_done(&title);
    return live;
}

static int measure(const struct settings *settings, const struct outputs *outputs)
{
    CLEANUP(live_cleanup) struct live *live = NULL; /* after the session */
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    uint64_t duration_ns = settings->duration_ns; /* 0: no end */
    struct report report = { .outputs = outputs };
    struct spoor_error err = { 0 };
    int code;

    if (gpus_check(settings, &err) < 0)
        return complain("%s", err.message);
    live = begin_live(settings, &options);
    if (duration_ns == 0 && !live && !settings->stream_path)
        duration_ns = settings->interval_ns;
    code = attachment_follow(&spoor_program, &options, duration_ns, live_end_fd(live),
                             outputs_reader_fd(settings), &attachment);
    live_stop(live);
    report.session = attachment.session;
    if (code == 0 && settings->stream_path)
        outputs_write(outputs, attachment.session);
    else if (code == 0)
        code = program_write_report(&spoor_program, write_report, &report);
    return code;
}

int command_system(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments;
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    struct spoor_error err;
    int code = settings_begin(&settings, &arguments, command, argc, argv);

    if (code >= 0)
        return code;
    if (settings.stream_path ? outputs_plan(&settings, &outputs, &err) < 0
                             : outputs_plan_stdout(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return measure(&settings, &outputs);
}
