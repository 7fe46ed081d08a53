/* SPDX-License-Identifier: Apache-2.0 */
/* command_agent.c - spoor agent: a tracker for the program that started it. */
#include <errno.h>

#include "base/compiler.h"
#include "base/error.h"
#include "front/spoor/gpus_check.h"
#include "front/spoor/outputs.h"
#include "front/spoor/program.h"
#include "front/spoor/session_options.h"
#include "front/tracking_agent.h"

/* Failures are warnings in the result: the agent's stderr is not read. */
static void write_files(spoor_session *session, void *data)
{
    const struct outputs *outputs = data;

    for (size_t i = 0; i < outputs->count; i++) {
        struct spoor_error err = { 0 };

        if (outputs_write_one(outputs, i, session, &err) < 0)
            spoor_session_warn(session, "output", err.message);
    }
}

static int add_report(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err)
{
    CLEANUP(buffer_done) struct buffer text = { 0 };
    int r = tracking_agent_add_report(session, json, err);

    (void)data;
    if (r == 0)
        r = tracking_agent_format(session, SPOOR_TEXT, &text, err);
    if (r == 0)
        json_add_text(json, "text", text.text);
    return r;
}

static int serve(struct settings *settings)
{
    static const struct tracking_agent_kind kind = { write_files, add_report };
    CLEANUP(outputs_done) struct outputs outputs = { .device_fd = -1 };
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_options options = session_options(settings);
    struct agent_answer ready;
    struct spoor_error err = { 0 };

    options.pid = settings->pid;
    settings->is_quiet = true;
    if (settings->pid == 0)
        return agent_refuse(EINVAL, "missing PID: spoor agent --pid PID");
    if (gpus_check(settings, &err) < 0 || outputs_plan(settings, &outputs, &err) < 0 ||
        attachment_open(&options, &attachment, &err) < 0)
        return agent_refuse(err.code, err.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    return tracking_agent_serve(&attachment, &kind, &outputs);
}

int command_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(settings_done) struct settings settings;
    struct arguments arguments = ARGUMENTS_INIT(&spoor_program, command, &settings);
    struct spoor_error err = { 0 };

    agent_begin();
    settings_init(&settings);
    if (settings_load(&arguments, argc, argv, &err) < 0)
        return agent_refuse(err.code, err.message);
    return arguments.action == ACTION_WORK ? serve(&settings) : program_show(&arguments);
}
