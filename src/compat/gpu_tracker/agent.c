/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/report.h"
#include "compat/gpu_tracker/tracking.h"
#include "front/agent.h"
#include "front/arguments.h"

/* Warnings are kept for the next response that has a list of warnings. */
struct agent_state {
    struct tracking tracking;
    struct text_list warnings;
    size_t reported_count; /* warnings that a response has contained */
};

/* Called before the sampling thread runs, from that thread, and after it has ended: never
 * concurrently. */
static void keep_warning(void *data, const char *message)
{
    struct agent_state *state = data;

    /* Out of memory: the warning is lost. */
    (void)text_list_add(&state->warnings, message, NULL);
}

static void agent_state_done(struct agent_state *state)
{
    gpu_tracker_gpus_done(&state->tracking.gpus);
    text_list_done(&state->warnings);
}

/* ---- answers -------------------------------------------------------------- */

static void add_warnings(struct agent_state *state, size_t end, struct json_writer *json)
{
    json_begin(json, "warnings", '[');
    while (state->reported_count < end)
        json_add_text(json, NULL, state->warnings.items[state->reported_count++]);
    json_end(json);
}

static void finish(spoor_session *session, void *data)
{
    struct agent_state *state = data;

    state->tracking.session = session;
    tracking_finish(&state->tracking);
}

static int add_result(spoor_session *session, void *data, struct json_writer *json,
                      struct spoor_error *err)
{
    struct agent_state *state = data;
    struct report_style style = state->tracking.settings->style;
    struct resource_usage usage =
        tracking_usage(&state->tracking, state->tracking.rows.latest.elapsed_seconds);
    CLEANUP(buffer_done) struct buffer document = { 0 };
    CLEANUP(buffer_done) struct buffer text = { 0 };

    style.format = GPU_TRACKER_JSON;
    report_write(&usage, style, &document);
    style.format = GPU_TRACKER_TEXT;
    report_write(&usage, style, &text);
    if (buffer_error(&document) < 0 || buffer_error(&text) < 0)
        return error_set(err, ENOMEM, "out of memory");
    add_warnings(state, state->warnings.count, json);
    json_add_document(json, "usage", &document);
    json_add_text(json, "text", text.text);
    return tracking_agent_add_report(session, json, err);
}

/* ---- the agent ------------------------------------------------------------ */

/* If the process has already exited, there is no session; the result is then empty. */
static int attach(struct agent_state *state, pid_t pid, struct attachment *ret,
                  struct spoor_error *err)
{
    struct spoor_options options = SPOOR_OPTIONS_INIT;
    char message[100];
    int r;

    options.pid = pid;
    tracking_configure(&state->tracking, &options);
    r = attachment_open(&options, ret, err);
    if (r != -ESRCH)
        return r;
    (void)snprintf(message, sizeof(message),
                   "The target process of ID %d ended before tracking could begin.",
                   (int)pid); /* fits */
    if (!state->tracking.settings->is_silent)
        keep_warning(state, message);
    return 0;
}

static int serve(struct agent_state *state, pid_t pid)
{
    static const struct tracking_agent_kind kind = { .finish = finish,
                                                     .add_result = add_result };
    CLEANUP(attachment_close) struct attachment attachment = { .session = NULL };
    struct spoor_error err = { 0 };
    struct agent_answer ready;
    size_t early_count;
    const char *failure = tracking_prepare(&state->tracking, &err);

    if (failure)
        return agent_refuse(err.code, failure);
    early_count = state->warnings.count;
    if (attach(state, pid, &attachment, &err) < 0) {
        tracking_finish(&state->tracking);
        return agent_refuse(err.code, err.message);
    }
    (void)tracking_listen(&state->tracking, pid, NULL); /* cannot fail */
    tracking_started(&state->tracking, attachment.session, pid);
    if (attachment.session)
        spoor_session_release_samples(attachment.session);
    agent_begin_ready(&ready);
    add_warnings(state, attachment.session ? early_count : state->warnings.count, &ready.json);
    agent_end_answer(&ready);
    return tracking_agent_serve(&attachment, &kind, state);
}

static int check(const struct gpu_tracker_settings *settings)
{
    CLEANUP(gpu_tracker_gpus_done) struct gpu_tracker_gpus gpus = { 0 };
    struct agent_answer ready;
    int r = gpu_tracker_gpus_find(settings->gpu_uuids, settings->gpu_brand, &gpus);

    if (r < 0)
        return agent_refuse(r, gpus.message);
    agent_begin_ready(&ready);
    agent_end_answer(&ready);
    return 0;
}

static int read_pid(const char *text, pid_t *ret, struct spoor_error *err)
{
    if (!text)
        return error_set(err, EINVAL, "missing PID: gpu-tracker agent --pid=PID");
    if (option_parse_pid(text, ret, err) < 0)
        return error_prefix(err, -EINVAL, "--pid");
    return 0;
}

int gpu_tracker_agent(const struct command *command, int argc, char **argv)
{
    CLEANUP(gpu_tracker_settings_done) struct gpu_tracker_settings settings = { 0 };
    CLEANUP(agent_state_done) struct agent_state state = { .reported_count = 0 };
    struct arguments arguments = ARGUMENTS_INIT(&gpu_tracker_program, command, &settings);
    struct spoor_error err = { 0 };
    pid_t pid = 0;

    if (argc > 1 && strcmp(argv[1], "sub-track") == 0)
        return subtrack_agent(argc - 2);
    agent_begin();
    if (arguments_parse(&arguments, argc, argv, &err) < 0 ||
        (!settings.is_check && read_pid(settings.pid, &pid, &err) < 0) ||
        gpu_tracker_settings_check(&settings, &err) < 0)
        return agent_refuse(err.code, err.message);
    state.tracking = (struct tracking){
        .settings = &settings,
        .warn = keep_warning,
        .warn_data = &state,
    };
    return settings.is_check ? check(&settings) : serve(&state, pid);
}
