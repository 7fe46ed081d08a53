/* SPDX-License-Identifier: Apache-2.0 */
/* command_system.c - spoor system: what the machine is doing, without a job. */
#include "base/compiler.h"
#include "front/common/attachment.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"

struct report {
    const struct outputs *outputs;
    spoor_session *session;
};

static int write_report(void *data)
{
    const struct report *report = data;
    struct spoor_error err = { 0 };

    return outputs_write_one(report->outputs, 0, report->session, &err) < 0
               ? complain("%s", err.message)
               : 0;
}

static int measure(const struct settings *settings, const struct outputs *outputs)
{
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    uint64_t duration_ns =
        settings->duration_ns ? settings->duration_ns : settings->interval_ns;
    enum watch_end end = WATCH_INTERRUPTED;
    struct report report = { .outputs = outputs };
    struct spoor_error err = { 0 };

    if (gpus_check(settings, &err) < 0 || attachment_open(&options, &attachment, &err) < 0)
        return complain("%s", err.message);
    if (watch_wait(&attachment.watch, duration_ns, &end, &err) < 0)
        complain("%s", err.message);
    if (attachment_stop(&attachment, end, &err) < 0)
        complain("%s", err.message);
    report.session = attachment.session;
    return program_write_report(&spoor_program, write_report, &report);
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
    if (outputs_plan_stdout(&settings, &outputs, &err) < 0)
        return complain("%s", err.message);
    return measure(&settings, &outputs);
}
