/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.c - from the settings to the report.
 *
 * Whatever can be refused is refused before the command starts: invalid options, GPUs that do
 * not exist, files that cannot be written. After that the result is never lost: if it cannot
 * be written to its file, it is printed.
 */
#include "compat/gpu_tracker/track.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "compat/gpu_tracker/output.h"
#include "compat/gpu_tracker/program.h"
#include "compat/gpu_tracker/tracking.h"
#include "run/signals.h"
#include "run/track.h"
#include "text/escape.h"

struct result {
    struct tracking *tracking;
    const struct tracked *tracked;
};

/* The last sample is dated by the event of the command's end. The tracker may have noticed that end later. */
static double elapsed_seconds(const struct tracking *tracking, const struct tracked *tracked)
{
    double noticed = (double)tracked->elapsed_ns / 1e9;
    double sampled = tracking->rows.latest.elapsed_seconds;

    return sampled > 0 && sampled < noticed ? sampled : noticed;
}

static int write_result(void *data)
{
    const struct result *result = data;
    struct tracking *tracking = result->tracking;
    const struct tracked *tracked = result->tracked;
    int wait_status = tracked->end.wait_status;
    struct resource_usage usage = tracking_usage(tracking, elapsed_seconds(tracking, tracked));
    CLEANUP(buffer_done) struct buffer report = { 0 };
    const char *path = tracking->settings->output_path;
    struct spoor_error err = { 0 };
    char line[100];
    int r;

    (void)snprintf(line, sizeof(line),
                   "Resource tracking complete. Process completed with status code: %d",
                   WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status)
                                            : WEXITSTATUS(wait_status)); /* fits */
    r = gpu_tracker_output_write(NULL, line, &err);
    report_write(&usage, tracking->settings->style, &report);
    if (buffer_error(&report) < 0)
        return gpu_tracker_error("out of memory");
    if (r == 0 || path)
        r = gpu_tracker_output_write(path, report.text, &err);
    if (r == 0)
        return 0;
    gpu_tracker_error("%s", err.message);
    if (path)
        (void)gpu_tracker_output_write(NULL, report.text, NULL); /* better here than nowhere */
    return 1;
}

static int refuse_exec(const struct gpu_tracker_settings *settings, int code)
{
    CLEANUP(buffer_done) struct buffer line = { 0 };

    if (code == ENOENT)
        return gpu_tracker_error("Command not found: \"%s\"", settings->command);
    gpu_tracker_error("The following error occurred when starting the command \"%s\":",
                      settings->command);
    buffer_format(&line, "[Errno %d] %s: '", code, strerror(code));
    escape_unsafe(settings->words[0], &line);
    buffer_add_text(&line, "'\n");
    (void)buffer_write(&line, STDOUT_FILENO); /* the exit code says that it failed */
    return 1;
}

static void say(const char *message)
{
    (void)gpu_tracker_error("%s", message);
}

static int listen_for_blocks(void *data, pid_t pid, struct spoor_error *err)
{
    (void)err;
    tracking_listen(data, pid);
    return 0;
}

static void started(void *data, spoor_session *session, pid_t pid)
{
    (void)pid;
    tracking_started(data, session);
}

static int run_command(struct tracking *tracking)
{
    const struct gpu_tracker_settings *settings = tracking->settings;
    struct track_options options = {
        .command = settings->words,
        .session = SPOOR_OPTIONS_INIT,
        .say = say,
        .prepare = listen_for_blocks,
        .prepare_data = tracking,
        .started = started,
        .started_data = tracking,
    };
    struct spoor_error err = { 0 };
    struct tracked tracked;
    enum track_outcome outcome;
    int code;

    tracking_configure(tracking, &options.session);
    outcome = track(&options, &tracked, &err);
    tracking_finish(tracking);
    if (outcome == TRACK_REFUSED)
        return gpu_tracker_error("%s", err.message);
    if (outcome == TRACK_NO_EXEC)
        return refuse_exec(settings, err.code);
    tracking->session = tracked.session;
    code = program_write_report(&gpu_tracker_program, write_result,
                                &(struct result){ tracking, &tracked });
    tracking->session = spoor_session_close(tracked.session);
    if (tracked.end.is_by_our_signal)
        reraise(WTERMSIG(tracked.end.wait_status));
    if (code == 0 && settings->propagates)
        code = supervise_exit_code(tracked.end.wait_status);
    return code;
}

static void warn(void *data, const char *message)
{
    (void)data;
    gpu_tracker_warning("%s", message);
}

static void complain(void *data, int code, const char *message)
{
    (void)data;
    (void)code;
    (void)gpu_tracker_error("%s", message);
}

int gpu_tracker_track(const struct gpu_tracker_settings *settings)
{
    struct tracking tracking = {
        .settings = settings,
        .warn = warn,
        /* otherwise a GPU may have to be refused, the tracking file begins with their number,
         * or there are certainly none */
        .finds_gpus_later = !settings->gpu_uuids && !settings->gpu_brand &&
                            !settings->tracking_path && spoor_may_have_gpus(NULL),
    };
    struct spoor_error err = { 0 };
    int code;

    if (settings->output_path && gpu_tracker_output_check(settings->output_path, &err) < 0)
        return gpu_tracker_error("%s", err.message);
    code = tracking_prepare(&tracking, complain) < 0 ? 1 : run_command(&tracking);
    tracking_done(&tracking);
    return code;
}
